import { randomUUID } from 'node:crypto';
import { ZmqEventSource } from '../adapters/engine-events/zmq-event-source.ts';
import { parseTcpEndpoint } from '../adapters/engine-http/event-endpoints.ts';
import { HttpEngineClient } from '../adapters/engine-http/http-engine-client.ts';
import { agentPorts } from '../adapters/nats/agent-ports.ts';
import { connectNats } from '../adapters/nats/connection.ts';
import { systemClock } from '../adapters/system/system-clock.ts';
import { EngineAgent } from '../app/serve-engine.ts';
import { poolNameOf, workerNameOf } from '../core/identity/derived-names.ts';
import type { PoolId, WorkerId } from '../core/identity/ids.ts';
import { epoch, parsePoolId, parseWorkerId } from '../core/identity/ids.ts';
import { RouterError } from '../core/router-error.ts';
import type { EngineDescription } from '../ports/engine.ts';
import type { Closable } from '../ports/kv-bus.ts';
import type { Log } from '../ports/log.ts';
import { closeAll } from './close-all.ts';

export interface WorkerOptions {
  readonly engineUrl: string;
  readonly nats: { readonly servers: string; readonly prefix?: string };
  /** By default named after the engine's model. */
  readonly pool?: string;
  /** By default named after the engine's host and port. */
  readonly name?: string;
  /** Tokens a block of the pool: one number for all its workers. */
  readonly blockSize?: number;
  /** By default found out. */
  readonly engineKind?: 'sglang' | 'vllm';
  /** Rank 0's event socket, `tcp://host:port`; a host of `*` lets the engine connect to us. By default the engine says. */
  readonly kvEndpoint?: string;
  readonly replayEndpoint?: string;
  /** Tokens a page, where the engine does not say, or says otherwise. */
  readonly pageSize?: number;
  /** Token ids are below this: routers refuse others. By default read from the model's `config.json`, where that is here. */
  readonly vocabSize?: number;
  /** Leaves SGLang's `extra_key` as it is. */
  readonly keepExtraKey?: boolean;
  readonly apiKey?: string;
  readonly loadPeriodMs?: number;
  /** How long running requests may go on when it is closed. */
  readonly drainMs?: number;
}

export const workerDefaults = { blockSize: 64, loadPeriodMs: 500, drainMs: 10_000 } as const;

export interface RunningWorker {
  readonly pool: string;
  readonly worker: string;
  close(): Promise<void>;
}

const describePatienceMs = 10_000;

/**
 * Starts the agent beside one engine; resolves when it is registered. Rejects with `engine-unreachable`,
 * `bus-unavailable`, or `bad-config` (no engine we know, sizes that don't fit, a name that is taken).
 */
export async function startWorker(options: WorkerOptions, log: Log): Promise<RunningWorker> {
  const engine = engineClient(options, log);
  const opened: Closable[] = [engine];
  try {
    const pool = poolOf(options, await engine.describe(AbortSignal.timeout(describePatienceMs)));
    const worker = workerOf(options);
    const nats = await connectNats({ ...options.nats, name: `worker-${worker}` }, log);
    opened.unshift(nats);
    const ports = agentPorts(nats);
    opened.unshift(ports.kv);
    const { engineUrl, blockSize = workerDefaults.blockSize, loadPeriodMs = workerDefaults.loadPeriodMs } = options;
    const deps = { ...ports, engine, source: new ZmqEventSource(log), clock: systemClock, log, newEpoch: () => epoch(randomUUID()) };
    const agent = new EngineAgent({ engineUrl, pool, worker, blockSize, loadPeriodMs }, deps);
    await agent.start();
    opened.unshift({ close: () => agent.close(AbortSignal.timeout(options.drainMs ?? workerDefaults.drainMs)) });
    return { pool, worker, close: () => closeAll(opened) };
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

function engineClient(options: WorkerOptions, log: Log): HttpEngineClient {
  const { engineUrl: url, apiKey = null, engineKind: kind = null, keepExtraKey = false, pageSize = null, vocabSize = null, kvEndpoint, replayEndpoint } = options;
  const endpoint = (text: string | undefined): ReturnType<typeof parseTcpEndpoint> | null => (text === undefined ? null : parseTcpEndpoint(text));
  const overrides = { pageSize, vocabSize, kvEndpoint: endpoint(kvEndpoint), replayEndpoint: endpoint(replayEndpoint) };
  return new HttpEngineClient({ url, apiKey, kind, keepExtraKey, overrides }, log);
}

function poolOf({ pool, engineUrl }: WorkerOptions, description: EngineDescription): PoolId {
  if (pool !== undefined) return parsePoolId(pool);
  const [model] = description.models;
  if (model === undefined) throw new RouterError('bad-config', `engine ${engineUrl} names no model: name its pool with --pool`);
  return poolNameOf(model);
}

const workerOf = ({ name, engineUrl }: WorkerOptions): WorkerId => (name === undefined ? workerNameOf(new URL(engineUrl).host) : parseWorkerId(name));
