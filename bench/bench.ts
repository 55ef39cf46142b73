import { setMaxListeners } from 'node:events';

/** One figure of a bench. `reference`: what was measured beside ours in the same run, null where nothing was. */
export interface BenchCell {
  readonly name: string;
  readonly ours: number;
  readonly reference: number | null;
  /** Ours to reference. */
  readonly ratio: number | null;
  readonly unit: string;
}

/** What a file `NAME-bench.ts` in this folder exports as `bench`; `npm run -s bench -- NAME` runs it. */
export interface Bench {
  /** One line for the list. */
  readonly about: string;
  run(progress: (line: string) => void): Promise<readonly BenchCell[]>;
}

export const oursAlone = (name: string, ours: number, unit: string): BenchCell => ({ name, ours, reference: null, ratio: null, unit });

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

/** Never aborts; any number of requests may listen to it at once. */
export function unendingSignal(): AbortSignal {
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  return signal;
}
