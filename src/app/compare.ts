import type { CellResult } from '../core/evidence/comparison-cell.ts';
import type { CellPlan } from '../core/evidence/comparison-plan.ts';
import type { CellExplanation } from '../core/evidence/explain-cell.ts';
import { explainCell } from '../core/evidence/explain-cell.ts';
import type { PlacedEvent } from '../core/placement/placement-event.ts';
import type { Clock } from '../ports/clock.ts';
import type { CellOptions, MeasuredCell } from './compare-cell.ts';
import { runCell } from './compare-cell.ts';
import type { Deployment } from './compare-deployment.ts';
import { switchPolicy, untilIdle } from './compare-idle-pool.ts';
import { PlacementRecorder } from './compare-placements.ts';

export interface CompareDeps {
  /** Starts a pool of so many workers; it is closed before the next one is asked for. */
  readonly deploy: (workers: number) => Promise<Deployment>;
  readonly clock: Clock;
  readonly onCell: (result: CellResult, done: number) => void;
}

export interface Comparison {
  /** In the order of the plan. */
  readonly cells: readonly CellResult[];
  /** One for each cell's first trial. */
  readonly explanations: readonly CellExplanation[];
  /** What failed requests said, with their cell. */
  readonly failures: readonly string[];
}

interface Measured extends MeasuredCell {
  readonly plan: CellPlan;
  readonly placed: readonly PlacedEvent[];
}

/** Runs all cells, pool by pool: cells with as many workers share one, idle and with a cold prefix each time. */
export async function compare(plans: readonly CellPlan[], options: CellOptions, deps: CompareDeps, signal: AbortSignal): Promise<Comparison> {
  const measured = new Map<CellPlan, Measured>();
  for (const workers of [...new Set(plans.map((plan) => plan.workers))].sort((a, b) => a - b)) {
    const deployment = await deps.deploy(workers);
    try {
      const mine = plans.filter((plan) => plan.workers === workers);
      await runOnPool(byMode(mine), deployment);
    } finally {
      await deployment.close();
    }
  }
  const inOrder = plans.map((plan) => measured.get(plan)).filter((cell) => cell !== undefined);
  return {
    cells: inOrder.map((cell) => cell.result),
    explanations: inOrder.filter((cell) => cell.plan.trial === 0).map((cell) => explainCell(cell.plan, cell.placed)),
    failures: inOrder.flatMap(failuresOf),
  };

  /** A throw-away fan-out over all workers: what a pool's first requests pay for connections is no cell's. */
  async function warmUp([first]: readonly CellPlan[], deployment: Deployment): Promise<void> {
    if (first === undefined) return;
    await switchPolicy(deployment.admin, { mode: 'round-robin', parentAffinity: 'off' }, deps.clock, signal);
    const plan: CellPlan = { ...first, label: 'warm-up', mode: 'round-robin', fanOut: 2 * first.workers, prefixTokens: 1_024, arrival: 'burst', trial: 0 };
    await runCell(plan, options, { deployment, clock: deps.clock }, signal);
  }

  async function runOnPool(mine: readonly CellPlan[], deployment: Deployment): Promise<void> {
    signal.throwIfAborted();
    const recorder = await PlacementRecorder.start(deployment.placements);
    try {
      await warmUp(mine, deployment);
      for (const plan of mine) {
        await switchPolicy(deployment.admin, { mode: plan.mode, parentAffinity: plan.parentAffinity }, deps.clock, signal);
        await untilIdle(deployment.admin, deps.clock, signal);
        const cell = await runCell(plan, options, { deployment, clock: deps.clock }, signal);
        const placed = await recorder.placedFor(cell.children.map((child) => child.requestId), deps.clock, signal);
        measured.set(plan, { ...cell, plan, placed });
        deps.onCell(cell.result, measured.size);
      }
    } finally {
      await recorder.close();
    }
  }
}

/** Cells of one mode after another: each switch of the live policy goes through all routers. */
const byMode = (plans: readonly CellPlan[]): readonly CellPlan[] => {
  const modes = [...new Set(plans.map((plan) => plan.mode))];
  return [...plans].sort((a, b) => modes.indexOf(a.mode) - modes.indexOf(b.mode));
};

const failuresOf = (cell: Measured): string[] =>
  cell.children
    .filter((child) => child.error !== null)
    .map((child) => `${cell.plan.label} ${cell.plan.mode}, fan-out ${cell.plan.fanOut}, prefix ${cell.plan.prefixTokens}: ${child.error ?? ''}`);
