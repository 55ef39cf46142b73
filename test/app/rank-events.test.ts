import { describe, expect, it } from 'vitest';
import { RankEvents } from '../../src/app/rank-events.ts';
import { epoch } from '../../src/core/identity/ids.ts';
import { hashCount, sliceHashes } from '../../src/core/identity/sequence-hash.ts';
import type { EngineBatch, EngineEvent } from '../../src/core/kv-stream/engine-event.ts';
import type { KvBatch } from '../../src/core/kv-stream/kv-event.ts';
import { RankCursor } from '../../src/core/kv-stream/rank-cursor.ts';
import { PageTree } from '../../src/core/kv-stream/page-tree.ts';
import { RadixIndex } from '../../src/core/prefix-index/radix-index.ts';
import type { Log } from '../../src/ports/log.ts';
import { awaited, pool, rank0 } from '../support/nats-requests.ts';
import { silentLog } from '../support/silent-log.ts';

/** Page `n` of 2 tokens, in a chain: page 1 begins the prompt. */
const stored = (page: number): Extract<EngineEvent, { kind: 'stored' }> => ({
  kind: 'stored',
  hashes: [String(page)],
  parent: page === 1 ? null : String(page - 1),
  tokens: Int32Array.of(page, page),
  pageSize: 2,
  tier: 'device',
  lora: null,
  salt: null,
  group: null,
  bigram: false,
});
const cleared: EngineEvent = { kind: 'cleared' };
const batch = (seq: number, ...events: readonly EngineEvent[]): EngineBatch => ({ seq, rank: 0, events, invalid: [] });

/** Sequence n stores page n; 0 is a lone clear, as SGLang begins. */
const nth = (seq: number): EngineBatch => (seq === 0 ? batch(0, cleared) : batch(seq, stored(seq)));
const range = (from: number, to: number): EngineBatch[] => Array.from({ length: to - from + 1 }, (_, index) => nth(from + index));

type Replay = (from: number) => readonly EngineBatch[] | null | Promise<readonly EngineBatch[] | null>;

function follow(replay: Replay, log: Log = silentLog): { readonly follower: RankEvents; readonly told: KvBatch[]; readonly asked: number[] } {
  const told: KvBatch[] = [];
  const asked: number[] = [];
  let epochs = 0;
  const follower = new RankEvents({
    id: rank0,
    newTree: () => new PageTree({ kind: 'sglang', pool, blockSize: 2, pageSize: 2, bigram: false }),
    newEpoch: () => epoch(`e${epochs++}`),
    publish: (each) => told.push(each),
    replay: async (from) => {
      asked.push(from);
      return replay(from);
    },
    log,
  });
  return { follower, told, asked };
}

/** Until nothing is under way: replies of the fakes take some turns of the microtask queue. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

/** What a router that heard every batch believes held. Numbers are contiguous; an epoch that is partial has no number 0. */
function heldBy(told: readonly KvBatch[]): { readonly epoch: string; readonly blocks: number } {
  let current = '';
  let next = 0;
  let blocks = 0;
  for (const each of told) {
    if (each.epoch !== current) [current, next, blocks] = [each.epoch, Math.min(1, each.seq), 0];
    expect(each.seq).toBe(next++);
    expect(each.events.length).toBeGreaterThan(0);
    for (const event of each.events) blocks = event.kind === 'cleared' ? 0 : blocks + (event.kind === 'stored' ? 1 : -1) * hashCount(event.hashes);
  }
  return { epoch: current, blocks };
}

describe('an agent starting', () => {
  it('E37: a lone clear and the warm-up prompt are no gap', async () => {
    const { follower, told } = follow(() => range(0, 1));
    await follower.start();
    expect(follower.counters).toMatchObject({ gaps: 0, restarts: 0, lostHistories: 0 });
    expect(heldBy(told)).toEqual({ epoch: 'e0', blocks: 1 });
    expect(follower.snapshot()).toMatchObject({ seq: 1, partial: false });
  });

  it('beside a running engine learns what was stored before, and then what came meanwhile', async () => {
    const answer = awaited<readonly EngineBatch[]>();
    const { follower, told } = follow(() => answer.promise);
    const started = follower.start();
    for (const live of range(4, 7)) follower.receive(live);
    answer.fire(range(0, 5));
    await started;
    expect(heldBy(told)).toEqual({ epoch: 'e0', blocks: 7 });
    expect(follower.counters).toMatchObject({ gaps: 0, restarts: 0 });
  });

  it('E41: beside an engine whose history is gone credits only what it saw stored, and is partial', async () => {
    const { follower, told } = follow(() => range(40, 41));
    await follower.start();
    follower.receive(batch(42, { kind: 'removed', hashes: ['7', '8'], tier: 'device', group: null }));
    follower.receive(batch(43, stored(1), stored(2)));
    expect(heldBy(told).blocks).toBe(2);
    expect(follower.snapshot().partial).toBe(true);
  });

  it('with an engine that had nothing yet asks again where the first batches slip by', async () => {
    let asks = 0;
    const { follower, told, asked } = follow(() => (asks++ === 0 ? [] : range(0, 3)));
    await follower.start();
    follower.receive(nth(2));
    follower.receive(nth(3));
    follower.receive(nth(4));
    await settled();
    expect(asked).toEqual([0, 0]);
    expect(heldBy(told)).toEqual({ epoch: 'e0', blocks: 4 });
  });

  it('E41: is partial also where no replay answers', async () => {
    const { follower } = follow(() => null);
    await follower.start();
    expect(follower.snapshot().partial).toBe(true);
    follower.receive(nth(9));
    expect(follower.snapshot()).toMatchObject({ partial: true, runs: [] });
  });

  it('without a replay is whole with the very first batch', async () => {
    const { follower, told } = follow(() => null);
    await follower.start();
    for (const live of range(0, 2)) follower.receive(live);
    expect(follower.snapshot().partial).toBe(false);
    expect(heldBy(told).blocks).toBe(2);
  });

  it('that is partial is whole again with a clear', async () => {
    const { follower, told } = follow(() => range(40, 41));
    await follower.start();
    follower.receive(batch(42, cleared, stored(1)));
    expect(follower.snapshot().partial).toBe(false);
    expect(heldBy(told).blocks).toBe(1);
  });

  it('goes on where a replay fails', async () => {
    const { follower } = follow(() => Promise.reject(new Error('no socket')));
    await follower.start();
    expect(follower.snapshot().partial).toBe(true);
  });
});

