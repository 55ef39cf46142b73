import type { CellResult } from '../core/evidence/comparison-cell.ts';
import { measureCell } from '../core/evidence/comparison-cell.ts';
import type { CellPlan } from '../core/evidence/comparison-plan.ts';
import { cellKeys, childOffsets } from '../core/evidence/comparison-plan.ts';
import { generateBody } from '../core/evidence/generate-body.ts';
import type { RequestOutcome } from '../core/evidence/request-outcome.ts';
import { seededRandom } from '../core/evidence/seeded-random.ts';
import { tokenRun } from '../core/evidence/token-run.ts';
import type { Clock } from '../ports/clock.ts';
import type { LoadRequest } from '../ports/load-client.ts';
import type { Deployment } from './compare-deployment.ts';
import { pause } from './pause.ts';

export interface CellOptions {
  readonly seed: number;
  readonly maxNewTokens: number;
  /** Mean time between children where they do not come all at once. */
  readonly gapMs: number;
}

export interface MeasuredCell {
  readonly result: CellResult;
  readonly children: readonly RequestOutcome[];
}

/** Runs one trial of one cell on a pool that is idle and in the cell's mode. */
export async function runCell(plan: CellPlan, options: CellOptions, pool: { readonly deployment: Deployment; readonly clock: Clock }, signal: AbortSignal): Promise<MeasuredCell> {
  const { deployment, clock } = pool;
  const evictedBefore = await deployment.evictedTokens(signal);
  const requests = childRequests(plan, options);
  const offsets = childOffsets(plan, options.gapMs, seededRandom(`${cellKeys(plan, options.seed).cell} arrival`));
  const children = await Promise.all(
    requests.map(async (request, child) => {
      await pause(offsets[child] ?? 0, clock, signal);
      return deployment.client.generate(request, signal);
    }),
  );
  const evictedAfter = await deployment.evictedTokens(signal);
  const evictions = evictedBefore === null || evictedAfter === null ? null : evictedAfter - evictedBefore;
  return { result: measureCell(plan, children, evictions), children };
}

/** The children of one cell, encoded beforehand: the burst must not wait for the encoder. */
function childRequests(plan: CellPlan, options: CellOptions): readonly LoadRequest[] {
  const keys = cellKeys(plan, options.seed);
  const prefix = tokenRun(keys.prefix, plan.prefixTokens);
  return Array.from({ length: plan.fanOut }, (_, child) => {
    const tokens = new Int32Array(plan.prefixTokens + plan.suffixTokens);
    tokens.set(prefix);
    tokens.set(tokenRun(keys.suffix(child), plan.suffixTokens), plan.prefixTokens);
    return { body: generateBody(tokens, options.maxNewTokens), session: `${keys.cell}-child-${child}`, parent: `${keys.cell}-parent` };
  });
}
