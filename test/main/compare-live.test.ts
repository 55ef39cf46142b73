import { describe, expect, it } from 'vitest';
import { planCells } from '../../src/core/evidence/comparison-plan.ts';
import { surprises } from '../../src/core/evidence/expected-outcome.ts';
import { compareLive } from '../../src/main/compare-live.ts';
import { comparisonJson, comparisonText } from '../../src/main/commands/compare.ts';
import { silentLog } from '../support/silent-log.ts';

const matrix = { fanOuts: [2], prefixes: [1_024], suffixTokens: 64, workers: 'auto', modes: ['affinity', 'event', 'predicted'], arrivals: ['burst'], trials: 1 } as const;

describe('a small comparison on real parts', () => {
  it('shows one copy under affinity, one a child under events, one on a lone worker, in the printed shape', async () => {
    const plans = planCells(matrix);
    let done = 0;
    const comparison = await compareLive(plans, { pool: { speed: 0.25 }, seed: 1, maxNewTokens: 4, gapMs: 0, signal: new AbortController().signal }, silentLog, () => done++);
    expect(comparison.failures).toEqual([]);
    expect(done).toBe(4);
    const { cells, summary } = JSON.parse(comparisonJson(comparison)) as { cells: Record<string, unknown>[]; summary: Record<string, unknown>[] };
    expect(summary.length).toBe(4);
    expect(cells.map(({ label, mode, workers }) => [label, mode, workers])).toEqual([['B1', 'affinity', 2], ['B2', 'event', 2], ['B2', 'predicted', 2], ['C2', 'event', 1]]);
    for (const name of ['fanOut', 'prefixTokens', 'suffixTokens', 'backgroundLoad', 'trial', 'selectedWorkers', 'prefixCopies', 'computedPrefillTokens', 'ttftMsMean', 'ttftMsMeanAll', 'ttftMsP50', 'ttftMsP95', 'ttftMsMax', 'makespanMs', 'evictions', 'loadSpread']) {
      expect(cells.map((cell) => typeof cell[name]), name).toEqual(Array.from({ length: 4 }, () => 'number'));
    }
    expect(cells[0]).toMatchObject({ arrival: 'burst', busyParent: false, selectedWorkers: 1 });
    expect(cells[1]).toMatchObject({ selectedWorkers: 2, prefixCopies: 2, computedPrefillTokens: 2 * 1_088 });
    expect(comparisonText(comparison)).toMatch(/B2 event, fan-out 2, prefix 1024, 2 workers: placed on w\d by lowest-cost, w\d by lowest-cost\. When child 2 came/);
  });

  it('shows with a prefix longer than a prefill step what the reports on real GPUs show', async () => {
    const plans = planCells({ ...matrix, prefixes: [16_384] });
    const comparison = await compareLive(plans, { pool: {}, seed: 2, maxNewTokens: 4, gapMs: 0, signal: new AbortController().signal }, silentLog, () => {});
    expect(surprises(comparison.cells)).toEqual([]);
  });
});
