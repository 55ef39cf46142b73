import Table from 'cli-table3';
import type { CellSummary } from '../core/evidence/comparison-summary.ts';
import type { CellExplanation } from '../core/evidence/explain-cell.ts';

const head = ['fan-out', 'prefix', 'arrival', 'row', 'mode', 'workers', 'selected', 'copies', 'computed tokens', 'TTFT p50', 'p95', 'max', 'makespan ms', 'load spread'];
const right = head.map((title) => (title === 'row' || title === 'mode' || title === 'arrival' ? ('left' as const) : ('right' as const)));

const range = ({ mean, min, max }: { readonly mean: number; readonly min: number; readonly max: number }): string => (min === max ? String(min) : `${mean} (${min}-${max})`);
const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

/** The comparison as a table for a terminal, one line a row of the summary. */
export function compareTable(rows: readonly CellSummary[]): string {
  const table = new Table({ head, colAligns: right, style: { head: [], border: [], compact: true } });
  for (const row of rows) {
    table.push([
      row.fanOut, whole(row.prefixTokens), row.arrival, row.label, row.mode, row.workers,
      range(row.selectedWorkers), range(row.prefixCopies), whole(row.computedPrefillTokens.mean),
      whole(row.ttftMsP50), whole(row.ttftMsP95), whole(row.ttftMsMax), whole(row.makespanMs), row.loadSpread,
    ]);
  }
  return table.toString();
}

/** `B1 affinity`; a baseline's label is its mode. */
const rowName = ({ label, mode }: { readonly label: string; readonly mode: string }): string => (label === mode ? mode : `${label} ${mode}`);

/** One explanation a row kind, its widest fan-out: the others differ in their numbers only. */
export function widestOfEach(explanations: readonly CellExplanation[]): readonly CellExplanation[] {
  const widest = new Map<string, CellExplanation>();
  for (const cell of explanations) {
    const key = rowName(cell);
    if (cell.fanOut > (widest.get(key)?.fanOut ?? 0)) widest.set(key, cell);
  }
  return [...widest.values()];
}

/** What these rows did and why, from the placement records of their first trial. */
export function explanationText(explanations: readonly CellExplanation[]): string {
  return explanations.map((cell) => `${rowName(cell)}, fan-out ${cell.fanOut}, prefix ${cell.prefixTokens}, ${cell.workers} ${cell.workers === 1 ? 'worker' : 'workers'}: ${cell.text}`).join('\n');
}

export const legend = [
  'B1 affinity, B2 prefix index (by engine events, by prediction), C2 one worker alone. All children of a row arrive with the same cold prefix.',
  'copies: children that computed more than half of the shared prefix, by the engines\' own cached_tokens. Times are by the client\'s clock, in ms.',
  'load spread: the busiest worker\'s computed tokens over an even share. Costs are in blocks, the lowest wins.',
].join('\n');
