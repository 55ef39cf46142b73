import { connect, NatsError, type ConnectionOptions } from 'nats';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { Log } from '../../ports/log.ts';
import { busNames, subjectToken } from './bus-names.ts';
import { OwnedHandle, type NatsHandle } from './nats-handle.ts';

export type { NatsHandle } from './nats-handle.ts';

export interface NatsOptions {
  /** One URL, or several with commas between; `nats://user:password@host:port` where the server asks for that. */
  readonly servers: string;
  /** Who we are, for the server's lists and our inboxes. */
  readonly name: string;
  readonly prefix?: string;
  readonly workerTtlMs?: number;
  readonly replicas?: number;
}

const connectTimeoutMs = 3_000;
const defaultWorkerTtlMs = 6_000;

/** Rejects with `bus-unavailable` within seconds when no server answers, or it has no JetStream. */
export async function connectNats(options: NatsOptions, log: Log): Promise<NatsHandle> {
  const names = busNames(options.prefix);
  const connection = await connect(connectionOptions(options)).catch((error: unknown) => {
    throw connectFailure(options.servers, error);
  });
  try {
    const manager = await connection.jetstreamManager({ checkAPI: false });
    const limits = { workerTtlMs: options.workerTtlMs ?? defaultWorkerTtlMs, replicas: options.replicas ?? 1 };
    const inboxPrefix = inboxPrefixOf(options.name);
    const handle = new OwnedHandle({ connection, manager, names, inboxPrefix, limits, log });
    await handle.provision();
    log.info({ server: connection.getServer(), serverVersion: handle.serverVersion, maxPayload: handle.maxPayload }, 'nats-connected');
    return handle;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function connectionOptions(options: NatsOptions): ConnectionOptions {
  const urls = options.servers.split(',').map((server) => parseServer(server.trim()));
  const login = urls.find((url) => url.username !== '');
  return {
    servers: urls.map((url) => url.host),
    name: options.name,
    inboxPrefix: inboxPrefixOf(options.name),
    timeout: connectTimeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    // A peer that is gone without a word is noticed after pingInterval * (maxPingOut + 1).
    pingInterval: 5_000,
    maxPingOut: 2,
    // Stack traces of every request cost a third of the client's time.
    noAsyncTraces: true,
    ...(login === undefined ? {} : { user: decodeURIComponent(login.username), pass: decodeURIComponent(login.password) }),
  };
}

/** Of its own for each identity: with the common prefix any client could read any answer. */
const inboxPrefixOf = (name: string): string => `_INBOX_${subjectToken(name)}`;

function parseServer(text: string): URL {
  const address = text.includes('://') ? text : `nats://${text}`;
  if (URL.canParse(address) && new URL(address).host !== '') return new URL(address);
  throw new RouterError('bad-config', `${JSON.stringify(text)} is no NATS address, use nats://host:4222`);
}

function connectFailure(servers: string, error: unknown): RouterError {
  if (error instanceof RouterError) return error;
  const where = servers.replace(/\/\/[^@/]*@/g, '//');
  if (error instanceof NatsError && /AUTHORIZATION/i.test(error.code)) return new RouterError('bus-unavailable', `the nats-server at ${where} refuses us: put user and password into its URL`, { cause: error });
  return new RouterError('bus-unavailable', `no nats-server answers at ${where} (${messageOf(error)}): start one with "nats-server -c nats.conf", or name the right address with --nats`, { cause: error });
}
