import { HttpRouterAdmin } from '../adapters/load-client/http-router-admin.ts';
import { UndiciLoadClient } from '../adapters/load-client/undici-load-client.ts';
import { systemClock } from '../adapters/system/system-clock.ts';
import { switchPolicy } from '../app/compare-idle-pool.ts';
import type { ReplayedRequest, ReplayOptions } from '../app/replay-trace.ts';
import { replayTrace } from '../app/replay-trace.ts';
import type { Trace } from '../core/evidence/trace.ts';
import type { LivePolicy } from '../core/placement/placement.ts';
import type { Log } from '../ports/log.ts';
import type { UpOptions } from './up.ts';
import { startUp } from './up.ts';

export interface LiveReplayOptions extends ReplayOptions {
  readonly policy: LivePolicy;
  /** A router that is already there; null starts a pool of our own. */
  readonly router: string | null;
  readonly pool: Partial<UpOptions>;
  readonly signal: AbortSignal;
}

interface Front {
  readonly urls: readonly string[];
  close(): Promise<void>;
}

/** Replays against a router in real time, one that is there (switched to the policy) or a pool of our own. */
export async function replayLive(trace: Trace, options: LiveReplayOptions, log: Log, onDone: (done: number, failed: number) => void): Promise<readonly ReplayedRequest[]> {
  const front = options.router === null ? await ownFront(options, log) : await foreignFront(options.router, options);
  const client = new UndiciLoadClient(front.urls, systemClock);
  // Timers of the clock don't keep the process alive, and between two arrivals nothing else may be open.
  const alive = setInterval(() => {}, 60_000);
  let done = 0;
  let failed = 0;
  try {
    const onOutcome = (outcome: { readonly error: string | null }): void => {
      done++;
      if (outcome.error !== null) failed++;
      onDone(done, failed);
    };
    return await replayTrace(trace, options, { client, clock: systemClock, onOutcome }, options.signal);
  } finally {
    clearInterval(alive);
    await client.close();
    await front.close();
  }
}

async function ownFront(options: LiveReplayOptions, log: Log): Promise<Front> {
  const running = await startUp({ ...options.pool, ...options.policy, port: 0 }, log);
  return { urls: running.routers.map((router) => router.url), close: () => running.close() };
}

async function foreignFront(url: string, { policy, signal }: LiveReplayOptions): Promise<Front> {
  const admin = new HttpRouterAdmin(url);
  try {
    await switchPolicy(admin, policy, systemClock, signal);
  } finally {
    await admin.close();
  }
  return { urls: [url], close: () => Promise.resolve() };
}
