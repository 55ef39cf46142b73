import { describe, expect, it } from 'vitest';
import type { EventQuery } from '../../src/app/event-query.ts';
import { EventInspection } from '../../src/app/inspect-events.ts';
import { noIsolation } from '../../src/core/identity/chain-seed.ts';
import type { EngineBatch, EngineEvent } from '../../src/core/kv-stream/engine-event.ts';

const stored = (hashes: readonly string[], parent: string | null, tokens: readonly number[]): EngineEvent => ({
  kind: 'stored', hashes, parent, tokens: Int32Array.from(tokens), pageSize: 2, tier: 'device', lora: null, salt: null, group: null, bigram: false,
});
const cleared: EngineEvent = { kind: 'cleared' };
const batch = (seq: number, ...events: readonly EngineEvent[]): EngineBatch => ({ seq, rank: null, events, invalid: [] });
const query = (tokens: readonly number[], more: Partial<EventQuery> = {}): EventQuery => ({ tokens, rank: null, isolation: noIsolation, afterMessages: null, unanswerable: null, engineTokens: null, ...more });
const abcd = [1, 2, 3, 4, 5, 6, 7, 8];
const storeAbcd = stored(['a', 'b', 'c', 'd'], null, abcd);

function inspect(messages: readonly (readonly [rank: number, batch: EngineBatch])[], queries: readonly EventQuery[] = []): EventInspection {
  const inspection = new EventInspection({ blockSize: 2, pageSize: null, kind: null }, queries);
  for (const [rank, message] of messages) inspection.see({ rank, batch: message, reason: null });
  return inspection;
}

describe('EventInspection', () => {
  it('says what is held and what prompts would hit', () => {
    const report = inspect([[0, batch(0, cleared)], [0, batch(1, storeAbcd)]], [query(abcd), query([1, 2, 9, 9])]).report();
    expect(report).toMatchObject({ batches: 2, events: 2, invalid: 0, gaps: 0, missingBatches: 0, epochs: 1, ranks: [{ rank: 0, blocks: 4 }] });
    expect(report.queries.map(({ tokens, rank, blocks }) => ({ tokens, rank, blocks }))).toEqual([{ tokens: 8, rank: 0, blocks: 4 }, { tokens: 4, rank: 0, blocks: 1 }]);
  });

  it('E36: of a repeated prompt of exactly four pages three can be reused', () => {
    const [answer] = inspect([[0, batch(0, storeAbcd)]], [query(abcd)]).report().queries;
    expect(answer).toMatchObject({ blocks: 4, reusableBlocks: 3 });
  });

  it('E1: after a gap nothing of before is credited', () => {
    const report = inspect([[0, batch(0, storeAbcd)], [0, batch(3, stored(['x'], null, [9, 9]))]], [query(abcd), query([9, 9])]).report();
    expect(report).toMatchObject({ gaps: 1, missingBatches: 2, epochs: 2 });
    expect(report.queries.map(({ blocks }) => blocks)).toEqual([0, 1]);
  });

  it('E2, E41: beside an engine that has run for long, only what is seen stored is credited, and the rest is counted', () => {
    const removedOld: EngineEvent = { kind: 'removed', hashes: ['old'], tier: 'device', group: null };
    const report = inspect([[0, batch(40, removedOld, stored(['y'], 'old', [1, 2]), storeAbcd)]]).report();
    expect(report).toMatchObject({ gaps: 0, missingBatches: 40, ranks: [{ blocks: 4, unknownRemovals: 1, orphanedStores: 1 }] });
  });

  it('E4: a clear of rank 1 leaves rank 0 alone', () => {
    const report = inspect([[0, batch(0, storeAbcd)], [1, batch(0, storeAbcd)], [1, batch(1, cleared)]], [query(abcd, { rank: 1 }), query(abcd)]).report();
    expect(report.ranks.map(({ rank, blocks }) => [rank, blocks])).toEqual([[0, 4], [1, 0]]);
    expect(report.queries.map(({ rank, blocks }) => [rank, blocks])).toEqual([[1, 0], [0, 4]]);
  });

  it('E22: a number that falls back is a new epoch, and only what it stored counts', () => {
    const report = inspect([[0, batch(0, storeAbcd)], [0, batch(1, cleared)], [0, batch(0, stored(['x'], null, [9, 9]))]], [query(abcd)]).report();
    expect(report).toMatchObject({ epochs: 2, gaps: 0, ranks: [{ blocks: 1 }], queries: [{ blocks: 0 }] });
  });

  it('E37: a lone clear and the warm-up prompt are no gap', () => {
    const report = inspect([[0, batch(0, cleared)], [0, batch(1, stored(['w'], null, [1, 2]))]]).report();
    expect(report).toMatchObject({ gaps: 0, missingBatches: 0, ranks: [{ blocks: 1 }] });
  });

  it('asks a query at its time', () => {
    const queries = [0, 1, 2].map((afterMessages) => query(abcd, { afterMessages }));
    const report = inspect([[0, batch(0, storeAbcd)], [0, batch(1, cleared)]], queries).report();
    expect(report.queries.map(({ blocks }) => blocks)).toEqual([0, 4, 0]);
  });

  it('counts what could not be read by its reason', () => {
    const inspection = inspect([[0, { ...batch(0), invalid: ['bad-hash', 'bad-hash'] }]]);
    inspection.see({ rank: 0, batch: null, reason: 'frame-count' });
    expect(inspection.report()).toMatchObject({ batches: 1, invalid: 3, invalidReasons: { 'bad-hash': 2, 'frame-count': 1 } });
  });

  it('E38: where stores name no tier nothing is credited, and the reason is said', () => {
    const old: EngineBatch = { ...batch(0, storeAbcd), withoutTiers: true };
    const report = inspect([[0, old]], [query(abcd)]).report();
    expect(report.ranks).toMatchObject([{ blocks: 0, untrusted: expect.stringContaining('SGLang 0.5.5') as string }]);
    expect(report.queries).toMatchObject([{ blocks: 0, unanswerable: expect.stringContaining('SGLang 0.5.5') as string }]);
    const asVllm = new EventInspection({ blockSize: 2, pageSize: null, kind: 'vllm' });
    asVllm.see({ rank: 0, batch: old, reason: null });
    expect(asVllm.report().ranks).toMatchObject([{ blocks: 4, untrusted: null }]);
  });

  it('E20: pages and blocks that do not fit are refused with both numbers', () => {
    const inspection = new EventInspection({ blockSize: 3, pageSize: null, kind: null });
    expect(() => inspection.see({ rank: 0, batch: batch(0, storeAbcd), reason: null })).toThrow(/2 tokens.*3/);
  });
});
