import { describe, expect, it } from 'vitest';
import { explainCell } from '../../../src/core/evidence/explain-cell.ts';
import { placementLine } from '../../../src/core/evidence/placement-line.ts';
import type { CandidateRecord, PlacedEvent } from '../../../src/core/placement/placement-event.ts';

const base = { v: 1, at: '2026-01-01T00:00:00.000Z', router: 'r1', pool: 'llama', requestId: 'q1' } as const;

const candidate = (worker: string, cost: number | null, prefillTokens = 0): CandidateRecord => ({
  worker, rank: 0, eligible: true, why: null, trusted: true, overlapBlocks: 0, predictedBlocks: 256,
  load: { requests: 0, prefillTokens, decodeTokens: 0, reportedRunning: null, reportedWaiting: null }, cost, terms: cost === null ? {} : { prefill: cost },
});

const placed = (worker: string, reason: PlacedEvent['reason'], candidates: readonly CandidateRecord[]): PlacedEvent => ({
  ...base, event: 'placed', worker, rank: 0, mode: 'event', reason, session: 's1', parent: 'p1', promptTokens: 16_448, requestBlocks: 257,
  overlapBlocks: 0, overlapSource: 'events', claim: { prefillTokens: 16_448, blocks: 257 }, candidates, shadow: { event: null, predicted: null, affinity: null },
});

describe('a line of watch', () => {
  it('says where a request went, by what, and whose it was', () => {
    expect(placementLine(placed('w2', 'lowest-cost', []))).toBe(
      '2026-01-01T00:00:00.000Z r1 llama placed       q1 -> w2/0 by event (lowest-cost), overlap 0/257 blocks (events), 16448 tokens, session s1 of p1',
    );
  });

  it('marks what the engine did not say', () => {
    const line = placementLine({ ...base, event: 'finished', worker: 'w1', rank: 3, status: 200, ttftMs: null, durationMs: 12.34, promptTokens: 8, cachedTokens: null, completionTokens: 4, overlapBlocks: 0 });
    expect(line).toContain('finished     q1 on w1/3: status 200, 12.3 ms, prompt 8, cached ?, answer 4 tokens');
  });

  it('of a mode change names the mode', () => {
    expect(placementLine({ v: 1, at: base.at, router: 'r1', pool: '-', event: 'mode_changed', mode: 'affinity', parentAffinity: 'siblings' })).toContain('mode affinity, parent affinity siblings');
  });
});

describe('the explanation of a cell', () => {
  const plan = { label: 'B2', mode: 'event', parentAffinity: 'siblings', workers: 2, fanOut: 2, prefixTokens: 16_384, suffixTokens: 64, arrival: 'burst', trial: 0 } as const;

  it('says what the second child was weighed by', () => {
    const { text } = explainCell(plan, [
      placed('w1', 'lowest-cost', [candidate('w1', 257), candidate('w2', 257)]),
      placed('w2', 'lowest-cost', [candidate('w1', 514, 16_448), candidate('w2', 257)]),
    ]);
    expect(text).toBe(
      'placed on w1 by lowest-cost, w2 by lowest-cost. When child 2 came, w1 (where child 1 was) held 0 of its 257 blocks by the engine\'s events, 256 by prediction, and carried 16448 tokens of claimed prefill: w1 at 514 (prefill 514) against w2 at 257 (prefill 257), so it went to w2.',
    );
  });

  it('counts children that went the same way', () => {
    const { text } = explainCell(plan, [placed('w1', 'new-session', [candidate('w1', null)]), placed('w1', 'sibling-group', [candidate('w1', null)]), placed('w1', 'sibling-group', [])]);
    expect(text).toMatch(/^placed on w1 by new-session, w1 by sibling-group \(2 times\)\. When child 2 came/);
  });

  it('without a record says so', () => {
    expect(explainCell(plan, []).text).toBe('no placement record came');
  });
});
