import { describe, expect, it } from 'vitest';
import { measureCell } from '../../../src/core/evidence/comparison-cell.ts';
import { cellKeys, childOffsets, planCells } from '../../../src/core/evidence/comparison-plan.ts';
import type { CellPlan } from '../../../src/core/evidence/comparison-plan.ts';
import { summarizeCells } from '../../../src/core/evidence/comparison-summary.ts';
import { surprises } from '../../../src/core/evidence/expected-outcome.ts';
import type { RequestOutcome } from '../../../src/core/evidence/request-outcome.ts';

const matrix = { fanOuts: [2, 4], prefixes: [1_000], suffixTokens: 10, workers: 'auto', modes: ['affinity', 'event', 'predicted'], arrivals: ['burst'], trials: 2 } as const;

const plan: CellPlan = { label: 'B2', mode: 'event', parentAffinity: 'siblings', workers: 4, fanOut: 4, prefixTokens: 1_000, suffixTokens: 10, arrival: 'burst', trial: 0 };

const child = (fields: Partial<RequestOutcome>): RequestOutcome => ({
  status: 200, error: null, startedMs: 100, endedMs: 300, ttftMs: 50, promptTokens: 1_010, cachedTokens: 0, completionTokens: 8,
  requestId: null, worker: 'w1', rank: 0, reason: 'lowest-cost', ...fields,
});

describe('the matrix', () => {
  it('has a B1, two B2 and a C2 row for each fan-out and prefix, every trial of each', () => {
    const plans = planCells(matrix);
    expect(plans.length).toBe(2 * 4 * 2);
    expect(plans.slice(0, 8).map(({ label, mode, workers, trial }) => [label, mode, workers, trial])).toEqual([
      ['B1', 'affinity', 2, 0], ['B1', 'affinity', 2, 1], ['B2', 'event', 2, 0], ['B2', 'event', 2, 1],
      ['B2', 'predicted', 2, 0], ['B2', 'predicted', 2, 1], ['C2', 'event', 1, 0], ['C2', 'event', 1, 1],
    ]);
  });

  it('draws another prefix for every cell and trial', () => {
    const plans = planCells(matrix);
    expect(new Set(plans.map((each) => cellKeys(each, 1).prefix)).size).toBe(plans.length);
  });

  it('sends a burst at one instant, staggered children evenly, poisson ones by the random numbers given', () => {
    expect(childOffsets(plan, 100, () => 0.5)).toEqual([0, 0, 0, 0]);
    expect(childOffsets({ ...plan, arrival: 'staggered' }, 100, () => 0.5)).toEqual([0, 100, 200, 300]);
    expect(childOffsets({ ...plan, arrival: 'poisson' }, 100, () => 1 - Math.exp(-1))[3]).toBeCloseTo(300);
  });
});

describe('a cell', () => {
  it('counts as a copy a child that computed more than half of the prefix itself, by the engine\'s word', () => {
    const children = [child({}), child({ cachedTokens: 509 }), child({ cachedTokens: 510 }), child({ cachedTokens: 1_000 })];
    expect(measureCell(plan, children, null).prefixCopies).toBe(2);
    expect(measureCell(plan, children, null).computedPrefillTokens).toBe(1_010 + 501 + 500 + 10);
  });

  it('counts the workers that the headers name, and a failed child as an error and not as a worker', () => {
    const cell = measureCell(plan, [child({}), child({ worker: 'w2' }), child({ worker: 'w2' }), child({ worker: null, error: 'gone', ttftMs: null, promptTokens: null, cachedTokens: null })], 5);
    expect(cell).toMatchObject({ selectedWorkers: 2, errors: 1, evictions: 5, prefixCopies: 3 });
  });

  it('takes the makespan from the first sending to the last end', () => {
    expect(measureCell(plan, [child({ startedMs: 90 }), child({ endedMs: 500 })], null).makespanMs).toBe(410);
  });

  it('spreads load evenly at 1 and on one worker alone at the number of workers', () => {
    const even = ['w1', 'w2', 'w3', 'w4'].map((worker) => child({ worker }));
    expect(measureCell(plan, even, null).loadSpread).toBe(1);
    expect(measureCell(plan, [child({}), child({})], null).loadSpread).toBe(4);
  });
});

describe('the summary', () => {
  it('joins the trials of a cell, and nothing else', () => {
    const cells = [
      measureCell(plan, [child({}), child({ worker: 'w2' })], 1),
      measureCell({ ...plan, trial: 1 }, [child({}), child({ cachedTokens: 1_000 })], 2),
      measureCell({ ...plan, mode: 'predicted' }, [child({})], null),
    ];
    const [event, predicted] = summarizeCells(cells);
    expect(event).toMatchObject({ mode: 'event', trials: 2, evictions: 3, prefixCopies: { mean: 1.5, min: 1, max: 2 }, selectedWorkers: { mean: 1.5, min: 1, max: 2 } });
    expect(predicted).toMatchObject({ mode: 'predicted', trials: 1, evictions: null });
  });
});

describe('what a comparison must show', () => {
  const cell = (label: string, mode: CellPlan['mode'], workers: readonly string[], copies: number) =>
    measureCell({ ...plan, label, mode, fanOut: workers.length }, workers.map((worker, index) => child({ worker, cachedTokens: index < copies ? 0 : 1_000 })), null);

  it('is one worker and one copy for B1 and C2, as many as the fan-out for B2 by events, and nothing of B2 by prediction', () => {
    const good = [cell('B1', 'affinity', ['w1', 'w1'], 1), cell('B2', 'event', ['w1', 'w2'], 2), cell('B2', 'predicted', ['w1', 'w2'], 1), cell('C2', 'event', ['w1', 'w1'], 1)];
    expect(surprises(good)).toEqual([]);
  });

  it('names the cell that did otherwise', () => {
    expect(surprises([cell('B1', 'affinity', ['w1', 'w2'], 2)])).toEqual(['B1 affinity, fan-out 2, prefix 1000, trial 0: selected 2 workers and computed 2 copies, to be 1 and 1']);
    expect(surprises([cell('B2', 'event', ['w1', 'w2'], 1)]).length).toBe(1);
  });
});
