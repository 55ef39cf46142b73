import type { ParentAffinity, PlacementMode } from '../placement/placement.ts';

/** One cell of the fan-out matrix, one trial of it: `fanOut` siblings with an exact shared prefix arrive at once. */
export interface CellPlan {
  /** B1: affinity. B2: by prefix index. C2: one worker alone. Baselines go by their mode's name. */
  readonly label: string;
  readonly mode: PlacementMode;
  readonly parentAffinity: ParentAffinity;
  readonly workers: number;
  readonly fanOut: number;
  readonly prefixTokens: number;
  readonly suffixTokens: number;
  readonly arrival: Arrival;
  readonly trial: number;
}

export const arrivals = ['burst', 'staggered', 'poisson'] as const;
/** How the children of a cell come: all at one instant, evenly spaced, or with random gaps of the same mean. */
export type Arrival = (typeof arrivals)[number];

export interface MatrixOptions {
  readonly fanOuts: readonly number[];
  readonly prefixes: readonly number[];
  readonly suffixTokens: number;
  /** `auto`: as many workers as children. */
  readonly workers: 'auto' | number;
  readonly modes: readonly PlacementMode[];
  readonly arrivals: readonly Arrival[];
  readonly trials: number;
}

/** The matrix that the reports on real GPUs are about. */
export const fanOutMatrix = {
  fanOuts: [2, 4, 8],
  prefixes: [16_384, 32_768],
  suffixTokens: 64,
  workers: 'auto',
  modes: ['affinity', 'event', 'predicted'],
  arrivals: ['burst'],
  trials: 1,
} as const satisfies MatrixOptions;

const labelOf = (mode: PlacementMode): string => (mode === 'affinity' ? 'B1' : mode === 'event' || mode === 'predicted' ? 'B2' : mode);

/** All cells in the order of the table: by fan-out and prefix, each mode over many workers, then the one worker (C2). */
export function planCells(options: MatrixOptions): readonly CellPlan[] {
  const rows = [
    ...options.modes.map((mode) => ({ label: labelOf(mode), mode, alone: false })),
    { label: 'C2', mode: aloneMode(options.modes), alone: true },
  ];
  return combinations(options).flatMap(({ fanOut, prefixTokens, arrival }) =>
    rows.flatMap(({ label, mode, alone }) =>
      Array.from({ length: options.trials }, (_, trial): CellPlan => ({
        label,
        mode,
        parentAffinity: 'siblings',
        workers: alone ? 1 : options.workers === 'auto' ? fanOut : options.workers,
        fanOut,
        prefixTokens,
        suffixTokens: options.suffixTokens,
        arrival,
        trial,
      })),
    ),
  );
}

/** On one worker every mode must do the same; the one that knows what the engine holds says most about it. */
const aloneMode = (modes: readonly PlacementMode[]): PlacementMode => (modes.includes('event') ? 'event' : (modes[0] ?? 'event'));

const combinations = (options: MatrixOptions): { fanOut: number; prefixTokens: number; arrival: Arrival }[] =>
  options.fanOuts.flatMap((fanOut) =>
    options.prefixes.flatMap((prefixTokens) => options.arrivals.map((arrival) => ({ fanOut, prefixTokens, arrival }))),
  );

/** When each child of a cell is sent, in milliseconds after the first. */
export function childOffsets(plan: CellPlan, gapMs: number, random: () => number): readonly number[] {
  if (plan.arrival === 'burst') return Array.from({ length: plan.fanOut }, () => 0);
  let atMs = 0;
  return Array.from({ length: plan.fanOut }, (_, child) => {
    if (child > 0) atMs += plan.arrival === 'staggered' ? gapMs : -gapMs * Math.log(1 - random());
    return atMs;
  });
}

/** The tokens of each child's prompt are keyed by these: a new prefix each trial, so that no cache is warm for it. */
export function cellKeys(plan: CellPlan, seed: number): { readonly cell: string; readonly prefix: string; readonly suffix: (child: number) => string } {
  const cell = `${seed}-${plan.label}-${plan.mode}-w${plan.workers}-f${plan.fanOut}-p${plan.prefixTokens}-${plan.arrival}-t${plan.trial}`;
  return { cell, prefix: `${cell} prefix`, suffix: (child) => `${cell} child ${child}` };
}
