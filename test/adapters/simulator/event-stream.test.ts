import { afterEach, describe, expect, it } from 'vitest';
import { startEngine, type EngineOptions, type RunningEngine } from '../../../src/main/start-engine.ts';
import { EventReader, post, replayedBatch, replayFrames, tokens } from './engine-client.ts';
import { silentLog } from '../../support/silent-log.ts';

const running: RunningEngine[] = [];
const readers: EventReader[] = [];

async function engineOf(options: Partial<EngineOptions>): Promise<RunningEngine> {
  const engine = await startEngine({ speed: 1000, pageSize: 16, ...options }, silentLog);
  running.push(engine);
  return engine;
}

/** A reader whose subscription has reached the engine: it has seen a flush, whose clear has `seq`. */
async function joined(engine: RunningEngine, rank = 0): Promise<{ reader: EventReader; seq: number }> {
  const reader = new EventReader(engine, rank);
  readers.push(reader);
  const first = reader.next();
  for (;;) {
    await post(engine, '/flush_cache', {});
    const batch = await Promise.race([first, new Promise<null>((resolve) => setImmediate(() => resolve(null)))]);
    if (batch !== null) return { reader, seq: (await drained(engine, reader, batch.seq, rank)) };
  }
}

/** Reads on to the newest batch there is. */
async function drained(engine: RunningEngine, reader: EventReader, seq: number, rank: number): Promise<number> {
  const last = (await replayFrames(engine, 0, rank)).length - 2;
  for (let at = seq; at < last; at++) await reader.next();
  return last;
}

afterEach(async () => {
  readers.splice(0).forEach((reader) => reader.close());
  await Promise.all(running.splice(0).map((engine) => engine.close()));
});

describe('the event socket', () => {
  it('begins with a lone clear at seq 0, then the warm-up prompt’s pages', async () => {
    const engine = await engineOf({});
    const [first, second] = (await replayFrames(engine, 0)).map((frames) => frames.slice(-1)[0]?.length === 0 ? null : replayedBatch(frames));
    expect(first).toMatchObject({ topic: 'kv-events', seq: 0, rank: 0, events: [{ type: 'AllBlocksCleared' }] });
    expect(second).toMatchObject({ seq: 1, events: [{ type: 'BlockStored', parent_block_hash: null, block_size: 16, lora_id: null, medium: 'GPU' }] });
  });

  it('tells a prompt’s pages in one coalesced event, after it was computed', async () => {
    const engine = await engineOf({});
    const { reader, seq } = await joined(engine);
    await post(engine, '/generate', { input_ids: tokens(1, 100), sampling_params: { max_new_tokens: 1 }, cache_salt: 'tenant-a', session_id: 's1' });
    const batch = await reader.next();
    expect(batch.seq).toBe(seq + 1);
    expect(batch.events).toMatchObject([{ type: 'BlockStored', token_ids: tokens(1, 96), cache_salt: 'tenant-a', session_id: 's1' }]);
    expect(Object.keys(batch.events[0] as object)).toEqual(['type', 'block_hashes', 'parent_block_hash', 'token_ids', 'block_size', 'lora_id', 'medium', 'cache_salt', 'session_id']);
  });

  it('has a socket for each rank, and what one does is not on another', async () => {
    const engine = await engineOf({ dpSize: 2 });
    const { reader } = await joined(engine, 1);
    await post(engine, '/generate', { input_ids: tokens(1, 40), sampling_params: { max_new_tokens: 1 }, routed_dp_rank: 0 });
    await post(engine, '/generate', { input_ids: tokens(2, 40), sampling_params: { max_new_tokens: 1 }, routed_dp_rank: 1 });
    expect(await reader.next()).toMatchObject({ rank: 1, events: [{ token_ids: tokens(2, 32) }] });
  });

  it('tells removals and the store that needed the room in one batch, in that order', async () => {
    const engine = await engineOf({ kvTokens: 320 });
    const { reader } = await joined(engine);
    for (const seed of [1, 2]) await post(engine, '/generate', { input_ids: tokens(seed, 200), sampling_params: { max_new_tokens: 1 } });
    await reader.next();
    expect((await reader.next()).events.map((event) => (event as { type: string }).type)).toEqual(['BlockRemoved', 'BlockStored']);
  });
});

describe('the replay socket', () => {
  it('sends what is asked for, then an end marker, with topics', async () => {
    const engine = await engineOf({});
    await post(engine, '/generate', { input_ids: tokens(1, 100), sampling_params: { max_new_tokens: 1 } });
    const answers = await replayFrames(engine, 1);
    expect(answers.slice(0, -1).map((frames) => replayedBatch(frames).seq)).toEqual(Array.from({ length: answers.length - 1 }, (_, i) => i + 1));
    expect(answers.at(-1)?.map((frame) => frame.toString('hex'))).toEqual(['', 'ffffffffffffffff', '']);
  });

  it('of older releases has no topics', async () => {
    const answers = await replayFrames(await engineOf({ wire: '0.5.19' }), 0);
    expect(answers.every((frames) => frames.length === 2)).toBe(true);
    expect(answers.at(-1)?.map((frame) => frame.toString('hex'))).toEqual(['ffffffffffffffff', '']);
  });

  it('has forgotten what its buffer does not hold', async () => {
    const engine = await engineOf({ bufferSteps: 2 });
    for (const seed of [1, 2, 3]) await post(engine, '/generate', { input_ids: tokens(seed, 100), sampling_params: { max_new_tokens: 1 } });
    const answers = await replayFrames(engine, 0);
    expect(answers).toHaveLength(3);
    expect(replayedBatch(answers[0] ?? []).seq).toBeGreaterThan(0);
  });

  it('past the end sends the end alone', async () => {
    expect(await replayFrames(await engineOf({}), 1000)).toHaveLength(1);
  });
});

describe('the wire of older releases', () => {
  it('0.5.19: arrays, coalesced, a salt in a map behind', async () => {
    const engine = await engineOf({ wire: '0.5.19' });
    await post(engine, '/generate', { input_ids: tokens(1, 40), sampling_params: { max_new_tokens: 1 }, cache_salt: 'tenant-a' });
    const last = replayedBatch((await replayFrames(engine, 0)).at(-2) ?? []);
    expect(last.events).toMatchObject([['BlockStored', [{}, {}].map(() => expect.anything() as unknown), null, tokens(1, 32), 16, null, 'GPU', { cache_salt: 'tenant-a' }]]);
  });

  it('0.5.9: an event a page, each under the one before, and salts share', async () => {
    const engine = await engineOf({ wire: '0.5.9' });
    await post(engine, '/generate', { input_ids: tokens(1, 40), sampling_params: { max_new_tokens: 1 } });
    const [first, second] = replayedBatch((await replayFrames(engine, 0)).at(-2) ?? []).events as unknown[][];
    expect(first).toEqual(['BlockStored', [expect.anything()], null, tokens(1, 16), 16, null, 'GPU']);
    expect(second?.[2]).toEqual((first?.[1] as unknown[])[0]);
    const salted = await post(engine, '/generate', { input_ids: tokens(1, 40), sampling_params: { max_new_tokens: 1 }, cache_salt: 'tenant-a' });
    expect(((await salted.json()) as { meta_info: { cached_tokens: number } }).meta_info.cached_tokens).toBe(32);
    expect(Object.keys((await (await fetch(`${engine.url}/server_info`)).json()) as object)).not.toContain('kv_events');
  });
});
