import { describe, expect, it } from 'vitest';
import { allPlacements, watchPlacements } from '../../src/app/watch-placements.ts';
import type { PlacementFilter } from '../../src/app/watch-placements.ts';
import type { PlacementEvent } from '../../src/core/placement/placement-event.ts';
import type { PlacementFollower } from '../../src/ports/placement-bus.ts';

class FakeFollower implements PlacementFollower {
  listener: (event: PlacementEvent, sequence: number) => void = () => {};
  closed = false;
  asked: object = {};

  async follow(options: object, listener: (event: PlacementEvent, sequence: number) => void): Promise<{ close(): Promise<void> }> {
    this.asked = options;
    this.listener = listener;
    return {
      close: async () => {
        this.closed = true;
      },
    };
  }
}

const rejected = (requestId: string, pool = 'llama'): PlacementEvent => ({ v: 1, at: '', router: 'r1', pool, event: 'rejected', requestId, code: 'no-worker', message: '' });
const firstToken = (requestId: string, worker: string): PlacementEvent => ({ v: 1, at: '', router: 'r1', pool: 'llama', event: 'first_token', requestId, worker, rank: 0, ttftMs: 1 });

async function collect(filter: Partial<PlacementFilter>, events: readonly PlacementEvent[], wanted: number): Promise<{ readonly seen: (readonly [number, string])[]; readonly follower: FakeFollower }> {
  const follower = new FakeFollower();
  const stop = new AbortController();
  const watching = watchPlacements(follower, { ...allPlacements, ...filter }, stop.signal);
  const seen: (readonly [number, string])[] = [];
  let next = watching.next();
  await Promise.resolve();
  events.forEach((event, index) => follower.listener(event, index + 1));
  for (let i = 0; i < wanted; i++) {
    const result = await next;
    if (result.done !== true) seen.push([result.value.sequence, 'requestId' in result.value.event ? result.value.event.requestId : '']);
    next = watching.next();
  }
  stop.abort();
  await next;
  return { seen, follower };
}

describe('watching placements', () => {
  it('gives every event with its place in the stream, in order', async () => {
    const { seen, follower } = await collect({}, [rejected('a'), firstToken('b', 'w1')], 2);
    expect(seen).toEqual([[1, 'a'], [2, 'b']]);
    expect(follower.closed).toBe(true);
  });

  it('gives only those that the filter names', async () => {
    const events = [rejected('a'), firstToken('b', 'w1'), firstToken('c', 'w2'), rejected('d', 'other')];
    expect((await collect({ worker: 'w2' }, events, 1)).seen).toEqual([[3, 'c']]);
    expect((await collect({ events: ['first_token'] }, events, 2)).seen).toEqual([[2, 'b'], [3, 'c']]);
    expect((await collect({ pool: 'other' }, events, 1)).seen).toEqual([[4, 'd']]);
  });

  it('goes on behind the sequence that was asked', async () => {
    expect((await collect({ after: 40 }, [rejected('a')], 1)).follower.asked).toEqual({ pool: null, after: 40 });
  });

  it('ends with an error and the last sequence when the reader is 10,000 events behind, and keeps no more', async () => {
    const follower = new FakeFollower();
    const watching = watchPlacements(follower, allPlacements, new AbortController().signal);
    const first = watching.next();
    await Promise.resolve();
    for (let i = 1; i <= 10_002; i++) follower.listener(rejected(`q${i}`), i);
    await first;
    for (let i = 2; i <= 10_000; i++) await watching.next();
    await expect(watching.next()).rejects.toThrow('10000 events behind: go on after sequence 10000');
    expect(follower.closed).toBe(true);
  });
});
