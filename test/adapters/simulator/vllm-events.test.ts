import { afterEach, describe, expect, it } from 'vitest';
import { startEngine, type EngineOptions, type RunningEngine } from '../../../src/main/start-engine.ts';
import { silentLog } from '../../support/silent-log.ts';
import { post, replayedBatch, replayFrames, tokens, type ReceivedBatch } from './engine-client.ts';

const running: RunningEngine[] = [];

async function engineOf(options: Partial<EngineOptions> = {}): Promise<RunningEngine> {
  const engine = await startEngine({ wire: 'vllm', speed: 1000, pageSize: 16, ...options }, silentLog);
  running.push(engine);
  return engine;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((engine) => engine.close()));
});

const complete = async (engine: RunningEngine, seed: number, count: number, more: object = {}): Promise<unknown> => (await post(engine, '/v1/completions', { prompt: tokens(seed, count), max_tokens: 1, ...more })).json();

/** All batches so far, the end marker left out. */
const batchesOf = async (engine: RunningEngine): Promise<ReceivedBatch[]> => (await replayFrames(engine, 0)).slice(0, -1).map(replayedBatch);

interface StoredEvent {
  readonly block_hashes: readonly (bigint | number)[];
}

describe('the event socket of a vLLM engine', () => {
  it('says nothing until a request has filled a block', async () => {
    const engine = await engineOf();
    await complete(engine, 1, 15);
    expect(await batchesOf(engine)).toEqual([]);
  });

  it('begins with the first store at seq 0, its keys in the order of the real one', async () => {
    const engine = await engineOf();
    await complete(engine, 1, 40);
    const [first] = await batchesOf(engine);
    expect(first).toMatchObject({ topic: 'kv-events', seq: 0, rank: 0, events: [{ type: 'BlockStored', parent_block_hash: null, token_ids: tokens(1, 32), block_size: 16, extra_keys: [null, null], group_idx: 0 }] });
    expect(Object.keys(first?.events[0] as object)).toEqual(['type', 'block_hashes', 'parent_block_hash', 'token_ids', 'block_size', 'lora_id', 'medium', 'lora_name', 'extra_keys', 'group_idx', 'kv_cache_spec_kind']);
    expect((first?.events[0] as StoredEvent).block_hashes.every((hash) => hash >= 0)).toBe(true);
  });

  it('names a salt at the first block of a prompt alone', async () => {
    const engine = await engineOf();
    await complete(engine, 1, 40, { cache_salt: 'tenant-a' });
    await complete(engine, 1, 70, { cache_salt: 'tenant-a' });
    const keys = (await batchesOf(engine)).flatMap((batch) => batch.events.map((event) => (event as { readonly extra_keys: unknown }).extra_keys));
    expect(keys).toEqual([[['tenant-a'], null], [null, null]]);
  });

  it('removes one block an event, the tail of a prompt first, in the batch of the store that needed the room', async () => {
    const engine = await engineOf({ kvTokens: 160 });
    await complete(engine, 1, 70);
    await complete(engine, 2, 100);
    const [first, second] = await batchesOf(engine);
    const stored = (first?.events[0] as StoredEvent).block_hashes;
    expect(second?.events).toEqual([
      ...[...stored].reverse().map((hash) => ({ type: 'BlockRemoved', block_hashes: [hash], medium: 'GPU', group_idx: 0 })),
      expect.objectContaining({ type: 'BlockStored' }),
    ]);
  });

  it('tells a reset with what is stored next, before it', async () => {
    const engine = await engineOf();
    await complete(engine, 1, 40);
    expect(await (await fetch(`${engine.url}/reset_prefix_cache`, { method: 'POST' })).json()).toEqual({ success: true });
    expect(await batchesOf(engine)).toHaveLength(1);
    await complete(engine, 1, 40);
    expect((await batchesOf(engine))[1]?.events).toMatchObject([{ type: 'AllBlocksCleared' }, { type: 'BlockStored' }]);
  });
});
