import type { CellPlan } from './comparison-plan.ts';
import { max, mean, quantile } from './quantiles.ts';
import type { RequestOutcome } from './request-outcome.ts';
import { computedTokens } from './request-outcome.ts';

/** One measured cell, as `compare --json` prints it. Times in milliseconds by the client's clock. */
export interface CellResult {
  readonly label: string;
  readonly mode: string;
  readonly workers: number;
  readonly fanOut: number;
  readonly prefixTokens: number;
  readonly suffixTokens: number;
  readonly arrival: string;
  readonly backgroundLoad: number;
  readonly busyParent: boolean;
  readonly trial: number;
  readonly selectedWorkers: number;
  readonly prefixCopies: number;
  readonly computedPrefillTokens: number;
  readonly ttftMsMean: number;
  /** Of all requests that arrived meanwhile; without background load those of the group. */
  readonly ttftMsMeanAll: number;
  readonly ttftMsP50: number;
  readonly ttftMsP95: number;
  readonly ttftMsMax: number;
  readonly makespanMs: number;
  /** Blocks that the ranks held before or stored meanwhile and no longer hold at the end; null where not known. */
  readonly evictions: number | null;
  /** The busiest worker's share of the computed tokens over an even share: 1 is even, the number of workers is all on one. */
  readonly loadSpread: number;
  readonly errors: number;
}

/** Children that computed more than half of the shared prefix themselves, by what the engines say. */
export function prefixCopies(children: readonly RequestOutcome[], prefixTokens: number): number {
  return children.filter((child) => (computedTokens(child) ?? 0) > prefixTokens / 2).length;
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

function loadSpread(children: readonly RequestOutcome[], workers: number): number {
  const perWorker = new Map<string, number>();
  for (const child of children) {
    if (child.worker !== null) perWorker.set(child.worker, (perWorker.get(child.worker) ?? 0) + (computedTokens(child) ?? 0));
  }
  const sum = total([...perWorker.values()]);
  return sum === 0 ? 1 : Math.round((Math.max(...perWorker.values()) / (sum / workers)) * 100) / 100;
}

const tenths = (ms: number): number => Math.round(ms * 10) / 10;

/** The figures of one trial from what its children saw. */
export function measureCell(plan: CellPlan, children: readonly RequestOutcome[], evictions: number | null): CellResult {
  const ttfts = children.map((child) => child.ttftMs).filter((ms) => ms !== null);
  const { label, mode, workers, fanOut, prefixTokens, suffixTokens, arrival, trial } = plan;
  return {
    ...{ label, mode, workers, fanOut, prefixTokens, suffixTokens, arrival, backgroundLoad: 0, busyParent: false, trial },
    selectedWorkers: new Set(children.map((child) => child.worker).filter((worker) => worker !== null)).size,
    prefixCopies: prefixCopies(children, prefixTokens),
    computedPrefillTokens: total(children.map((child) => computedTokens(child) ?? 0)),
    ttftMsMean: tenths(mean(ttfts)),
    ttftMsMeanAll: tenths(mean(ttfts)),
    ttftMsP50: tenths(quantile(ttfts, 0.5)),
    ttftMsP95: tenths(quantile(ttfts, 0.95)),
    ttftMsMax: tenths(max(ttfts)),
    makespanMs: tenths(Math.max(...children.map((child) => child.endedMs)) - Math.min(...children.map((child) => child.startedMs))),
    evictions,
    loadSpread: loadSpread(children, workers),
    errors: children.filter((child) => child.error !== null).length,
  };
}
