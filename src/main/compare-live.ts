import { HttpRouterAdmin } from '../adapters/load-client/http-router-admin.ts';
import { SsePlacementFollower } from '../adapters/load-client/sse-placement-follower.ts';
import { UndiciLoadClient } from '../adapters/load-client/undici-load-client.ts';
import { systemClock } from '../adapters/system/system-clock.ts';
import type { CellOptions } from '../app/compare-cell.ts';
import type { Deployment } from '../app/compare-deployment.ts';
import type { Comparison } from '../app/compare.ts';
import { compare } from '../app/compare.ts';
import type { CellResult } from '../core/evidence/comparison-cell.ts';
import type { CellPlan } from '../core/evidence/comparison-plan.ts';
import type { Log } from '../ports/log.ts';
import { evictedTokens } from './evicted-tokens.ts';
import type { UpOptions } from './up.ts';
import { startUp } from './up.ts';

export interface LiveCompareOptions extends CellOptions {
  /** Of the pools that are started; engines and mode are the plan's. */
  readonly pool: Partial<UpOptions>;
  readonly signal: AbortSignal;
}

/** Runs the cells on pools of our own, one for each number of workers, through real HTTP, NATS and ZMQ. */
export async function compareLive(plans: readonly CellPlan[], options: LiveCompareOptions, log: Log, onCell: (result: CellResult, done: number) => void): Promise<Comparison> {
  const deploy = (workers: number): Promise<Deployment> => deployPool({ ...options.pool, engines: workers, routers: 1, port: 0 }, log);
  return compare(plans, options, { deploy, clock: systemClock, onCell }, options.signal);
}

async function deployPool(options: Partial<UpOptions>, log: Log): Promise<Deployment> {
  const running = await startUp(options, log);
  const url = running.routers[0]?.url ?? '';
  const client = new UndiciLoadClient([url], systemClock);
  const admin = new HttpRouterAdmin(url);
  return {
    client,
    admin,
    placements: new SsePlacementFollower(url, log),
    evictedTokens: (signal) => evictedTokens(running.engines.map((engine) => engine.url), signal),
    close: async () => {
      await Promise.all([client.close(), admin.close()]);
      await running.close();
    },
  };
}
