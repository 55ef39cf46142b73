import { randomBytes } from 'node:crypto';
import { startHttpFront } from '../adapters/http-front/http-front.ts';
import { PrometheusMetrics } from '../adapters/http-front/prometheus-metrics.ts';
import { connectNats } from '../adapters/nats/connection.ts';
import type { NatsHandle } from '../adapters/nats/connection.ts';
import { routerPorts } from '../adapters/nats/router-ports.ts';
import type { RouterPorts } from '../adapters/nats/router-ports.ts';
import { systemClock } from '../adapters/system/system-clock.ts';
import { EngineFollower } from '../app/follow-engines.ts';
import { hearClaims } from '../app/hear-claims.ts';
import { RankCooldown } from '../app/route/rank-cooldown.ts';
import { RouteRequest } from '../app/route-request.ts';
import { RouterOverview } from '../app/router-overview.ts';
import { SharedPolicy } from '../app/shared-policy.ts';
import { parseRouterId } from '../core/identity/ids.ts';
import type { RouterId } from '../core/identity/ids.ts';
import { ClaimLedger } from '../core/load/claim-ledger.ts';
import type { ParentAffinity, PlacementMode } from '../core/placement/placement.ts';
import { PredictedIndex } from '../core/prefix-index/predicted-index.ts';
import { SessionTable } from '../core/sessions/session-table.ts';
import type { Closable } from '../ports/kv-bus.ts';
import type { Log } from '../ports/log.ts';
import { closeAll } from './close-all.ts';
import { routerTokenizer } from './router-tokenizer.ts';

export interface RouterOptions {
  readonly nats: { readonly servers: string; readonly prefix?: string };
  /** Null: a name of its own. */
  readonly name: string | null;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Until a mode was set for all routers. */
  readonly mode: PlacementMode;
  readonly parentAffinity: ParentAffinity;
  /** Further ranks for a request that one failed before its first byte. */
  readonly retries: number;
  /** A folder with `tokenizer.json` and `tokenizer_config.json`; null: the engines are asked. */
  readonly tokenizer: string | null;
  readonly bodyLimitBytes: number;
  /** Longest life of one request. */
  readonly deadlineMs: number;
  /** A session's binding goes after so long without a request. */
  readonly sessionIdleMs: number;
  readonly maxSessions: number;
  /** How long a placement promises its blocks. */
  readonly predictionTtlMs: number;
  /** How long closing waits for requests under way. */
  readonly closeGraceMs: number;
}

export const routerDefaults: Omit<RouterOptions, 'nats' | 'mode'> = {
  name: null,
  host: '127.0.0.1',
  port: 0,
  parentAffinity: 'off',
  retries: 2,
  tokenizer: null,
  bodyLimitBytes: 8 * 1024 * 1024,
  deadlineMs: 600_000,
  sessionIdleMs: 600_000,
  maxSessions: 100_000,
  predictionTtlMs: 120_000,
  closeGraceMs: 5_000,
};

export interface RunningRouter extends Closable {
  readonly url: string;
  readonly name: string;
}

/** Blocks of all predictions together; with 64 tokens a block, prompts of 128 million tokens. */
const maxPredictedBlocks = 2_000_000;
/** A rank that could not be reached is passed by for so long. */
const coolMs = 1_000;

/** Starts one router; resolves when it knows the workers that are there and listens. Rejects with `bus-unavailable`, `port-in-use` or `bad-config`. */
export async function startRouter(options: Pick<RouterOptions, 'nats' | 'mode'> & Partial<RouterOptions>, log: Log): Promise<RunningRouter> {
  const wanted: RouterOptions = { ...routerDefaults, ...options };
  const name = parseRouterId(wanted.name ?? `router-${randomBytes(4).toString('hex')}`);
  const nats = await connectNats({ ...wanted.nats, name }, log);
  const opened: Closable[] = [nats];
  try {
    const url = await openRouter({ options: wanted, name, nats, opened, log });
    log.info({ url, name, mode: wanted.mode, parentAffinity: wanted.parentAffinity }, 'router-ready');
    return { url, name, close: () => closeAll(opened) };
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

interface Opening {
  readonly options: RouterOptions;
  readonly name: RouterId;
  readonly nats: NatsHandle;
  /** What has to be closed, the last opened first. */
  readonly opened: Closable[];
  readonly log: Log;
}

/** Wires the parts and opens them, the front last: from then on requests come. */
async function openRouter({ options, name, nats, opened, log }: Opening): Promise<string> {
  const ports = routerPorts(nats);
  const clock = systemClock;
  const metrics = new PrometheusMetrics();
  const ledger = new ClaimLedger();
  const sessions = new SessionTable({ idleMs: options.sessionIdleMs, maxSessions: options.maxSessions });
  const predictions = new PredictedIndex({ ttlMs: options.predictionTtlMs, maxBlocks: maxPredictedBlocks });
  const cooldown = new RankCooldown(coolMs);
  const pools = followEngines(ports, { ledger, sessions, predictions, cooldown }, log);
  const policy = new SharedPolicy({ mode: options.mode, parentAffinity: options.parentAffinity }, { router: name, config: ports.config, placements: ports.placements, clock, log });
  opened.unshift(pools, policy);
  await policy.start();
  await pools.start();
  opened.unshift(await hearClaims({ router: name, ledger, placements: ports.placements, metrics, clock, log }));
  opened.unshift(sweeper(() => [sessions.expire(clock.nowMs()), predictions.expire(clock.nowMs())]));
  const knowledge = { pools, predictions, ledger, sessions };
  const tokenizer = await routerTokenizer(options.tokenizer, { control: ports.control, pools, log });
  opened.unshift(tokenizer);
  const deps = { ...knowledge, router: name, placements: ports.placements, metrics, clock, tokenizer, transport: ports.transport, cooldown, policy: () => policy.current, random: Math.random, log };
  const view = new RouterOverview({ ...knowledge, policy, connected: () => nats.connected, counters: () => ({ ...pools.counters, ...nats.counters, ...tokenizer.counters, predictedBlocksDropped: predictions.droppedBlocks, bindingsDropped: sessions.dropped }) });
  const front = await startHttpFront(options, { router: new RouteRequest(deps, options), view, placements: ports.placements, metrics, log });
  opened.unshift(front);
  return front.url;
}

interface ForgottenWith {
  readonly ledger: ClaimLedger;
  readonly sessions: SessionTable;
  readonly predictions: PredictedIndex;
  readonly cooldown: RankCooldown;
}

/** Whatever is known of a worker goes with it, and what its engine stores confirms what was predicted. */
function followEngines(ports: RouterPorts, { ledger, sessions, predictions, cooldown }: ForgottenWith, log: Log): EngineFollower {
  const pools = new EngineFollower({ ...ports, clock: systemClock, log, random: Math.random });
  pools.onWorkerGone((_pool, { worker, ranks }) => {
    const claims = ledger.releaseWorker(worker);
    const bindings = sessions.invalidateWorker(worker);
    for (const rank of ranks) predictions.removeRank({ worker, rank });
    cooldown.forgetWorker(worker);
    log.info({ worker, claims, bindings }, 'worker-forgotten');
  });
  pools.onStored((_pool, id, hashes) => predictions.confirm(id, hashes));
  return pools;
}

const sweepMs = 1_000;

function sweeper(sweep: () => void): Closable {
  const stop = systemClock.every(sweepMs, sweep);
  return { close: () => Promise.resolve(stop()) };
}
