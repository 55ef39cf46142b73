import { startNatsServer } from '../adapters/system/nats-server.ts';
import { systemClock } from '../adapters/system/system-clock.ts';
import { HttpRouterAdmin } from '../adapters/load-client/http-router-admin.ts';
import { switchPolicy } from '../app/compare-idle-pool.ts';
import { pause } from '../app/pause.ts';
import type { ParentAffinity, PlacementMode } from '../core/placement/placement.ts';
import { messageOf, RouterError } from '../core/router-error.ts';
import type { Closable } from '../ports/kv-bus.ts';
import type { ListedRank } from '../ports/load-client.ts';
import type { Log } from '../ports/log.ts';
import { engineDefaults, startEngine } from './start-engine.ts';
import { startRouter } from './start-router.ts';
import { startWorker } from './start-worker.ts';

export interface UpOptions {
  /** Simulated engines to start; ignored where `engineUrls` names engines that are already there. */
  readonly engines: number;
  readonly engineUrls: readonly string[];
  readonly routers: number;
  readonly mode: PlacementMode;
  readonly parentAffinity: ParentAffinity;
  readonly host: string;
  /** The first router's; the others take the ports after it. 0: a free one each. */
  readonly port: number;
  /** A NATS server that is already there; null starts one of our own. */
  readonly nats: string | null;
  /** Tokens a block; null takes the agents' default. */
  readonly blockSize: number | null;
  readonly pageSize: number;
  readonly engineKvTokens: number;
  readonly contextLength: number;
  readonly dpSize: number;
  /** How much faster than the modelled GPU the simulated engines run. */
  readonly speed: number;
}

export const upDefaults: UpOptions = {
  engines: 4,
  engineUrls: [],
  routers: 1,
  mode: 'event',
  parentAffinity: 'off',
  host: '127.0.0.1',
  port: 0,
  nats: null,
  blockSize: null,
  pageSize: 1,
  engineKvTokens: 430_000,
  contextLength: 262_144,
  dpSize: 1,
  speed: 1,
};

/** A whole deployment in this process, NATS server aside. */
export interface RunningUp extends Closable {
  readonly routers: readonly { readonly url: string }[];
  readonly engines: readonly { readonly url: string }[];
  readonly workers: readonly { readonly pool: string; readonly worker: string; readonly engineUrl: string }[];
  readonly nats: { readonly url: string };
}

const registerPatienceMs = 60_000;
/** An engine whose blocks can't be learned still serves, by load and prediction: it is waited for no longer. */
const trustPatienceMs = 10_000;
const pollMs = 50;

/** What is running, in the order in which it has to stop: fronts first, the bus last. */
class Started {
  readonly routers: Closable[] = [];
  readonly workers: Closable[] = [];
  readonly engines: Closable[] = [];
  readonly nats: Closable[] = [];

