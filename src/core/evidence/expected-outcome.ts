import type { CellResult } from './comparison-cell.ts';

interface Expected {
  readonly selectedWorkers: number;
  readonly prefixCopies: number;
}

/**
 * What the reports on real GPUs found, and so what a cell must show: affinity gathers a fan-out on one worker and
 * computes the prefix once; cold siblings under engine events spread and compute it each; one worker computes it
 * once. Null for cells that nothing is claimed of.
 */
function expected(cell: CellResult): Expected | null {
  if (cell.label === 'B1' || cell.label === 'C2') return { selectedWorkers: 1, prefixCopies: 1 };
  if (cell.label === 'B2' && cell.mode === 'event' && cell.workers >= cell.fanOut) return { selectedWorkers: cell.fanOut, prefixCopies: cell.fanOut };
  return null;
}

/** The cells that did not do what was to be shown, each as a sentence. */
export function surprises(cells: readonly CellResult[]): readonly string[] {
  return cells.flatMap((cell) => {
    const want = expected(cell);
    if (want === null || (want.selectedWorkers === cell.selectedWorkers && want.prefixCopies === cell.prefixCopies)) return [];
    const where = `${cell.label} ${cell.mode}, fan-out ${cell.fanOut}, prefix ${cell.prefixTokens}, trial ${cell.trial}`;
    return [`${where}: selected ${cell.selectedWorkers} workers and computed ${cell.prefixCopies} copies, to be ${want.selectedWorkers} and ${want.prefixCopies}`];
  });
}