describe('a gap', () => {
  it('is healed by a replay from the missing one, in the same epoch', async () => {
    const { follower, told, asked } = follow((from) => (from === 0 ? range(0, 2) : range(from, 7)));
    await follower.start();
    follower.receive(nth(6));
    follower.receive(nth(7));
    follower.receive(nth(8));
    await settled();
    expect(asked).toEqual([0, 3]);
    expect(heldBy(told)).toEqual({ epoch: 'e0', blocks: 8 });
    expect(follower.counters).toMatchObject({ gaps: 1, missingBatches: 3, healedGaps: 1, restarts: 0, lostHistories: 0 });
  });

  it('applies nothing after it to the old state while it is open', async () => {
    const { follower, told } = follow((from) => (from === 0 ? range(0, 2) : awaited<null>().promise));
    await follower.start();
    follower.receive(nth(6));
    await settled();
    expect(heldBy(told)).toEqual({ epoch: 'e0', blocks: 2 });
  });

  it.each<[string, Replay]>([
    ['no replay answers', () => null],
    ['the replay is past its end', () => []],
  ])('begins a new, partial epoch where %s', async (_why, later) => {
    const { follower, told } = follow((from) => (from === 0 ? range(0, 2) : later(from)));
    await follower.start();
    follower.receive(nth(5));
    follower.receive(batch(6, stored(1)));
    await settled();
    expect(heldBy(told)).toEqual({ epoch: 'e1', blocks: 1 });
    expect(follower.snapshot().partial).toBe(true);
    expect(follower.counters.healedGaps).toBe(0);
  });

  it('keeps of a replay that begins too late what it has', async () => {
    const { follower, told } = follow((from) => (from === 0 ? range(0, 2) : [batch(5, stored(1)), batch(6, stored(2))]));
    await follower.start();
    follower.receive(batch(7, stored(3)));
    await settled();
    expect(heldBy(told)).toEqual({ epoch: 'e1', blocks: 3 });
    expect(follower.snapshot().partial).toBe(true);
  });

  it('in the batches that waited is found and healed too', async () => {
    const { follower, told, asked } = follow((from) => (from === 0 ? range(0, 2) : range(from, from + 1)));
    await follower.start();
    for (const seq of [5, 6, 9]) follower.receive(nth(seq));
    await settled();
    expect(asked).toEqual([0, 3, 7]);
    expect(heldBy(told)).toEqual({ epoch: 'e0', blocks: 9 });
  });
});

describe('a restart of the engine', () => {
  it('E22: sequences that begin again are a new epoch without the old blocks', async () => {
    const { follower, told } = follow(() => range(0, 4));
    await follower.start();
    follower.receive(nth(5));
    follower.receive(nth(0));
    follower.receive(nth(1));
    expect(heldBy(told)).toEqual({ epoch: 'e1', blocks: 1 });
    expect(follower.counters).toMatchObject({ restarts: 1, gaps: 0 });
    expect(follower.snapshot().partial).toBe(false);
  });

  it('E22: routers are told also when nothing follows the restart', async () => {
    const { follower, told } = follow(() => range(0, 4));
    await follower.start();
    follower.receive(nth(5));
    follower.receive(nth(0));
    expect(told.at(-1)).toEqual({ epoch: 'e1', seq: 0, events: [{ kind: 'cleared' }] });
  });

  it('whose beginning was missed is brought from the replay', async () => {
    let life = 0;
    const { follower, told, asked } = follow(() => (life++ === 0 ? range(0, 8) : range(0, 3)));
    await follower.start();
    follower.receive(nth(9));
    follower.receive(nth(3));
    follower.receive(nth(4));
    await settled();
    expect(asked).toEqual([0, 0]);
    expect(heldBy(told)).toEqual({ epoch: 'e1', blocks: 4 });
    expect(follower.snapshot().partial).toBe(false);
  });

  it('while a replay is awaited is seen in what has waited', async () => {
    const answer = awaited<readonly EngineBatch[]>();
    const { follower, told } = follow(() => answer.promise);
    const started = follower.start();
    for (const live of [nth(6), nth(7), nth(0), nth(1)]) follower.receive(live);
    answer.fire(range(0, 5));
    await started;
    expect(heldBy(told)).toEqual({ epoch: 'e1', blocks: 1 });
    expect(follower.counters.restarts).toBe(1);
  });
});

