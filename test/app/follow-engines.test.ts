import { describe, expect, it } from 'vitest';
import type { EngineFollower } from '../../src/app/follow-engines.ts';
import { epoch, parseDpRank, parsePoolId, rankKey } from '../../src/core/identity/ids.ts';
import type { RankId } from '../../src/core/identity/ids.ts';
import { noIsolation } from '../../src/core/identity/chain-seed.ts';
import type { KvSnapshot } from '../../src/core/kv-stream/kv-event.ts';
import { maxRanks } from '../../src/core/prefix-index/rank-numbers.ts';
import type { LoadSnapshot } from '../../src/core/load/load-snapshot.ts';
import { RouterError } from '../../src/core/router-error.ts';
import type { RankTrust } from '../../src/ports/router-view.ts';
import { chain, cleared, rank, sorted, stored } from '../core/prefix-index/index-support.ts';
import { FakeAgents, kvBatch, pool, registration, settle } from './follow-fakes.ts';

const w1 = rank('w1');

function snapshotOf(id: RankId, seq: number, options: { readonly tokens?: readonly number[]; readonly life?: string; readonly partial?: boolean } = {}): KvSnapshot {
  const run = stored(options.tokens ?? []);
  const runs = options.tokens === undefined || run.kind !== 'stored' ? [] : [run];
  return { id, epoch: epoch(options.life ?? 'e1'), seq, partial: options.partial ?? false, runs };
}

async function started(agents: FakeAgents, ...workers: readonly string[]): Promise<EngineFollower> {
  for (const worker of workers) agents.register(registration(worker));
  const follower = agents.follower();
  await follower.start();
  return follower;
}

const trustOf = (follower: EngineFollower, id: RankId): RankTrust | undefined => follower.ranks(pool).find((each) => rankKey(each.id) === rankKey(id))?.trust;
const overlaps = (follower: EngineFollower, ...tokens: readonly number[]) => sorted(follower.eventOverlaps(pool, chain(...tokens)));
const load = (id: RankId): LoadSnapshot => ({
  id,
  runningRequests: 1,
  waitingRequests: 0,
  usedTokens: null,
  capacityTokens: null,
  maxRunningRequests: null,
  waitingUncachedTokens: null,
  heldBlocks: 0,
});

