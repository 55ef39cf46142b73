import type { DpRank } from '../../core/identity/ids.ts';
import { RouterError } from '../../core/router-error.ts';
import type { RankEventEndpoints } from '../../ports/engine.ts';

/** A `tcp://host:port` as configured at an engine, before wildcards are replaced. */
export interface TcpEndpoint {
  readonly host: string;
  readonly port: number;
}

/** Throws `bad-config` for what is no `tcp://host:port`: `ipc://` works within one machine's engine only. */
export function parseTcpEndpoint(text: string): TcpEndpoint {
  const match = /^tcp:\/\/(.+):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match?.[1] !== undefined && port > 0 && port <= 65_535) return { host: match[1], port };
  throw new RouterError('bad-config', `event endpoint ${JSON.stringify(text)} is not tcp://host:port: start the engine with a tcp:// endpoint`);
}

/** An engine's publisher binds where its endpoint says "every address"; at a concrete address it connects. */
export const isWildcard = (host: string): boolean => host === '*' || host.includes('::');

/** Also what nobody can connect to: the engine's own host stands for it. */
const isUnspecified = (host: string): boolean => ['*', '0.0.0.0', '::', '[::]'].includes(host);

const reachable = (host: string, engineHost: string): string => (isUnspecified(host) ? engineHost : host);

/** A bound socket takes an address of this machine; a name is none, so it listens on all of them. */
const bindable = (host: string): string => {
  if (host === 'localhost') return '127.0.0.1';
  return isUnspecified(host) || !/^[\d.]+$/.test(host) ? '*' : host;
};

export interface EventSockets {
  readonly kv: TcpEndpoint;
  /** The engine's publisher connects, so the agent has to bind. */
  readonly bind: boolean;
  readonly replay: TcpEndpoint | null;
  readonly engineHost: string;
}

/** Rank r publishes at the base port plus r, and answers replay likewise. */
export function endpointsOfRank(rank: DpRank, sockets: EventSockets): RankEventEndpoints {
  const { kv, bind, replay, engineHost } = sockets;
  const host = bind ? bindable(kv.host) : reachable(kv.host, engineHost);
  const replayEndpoint = replay === null ? null : `tcp://${reachable(replay.host, engineHost)}:${replay.port + rank}`;
  return { rank, endpoint: `tcp://${host}:${kv.port + rank}`, bind, replayEndpoint };
}
