import type { CellResult } from './comparison-cell.ts';
import { mean } from './quantiles.ts';

interface Range {
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

/** All trials of one cell together. Times are means over the trials of each trial's figure. */
export interface CellSummary {
  readonly label: string;
  readonly mode: string;
  readonly workers: number;
  readonly fanOut: number;
  readonly prefixTokens: number;
  readonly suffixTokens: number;
  readonly arrival: string;
  readonly trials: number;
  readonly selectedWorkers: Range;
  readonly prefixCopies: Range;
  readonly computedPrefillTokens: Range;
  readonly ttftMsMean: number;
  readonly ttftMsP50: number;
  readonly ttftMsP95: number;
  readonly ttftMsMax: number;
  readonly makespanMs: number;
  readonly evictions: number | null;
  readonly loadSpread: number;
  readonly errors: number;
}

const keyOf = (cell: CellResult): string => [cell.label, cell.mode, cell.workers, cell.fanOut, cell.prefixTokens, cell.suffixTokens, cell.arrival].join(' ');

/** One row for each cell of the matrix, in the order of its first trial. */
export function summarizeCells(cells: readonly CellResult[]): readonly CellSummary[] {
  const groups = new Map<string, CellResult[]>();
  for (const cell of cells) {
    const group = groups.get(keyOf(cell));
    if (group === undefined) groups.set(keyOf(cell), [cell]);
    else group.push(cell);
  }
  return [...groups.values()].flatMap((trials) => summarize(trials));
}

function summarize(trials: readonly CellResult[]): CellSummary[] {
  const [first] = trials;
  if (first === undefined) return [];
  const { label, mode, workers, fanOut, prefixTokens, suffixTokens, arrival } = first;
  const values = (of: (cell: CellResult) => number): number[] => trials.map(of);
  const average = (of: (cell: CellResult) => number): number => Math.round(mean(values(of)) * 100) / 100;
  const range = (of: (cell: CellResult) => number): Range => ({ mean: average(of), min: Math.min(...values(of)), max: Math.max(...values(of)) });
  const evicted = trials.map((cell) => cell.evictions).filter((count) => count !== null);
  return [
    {
      ...{ label, mode, workers, fanOut, prefixTokens, suffixTokens, arrival, trials: trials.length },
      selectedWorkers: range((cell) => cell.selectedWorkers),
      prefixCopies: range((cell) => cell.prefixCopies),
      computedPrefillTokens: range((cell) => cell.computedPrefillTokens),
      ttftMsMean: average((cell) => cell.ttftMsMean),
      ttftMsP50: average((cell) => cell.ttftMsP50),
      ttftMsP95: average((cell) => cell.ttftMsP95),
      ttftMsMax: average((cell) => cell.ttftMsMax),
      makespanMs: average((cell) => cell.makespanMs),
      evictions: evicted.length < trials.length ? null : evicted.reduce((sum, count) => sum + count, 0),
      loadSpread: average((cell) => cell.loadSpread),
      errors: values((cell) => cell.errors).reduce((sum, count) => sum + count, 0),
    },
  ];
}
