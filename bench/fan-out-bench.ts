import { fanOutMatrix, planCells } from '../src/core/evidence/comparison-plan.ts';
import { summarizeCells, type CellSummary } from '../src/core/evidence/comparison-summary.ts';
import { compareLive } from '../src/main/compare-live.ts';
import { createLog } from '../src/main/create-log.ts';
import { unendingSignal, type Bench, type BenchCell } from './bench.ts';

const trials = 3;
const speed = 1;

const cellName = (row: CellSummary): string => `${row.label} ${row.mode}, fan-out ${row.fanOut}, prefix ${row.prefixTokens}`;

/** Each row's figures, means over the trials, beside those of one worker alone (C2) with the same children. */
function figures(row: CellSummary, alone: CellSummary | undefined): BenchCell[] {
  const figure = (what: string, unit: string, of: (summary: CellSummary) => number): BenchCell => {
    const reference = alone === undefined ? null : of(alone);
    return { name: `${cellName(row)}: ${what}`, ours: of(row), reference, ratio: reference === null ? null : of(row) / reference, unit };
  };
  return [
    figure('workers selected', 'workers', (summary) => summary.selectedWorkers.mean),
    figure('prefix copies', 'copies', (summary) => summary.prefixCopies.mean),
    figure('computed', 'tokens', (summary) => summary.computedPrefillTokens.mean),
    figure('TTFT p50', 'ms', (summary) => summary.ttftMsP50),
    figure('TTFT max', 'ms', (summary) => summary.ttftMsMax),
  ];
}

export const bench: Bench = {
  about: 'the fan-out matrix B1, B2, C2 at the modelled speed, three trials a cell, each row beside C2',
  async run(progress) {
    const plans = planCells({ ...fanOutMatrix, trials });
    const options = { pool: { speed }, seed: 1, maxNewTokens: 8, gapMs: 0, signal: unendingSignal() };
    const { cells, failures } = await compareLive(plans, options, createLog('bench', 'warn'), (cell, done) => progress(`${done}/${plans.length} ${cell.label} ${cell.mode}`));
    if (failures.length > 0) throw new Error(`not measured: ${failures.join('; ')}`);
    const rows = summarizeCells(cells);
    const alone = (row: CellSummary): CellSummary | undefined => rows.find((each) => each.label === 'C2' && each.fanOut === row.fanOut && each.prefixTokens === row.prefixTokens);
    return rows.flatMap((row) => figures(row, alone(row)));
  },
};