  /** Stops all of it, also when some of it fails to; the first failure is thrown at the end. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const group of [this.routers, this.workers, this.engines, this.nats]) {
      const results = await Promise.allSettled(group.splice(0).map((part) => part.close()));
      failures.push(...results.filter((result) => result.status === 'rejected').map((result): unknown => result.reason));
    }
    if (failures.length > 0) throw failures[0];
  }
}

/**
 * Starts a NATS server, engines, an agent before each, and routers; resolves when every router serves every worker.
 * Rejects with the first failure (`port-in-use` names the flag) after stopping what had started.
 */
export async function startUp(options: Partial<UpOptions>, log: Log): Promise<RunningUp> {
  const wanted: UpOptions = { ...upDefaults, ...options };
  const started = new Started();
  try {
    return await startAll(wanted, started, log);
  } catch (error) {
    await started.close().catch((cause: unknown) => log.warn({ error: messageOf(cause) }, 'stop-failed'));
    throw error;
  }
}

async function startAll(options: UpOptions, started: Started, log: Log): Promise<RunningUp> {
  const natsUrl = options.nats ?? (await startNats(started, log));
  const routers = await startRouters(options, natsUrl, started, log);
  const engineUrls = options.engineUrls.length > 0 ? options.engineUrls : await startEngines(options, started, log);
  const workers = await startWorkers(engineUrls, { options, natsUrl, started, log });
  await Promise.all(routers.map((router) => untilServing(router.url, { workers: workers.map((worker) => worker.worker), options })));
  return { routers, engines: engineUrls.map((url) => ({ url })), workers, nats: { url: natsUrl }, close: () => started.close() };
}

async function startNats(started: Started, log: Log): Promise<string> {
  const server = await startNatsServer({}, log);
  started.nats.push({ close: () => server.stop() });
  return server.url;
}

/** One after another, so that the first port in use is the one that is named. */
async function startRouters(options: UpOptions, natsUrl: string, started: Started, log: Log): Promise<{ readonly url: string }[]> {
  const urls: { readonly url: string }[] = [];
  for (let index = 0; index < options.routers; index++) {
    const port = options.port === 0 ? 0 : options.port + index;
    const { mode, parentAffinity, host } = options;
    // Beside routers of others a plain number could be a name twice, and each would take the other's claims for its own.
    const name = options.nats === null ? `r${index + 1}` : null;
    const router = await startRouter({ nats: { servers: natsUrl }, name, host, port, mode, parentAffinity }, log).catch((error: unknown) => {
      throw portNamed(error, { port, index, options });
    });
    started.routers.push(router);
    urls.push({ url: router.url });
  }
  return urls;
}

function portNamed(error: unknown, at: { readonly port: number; readonly index: number; readonly options: UpOptions }): unknown {
  if (!(error instanceof RouterError) || error.code !== 'port-in-use') return error;
  const { port, index, options } = at;
  const which = options.routers === 1 ? '--port' : `router ${index + 1} of ${options.routers}: --port ${options.port} plus ${index}`;
  return new RouterError('port-in-use', `port ${port} is in use (${which}): give another --port`, { cause: error });
}

async function startEngines(options: UpOptions, started: Started, log: Log): Promise<string[]> {
  const { pageSize, engineKvTokens: kvTokens, dpSize, speed, contextLength, host } = options;
  const one = async (): Promise<string> => {
    const engine = await startEngine({ host, pageSize, kvTokens, dpSize, speed, contextLength }, log);
    started.engines.push(engine);
    return engine.url;
  };
  return allOf(Array.from({ length: options.engines }, one));
}

interface WorkerWork {
  readonly options: UpOptions;
  readonly natsUrl: string;
  readonly started: Started;
  readonly log: Log;
}

function startWorkers(engineUrls: readonly string[], { options, natsUrl, started, log }: WorkerWork): Promise<{ pool: string; worker: string; engineUrl: string }[]> {
  const one = async (engineUrl: string, index: number): Promise<{ pool: string; worker: string; engineUrl: string }> => {
    const size = options.blockSize === null ? {} : { blockSize: options.blockSize };
    // A simulated model has no folder that an agent could read its vocabulary from.
    const vocabulary = options.engineUrls.length > 0 ? {} : { vocabSize: engineDefaults.vocabSize };
    const worker = await startWorker({ engineUrl, nats: { servers: natsUrl }, name: `w${index + 1}`, ...size, ...vocabulary }, log);
    started.workers.push(worker);
    return { pool: worker.pool, worker: worker.worker, engineUrl };
  };
  return allOf(engineUrls.map(one));
}

/** Waits for all of them, so that none starts unseen after another has failed. */
async function allOf<T>(starting: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(starting);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

/** On a NATS server of others a mode may be in force that was set for all routers before: ours is put in its place. */
async function untilServing(routerUrl: string, { workers, options }: { readonly workers: readonly string[]; readonly options: UpOptions }): Promise<void> {
  const admin = new HttpRouterAdmin(routerUrl);
  const signal = AbortSignal.timeout(registerPatienceMs);
  try {
    const listed = async (): Promise<readonly ListedRank[]> => admin.ranks(signal);
    const registered = (ranks: readonly ListedRank[]): boolean => workers.every((worker) => ranks.some((rank) => rank.worker === worker));
    while (!registered(await listed()) || !(await admin.ready(signal))) await pause(pollMs, systemClock, signal);
    const patientUntilMs = systemClock.nowMs() + trustPatienceMs;
    while (!(await listed()).every(isFollowed) && systemClock.nowMs() < patientUntilMs) await pause(pollMs, systemClock, signal);
    if (options.nats !== null) await switchPolicy(admin, { mode: options.mode, parentAffinity: options.parentAffinity }, systemClock, signal);
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new RouterError('deadline-exceeded', `router ${routerUrl} does not serve ${workers.join(', ')} after ${registerPatienceMs / 1_000} s`, { cause });
  } finally {
    await admin.close();
  }
}

/** `untrusted` is a rank whose blocks the router is still asking for. */
const isFollowed = (rank: ListedRank): boolean => rank.trust !== 'untrusted';