describe('following engines', () => {
  it('credits what a rank stores from its first batch on', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    expect(trustOf(follower, w1)).toBe('untrusted');
    agents.publish(w1, kvBatch(0, [cleared]));
    agents.publish(w1, kvBatch(1, [stored([1, 2])]));
    expect(overlaps(follower, 1, 2, 3)).toEqual([['w1/0', 2]]);
    expect(trustOf(follower, w1)).toBe('trusted');
    expect(follower.pendingSnapshots).toBe(0);
    await follower.close();
  });

  it('restores an idle rank by a snapshot, without waiting for a batch', async () => {
    const agents = new FakeAgents();
    agents.snapshots.set(rankKey(w1), snapshotOf(w1, 7, { tokens: [1, 2] }));
    const follower = await started(agents, 'w1');
    await agents.clock.advance(1_000);
    expect(overlaps(follower, 1, 2)).toEqual([['w1/0', 2]]);
    expect(trustOf(follower, w1)).toBe('trusted');
    expect(follower.ranks(pool)[0]?.heldBlocks).toBe(2);
    await follower.close();
  });

  it('E1: a gap leaves the index as it was, until a snapshot repairs it', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    agents.publish(w1, kvBatch(0, [stored([1]), stored([7])]));
    [1, 2].forEach((seq) => agents.publish(w1, kvBatch(seq)));
    agents.publish(w1, kvBatch(5, [stored([1, 2], 1)]));
    expect(trustOf(follower, w1)).toBe('untrusted');
    expect(overlaps(follower, 1, 2)).toEqual([['w1/0', 1]]);
    expect(follower.counters).toMatchObject({ gaps: 1, missingBatches: 2 });
    await agents.clock.advance(1_000);
    agents.asked[0]?.answer(snapshotOf(w1, 5, { tokens: [1, 2, 3] }));
    await settle();
    expect(trustOf(follower, w1)).toBe('trusted');
    expect(overlaps(follower, 1, 2, 3)).toEqual([['w1/0', 3]]);
    expect(overlaps(follower, 7)).toEqual([]);
    await follower.close();
  });

  it('E2: a rank first seen at batch 40 is credited only with its snapshot', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    agents.publish(w1, kvBatch(40, [stored([1])]));
    expect(overlaps(follower, 1)).toEqual([]);
    expect(follower.counters).toMatchObject({ gaps: 0, missingBatches: 0 });
    expect(agents.logged.map(({ event }) => event)).not.toContain('kv-gap');
    await agents.clock.advance(1_000);
    agents.asked[0]?.answer(snapshotOf(w1, 39));
    await settle();
    expect(overlaps(follower, 1)).toEqual([['w1/0', 1]]);
    expect(trustOf(follower, w1)).toBe('trusted');
    await follower.close();
  });

  it('applies what came during a snapshot behind it, and only what the snapshot lacks', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    agents.publish(w1, kvBatch(3, [stored([9])]));
    await agents.clock.advance(1_000);
    agents.publish(w1, kvBatch(4, [cleared]));
    agents.publish(w1, kvBatch(5, [stored([1])]));
    agents.publish(w1, kvBatch(6, [stored([1, 2], 1)]));
    agents.asked[0]?.answer(snapshotOf(w1, 5, { tokens: [1] }));
    await settle();
    expect(overlaps(follower, 1, 2)).toEqual([['w1/0', 2]]);
    expect(overlaps(follower, 9)).toEqual([]);
    await follower.close();
  });

  it('asks again when a second hole shows behind the snapshot', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    agents.publish(w1, kvBatch(3));
    await agents.clock.advance(1_000);
    agents.publish(w1, kvBatch(8, [stored([1])]));
    agents.asked[0]?.answer(snapshotOf(w1, 4));
    await settle();
    expect(trustOf(follower, w1)).toBe('untrusted');
    await agents.clock.advance(1_000);
    agents.asked[0]?.answer(snapshotOf(w1, 7));
    await settle();
    expect(trustOf(follower, w1)).toBe('trusted');
    expect(overlaps(follower, 1)).toEqual([['w1/0', 1]]);
    await follower.close();
  });

  it('retries an agent that does not answer, ever more slowly, and restores the rank when it does', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    for (const failures of [1, 2, 3]) {
      await agents.clock.advance(2_000);
      agents.asked[0]?.fail(new RouterError('no-responder', 'nobody there'));
      await settle();
      expect(follower.counters.failedSnapshots).toBe(failures);
    }
    const retries = agents.logged.filter((line) => line.event === 'snapshot-failed').map((line) => ('retryMs' in line.fields ? line.fields.retryMs : 0));
    expect(retries).toEqual([188, 375, 750]);
    await agents.clock.advance(2_000);
    agents.asked[0]?.answer(snapshotOf(w1, 0, { tokens: [1] }));
    await settle();
    expect(overlaps(follower, 1)).toEqual([['w1/0', 1]]);
    await follower.close();
  });

  it('E26: asks few agents at once for what they hold, and serves the others meanwhile', async () => {
    const agents = new FakeAgents();
    const names = Array.from({ length: 12 }, (_, number) => `w${number}`);
    const follower = await started(agents, ...names);
    await agents.clock.advance(1_000);
    expect(agents.mostAtOnce).toBe(4);
    expect(follower.pendingSnapshots).toBe(12);
    while (agents.asked.length > 0) {
      const next = agents.asked[0];
      next?.answer(snapshotOf(next.id, 0, { tokens: [1] }));
      await settle();
    }
    expect(agents.mostAtOnce).toBe(4);
    expect(overlaps(follower, 1)).toHaveLength(12);
    await follower.close();
  });

  it('E4: what one rank clears leaves the other ranks of its worker alone', async () => {
    const agents = new FakeAgents();
    agents.register(registration('w1', { ranks: [parseDpRank(0), parseDpRank(1)] }));
    const follower = await started(agents);
    for (const dpRank of [0, 1]) agents.publish(rank('w1', dpRank), kvBatch(0, [stored([1])]));
    agents.publish(rank('w1', 1), kvBatch(1, [cleared]));
    expect(overlaps(follower, 1)).toEqual([['w1/0', 1]]);
    await follower.close();
  });

  it('E14: batches of a worker that is not registered change nothing and are counted', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    agents.publish(rank('stranger'), kvBatch(0, [stored([1])]));
    expect(overlaps(follower, 1)).toEqual([]);
    expect(follower.counters.unknownWorkerBatches).toBe(1);
    await follower.close();
  });

  it('E17: a worker takes the blocks of ranks it never announced with it', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1', 'w2');
    agents.publish(rank('w1', 3), kvBatch(0, [stored([1])]));
    expect(overlaps(follower, 1)).toEqual([['w1/3', 1]]);
    expect(follower.ranks(pool)).toHaveLength(2);
    agents.leave('w1');
    expect(overlaps(follower, 1)).toEqual([]);
    await follower.close();
  });

  it('E22: a new epoch drops the blocks of its rank and no others', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1', 'w2');
    for (const id of [w1, rank('w2')]) agents.publish(id, kvBatch(0, [stored([1])]));
    agents.publish(w1, kvBatch(0, [stored([2])], 'e2'));
    expect(overlaps(follower, 1)).toEqual([['w2/0', 1]]);
    expect(overlaps(follower, 2)).toEqual([['w1/0', 1]]);
    agents.publish(w1, kvBatch(1, [stored([1])], 'e1'));
    expect(overlaps(follower, 1)).toEqual([['w2/0', 1]]);
    expect(follower.counters).toMatchObject({ epochs: 1, staleBatches: 1 });
    await follower.close();
  });

  it('a new epoch without its batch 0 is asked for, and is no gap', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    agents.publish(w1, kvBatch(0, [stored([1])]));
    agents.publish(w1, kvBatch(1, [cleared], 'e2'));
    expect(trustOf(follower, w1)).toBe('untrusted');
    expect(follower.counters).toMatchObject({ epochs: 1, gaps: 0 });
    await agents.clock.advance(1_000);
    agents.asked[0]?.answer(snapshotOf(w1, 1, { tokens: [1], life: 'e2', partial: true }));
    await settle();
    expect(trustOf(follower, w1)).toBe('partial');
    await follower.close();
  });

  it('E27: a worker that leaves while an answer is being used is no longer listed, and the answer stays readable', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1', 'w2');
    agents.publish(w1, kvBatch(0, [stored([1])]));
    const answer = follower.eventOverlaps(pool, chain(1));
    agents.leave('w1');
    expect(sorted(answer)).toEqual([['w1/0', 1]]);
    expect(follower.ranks(pool).map((each) => each.id.worker)).toEqual(['w2']);
    await follower.close();
  });

  it('E41: a rank restored in part is credited and marked partial, until its cache is cleared', async () => {
    const agents = new FakeAgents();
    agents.snapshots.set(rankKey(w1), snapshotOf(w1, 7, { tokens: [1], partial: true }));
    const follower = await started(agents, 'w1');
    await agents.clock.advance(1_000);
    expect(trustOf(follower, w1)).toBe('partial');
    expect(overlaps(follower, 1)).toEqual([['w1/0', 1]]);
    agents.publish(w1, kvBatch(8, [cleared]));
    expect(trustOf(follower, w1)).toBe('trusted');
    await follower.close();
  });

  it('a worker in a new life starts over, though its first batches come before the news', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    const gone: string[] = [];
    follower.onWorkerGone((_pool, { worker, life }) => gone.push(`${worker} ${life}`));
    agents.publish(w1, kvBatch(0, [stored([1])]));
    agents.publish(w1, kvBatch(0, [stored([2])], 'e2'));
    agents.register(registration('w1', { life: epoch('life-2') }));
    expect(gone).toEqual(['w1 life-1']);
    expect(overlaps(follower, 2)).toEqual([]);
    expect(trustOf(follower, w1)).toBe('untrusted');
    agents.publish(w1, kvBatch(1, [stored([2, 3], 1)], 'e2'));
    await agents.clock.advance(1_000);
    agents.asked[0]?.answer(snapshotOf(w1, 0, { tokens: [2], life: 'e2' }));
    await settle();
    expect(overlaps(follower, 2, 3)).toEqual([['w1/0', 2]]);
    expect(trustOf(follower, w1)).toBe('trusted');
    await follower.close();
  });

  it('a worker without events is listed as such and asked for nothing', async () => {
    const agents = new FakeAgents();
    agents.register(registration('w1', { events: { kind: 'none', why: 'started without kv events' } }));
    const follower = await started(agents);
    await agents.clock.advance(60_000);
    expect(trustOf(follower, w1)).toBe('without-events');
    expect(agents.mostAtOnce).toBe(0);
    await follower.close();
  });

  it('a worker with another block size is refused with both sizes, and let in when the pool is empty', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    agents.register(registration('w2', { blockSize: 48 }));
    expect(follower.ranks(pool).map((each) => each.id.worker)).toEqual(['w1']);
    const refusal = agents.logged.find((line) => line.event === 'worker-refused');
    expect(refusal?.fields).toMatchObject({ worker: 'w2', workerBlockSize: 48, poolBlockSize: 1 });
    agents.leave('w1');
    expect(follower.pools().map((each) => each.blockSize)).toEqual([48]);
    expect(follower.ranks(pool).map((each) => each.id.worker)).toEqual(['w2']);
    await follower.close();
  });

  it('a load report says how old it is, and no report is not an empty one', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    expect(follower.ranks(pool)[0]).toMatchObject({ load: null, loadAgeMs: null });
    agents.report(load(w1));
    await agents.clock.advance(250);
    expect(follower.ranks(pool)[0]).toMatchObject({ load: { runningRequests: 1 }, loadAgeMs: 250 });
    await follower.close();
  });

  it('reports of workers that are not there make room for those of workers that are', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    for (let gone = 0; gone < maxRanks; gone++) agents.report(load(rank(`gone-${gone}`)));
    agents.report(load(w1));
    expect(follower.ranks(pool)[0]).toMatchObject({ load: { runningRequests: 1 } });
    await follower.close();
  });

  it('draining shows as soon as the worker says so, and keeps its blocks', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    agents.publish(w1, kvBatch(0, [stored([1])]));
    agents.register(registration('w1', { draining: true }));
    expect(follower.ranks(pool)[0]?.draining).toBe(true);
    expect(overlaps(follower, 1)).toEqual([['w1/0', 1]]);
    await follower.close();
  });

  it('finds a pool by its models, and the only one without a name', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    expect(follower.poolOfModel(null)?.pool).toBe(pool);
    expect(follower.poolOfModel('unknown')).toBeNull();
    agents.register(registration('w2', { pool: parsePoolId('qwen'), models: ['qwen-7b'], contextLength: null }));
    expect(follower.poolOfModel(null)).toBeNull();
    expect(follower.poolOfModel('qwen-7b')).toMatchObject({ pool: 'qwen', contextLength: null, vocabSize: 1000 });
    const seeds = follower.pools().map((each) => [...each.seedOf(noIsolation)].join());
    expect(new Set(seeds).size).toBe(2);
    await follower.close();
  });

  it('tells which blocks an engine stored', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1');
    const told: [string, number][] = [];
    follower.onStored((_pool, id, hashes) => told.push([rankKey(id), hashes.length / 2]));
    agents.publish(w1, kvBatch(0, [stored([1, 2])]));
    expect(told).toEqual([['w1/0', 2]]);
    await follower.close();
  });

  it('several followers of one deployment end with the same answer, whenever they began', async () => {
    const agents = new FakeAgents();
    const early = await started(agents, 'w1');
    agents.publish(w1, kvBatch(0, [stored([1])]));
    const late = agents.follower();
    await late.start();
    agents.publish(w1, kvBatch(1, [stored([1, 2], 1)]));
    await agents.clock.advance(1_000);
    agents.asked[0]?.answer(snapshotOf(w1, 1, { tokens: [1, 2] }));
    await settle();
    agents.publish(w1, kvBatch(2, [stored([1, 2, 3], 2)]));
    expect(overlaps(late, 1, 2, 3)).toEqual([['w1/0', 3]]);
    expect(overlaps(early, 1, 2, 3)).toEqual(overlaps(late, 1, 2, 3));
    await Promise.all([early.close(), late.close()]);
  });

  it('tries again to follow a pool that it could not', async () => {
    const agents = new FakeAgents();
    agents.failingFollows = 1;
    agents.register(registration('w1'));
    const follower = agents.follower();
    const starting = follower.start();
    await settle();
    await agents.clock.advance(1_000);
    await starting;
    agents.publish(w1, kvBatch(0, [stored([1])]));
    expect(overlaps(follower, 1)).toEqual([['w1/0', 1]]);
    await follower.close();
  });

  it('leaves no stream, timer or question behind when closed, even while it waits', async () => {
    const agents = new FakeAgents();
    const follower = await started(agents, 'w1', 'w2');
    await agents.clock.advance(60);
    agents.failingFollows = 1;
    agents.register(registration('w3', { pool: parsePoolId('qwen') }));
    await settle();
    await follower.close();
    expect([agents.streams, agents.clock.waiting, agents.asked.length]).toEqual([0, 0, 0]);
  });
});
