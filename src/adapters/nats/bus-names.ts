import { RouterError } from '../../core/router-error.ts';
import type { PoolId, RankId, WorkerId } from '../../core/identity/ids.ts';
import { parseDpRank, parsePoolId, parseWorkerId } from '../../core/identity/ids.ts';

export const defaultPrefix = 'kin.v1';

/** The names of the streams and buckets of a deployment. */
export interface StreamNames {
  readonly kv: string;
  readonly load: string;
  readonly placement: string;
  readonly workers: string;
  readonly sessions: string;
  readonly config: string;
}

/** Every subject of the bus, in one place. `*` in what is subscribed to stands for one token. */
export interface BusNames {
  readonly prefix: string;
  readonly streams: StreamNames;
  kv(pool: PoolId, id: RankId): string;
  kvOfPool(pool: PoolId): string;
  load(pool: PoolId, id: RankId): string;
  loadOfPool(pool: PoolId): string;
  request(pool: PoolId, id: RankId): string;
  control(pool: PoolId, worker: WorkerId): string;
  /** Who holds a worker's name answers here. */
  life(pool: PoolId, worker: WorkerId): string;
  /** Credit and cancellation of one running request; `token` is `*` for the agent's subscription. */
  flow(pool: PoolId, worker: WorkerId, token: string): string;
  placement(pool: string, worker: string, event: string): string;
  placementsOf(pool: string | null): string;
}

const prefixPattern = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;

/** Throws `bad-config` for a prefix that is no NATS subject. */
export function busNames(prefix: string = defaultPrefix): BusNames {
  if (!prefixPattern.test(prefix)) throw new RouterError('bad-config', `prefix ${JSON.stringify(prefix)} is no NATS subject: use letters, digits, _ or - between dots`);
  const of = (...tokens: readonly (string | number)[]): string => [prefix, ...tokens].join('.');
  return {
    prefix,
    streams: streamNames(prefix),
    kv: (pool, id) => of('kv', pool, id.worker, id.rank),
    kvOfPool: (pool) => of('kv', pool, '>'),
    load: (pool, id) => of('load', pool, id.worker, id.rank),
    loadOfPool: (pool) => of('load', pool, '>'),
    request: (pool, id) => of('req', pool, id.worker, id.rank),
    control: (pool, worker) => of('ctl', pool, worker),
    life: (pool, worker) => of('ctl', pool, worker, 'life'),
    flow: (pool, worker, token) => of('ctl', pool, worker, 'flow', token),
    placement: (pool, worker, event) => of('placement', subjectToken(pool), subjectToken(worker), event),
    placementsOf: (pool) => (pool === null ? of('placement', '>') : of('placement', subjectToken(pool), '>')),
  };
}

/** `kin.v1` -> KIN_KV and so on: deployments with other prefixes share a server without sharing streams. */
function streamNames(prefix: string): StreamNames {
  const base = prefix.replace(/\.v1$/, '').replace(/[^A-Za-z0-9]/g, '_').toUpperCase();
  const name = (what: string): string => `${base}_${what}`;
  return { kv: name('KV'), load: name('LOAD'), placement: name('PLACEMENT'), workers: name('WORKERS'), sessions: name('SESSIONS'), config: name('CONFIG') };
}

/** Makes one token of anything: names that clients chose may hold dots, spaces or wildcards. */
export function subjectToken(text: string): string {
  return text === '' ? '-' : text.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64);
}

/** Of a subject that ends in `<pool>.<worker>.<rank>`; null where those are not ours. */
export function parseRankSubject(subject: string): { readonly pool: PoolId; readonly id: RankId } | null {
  const [pool = '', worker = '', rank = ''] = subject.split('.').slice(-3);
  if (!/^\d{1,5}$/.test(rank)) return null;
  try {
    return { pool: parsePoolId(pool), id: { worker: parseWorkerId(worker), rank: parseDpRank(Number(rank)) } };
  } catch {
    // A subject that nobody of ours publishes on; the caller counts it.
    return null;
  }
}