describe('a store below a page that was never seen', () => {
  it('E8: is not credited, and all is asked for again', async () => {
    let asks = 0;
    const { follower, told } = follow(() => (asks++ === 0 ? range(0, 2) : [...range(0, 2), batch(3, stored(3), stored(4)), batch(4, stored(5))]));
    await follower.start();
    follower.receive(batch(3));
    follower.receive(batch(4, stored(5)));
    await settled();
    expect(heldBy(told)).toEqual({ epoch: 'e1', blocks: 5 });
    expect(follower.counters).toMatchObject({ rebuilds: 1 });
  });

  it('E8: that a replay repeats leaves the rank partial, and is asked for once', async () => {
    const { follower, told, asked } = follow(() => [...range(0, 2), batch(3), batch(4, stored(5))]);
    await follower.start();
    expect(follower.snapshot()).toMatchObject({ partial: true, epoch: 'e1', seq: 1 });
    follower.receive(batch(5, stored(6)));
    await settled();
    expect(asked).toEqual([0]);
    expect(told.at(-1)).toEqual({ epoch: 'e1', seq: 1, events: [{ kind: 'cleared' }] });
    expect(follower.snapshot().runs.map((run) => hashCount(run.hashes))).toEqual([2]);
  });
});

it('a partial epoch has no batch 0, so that routers ask for the snapshot that says it', async () => {
  const { follower, told } = follow(() => range(40, 41));
  await follower.start();
  const cursor = new RankCursor({ maxBuffered: 10 });
  const verdicts = told.map((each) => cursor.accept(each).kind);
  expect(verdicts).toEqual(['apply', 'new-epoch']);
  expect([told.at(-1)?.seq, cursor.state]).toEqual([1, 'waiting']);
  expect(cursor.acceptSnapshot(follower.snapshot())).toMatchObject({ kind: 'apply', batches: [], missingBatches: 0 });
});

it('a closed follower takes nothing more', async () => {
  const { follower, told } = follow(() => range(0, 2));
  await follower.start();
  await follower.close();
  follower.receive(nth(3));
  expect(heldBy(told).blocks).toBe(2);
});

it('a replay of many batches is told in few', async () => {
  const { follower, told } = follow(() => range(0, 1_000));
  await follower.start();
  expect(told.length).toBeLessThan(5);
  expect(heldBy(told).blocks).toBe(1_000);
});

it('one store of more blocks than a message takes is told in several, each going on where the last stopped', async () => {
  const { follower, told } = follow(() => [batch(0, cleared)]);
  await follower.start();
  const pages = 10_000;
  const names = Array.from({ length: pages }, (_, page) => String(page + 1));
  const run: EngineEvent = { ...stored(1), hashes: names, tokens: Int32Array.from({ length: 2 * pages }, (_, at) => at) };
  follower.receive(batch(1, run));
  const index = new RadixIndex();
  const applied = told.flatMap(({ events }) => events.map((event) => index.apply(rank0, event)));
  expect(index.blocksHeld(rank0)).toBe(pages);
  expect(applied.every(({ orphanedBlocks }) => orphanedBlocks === 0)).toBe(true);
  const pieces = told.flatMap(({ events }) => events.filter((event) => event.kind === 'stored'));
  expect(pieces.map(({ parent }) => parent)).toEqual([null, ...pieces.slice(0, -1).map(({ hashes }) => sliceHashes(hashes, hashCount(hashes) - 1, hashCount(hashes)))]);
  follower.receive(batch(2, { kind: 'removed', hashes: names, tier: 'device', group: null }));
  expect(heldBy(told).blocks).toBe(0);
  const hashesOf = ({ events }: KvBatch): number => events.reduce((sum, event) => sum + (event.kind === 'cleared' ? 0 : hashCount(event.hashes)), 0);
  expect(Math.max(...told.map(hashesOf))).toBe(4_096);
});

it('stores that do not fit what the engine said of itself are told loudly, once', async () => {
  const lines: { readonly fields: object; readonly event: string }[] = [];
  const { follower } = follow(() => [batch(0, cleared)], { ...silentLog, error: (fields, event) => void lines.push({ fields, event }) });
  await follower.start();
  for (const seq of [1, 2]) follower.receive(batch(seq, { ...stored(seq), pageSize: 4 }));
  expect(lines).toMatchObject([{ fields: { pages: { 'page-size': 1 } }, event: 'engine-stores-refused' }]);
  expect(follower.heldBlocks).toBe(0);
});
