import { RouterError } from '../router-error.ts';

declare const brand: unique symbol;
export type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** An engine process with its agent. One NATS subject token. */
export type WorkerId = Brand<string, 'WorkerId'>;
/** One data-parallel rank of a worker, from 0. */
export type DpRank = Brand<number, 'DpRank'>;
/** The workers that serve one model. One NATS subject token. */
export type PoolId = Brand<string, 'PoolId'>;
export type RouterId = Brand<string, 'RouterId'>;
export type RequestId = Brand<string, 'RequestId'>;
/** A conversation, as the client names it: at most 256 bytes, compared for equality only. */
export type SessionId = Brand<string, 'SessionId'>;
/** Whose session it is; one tenant cannot reach another's. */
export type TenantId = Brand<string, 'TenantId'>;
/** One life of a rank's cache as its agent has followed it; a restart of either begins a new one. */
export type Epoch = Brand<string, 'Epoch'>;
/** `worker/rank`, to key maps with. */
export type RankKey = Brand<string, 'RankKey'>;

/** What holds blocks, carries load and is placed on. */
export interface RankId {
  readonly worker: WorkerId;
  readonly rank: DpRank;
}

const subjectToken = /^[A-Za-z0-9_-]{1,64}$/;

/** Ids that become NATS subject tokens: 1 to 64 letters, digits, `_` or `-`. Throws `bad-config`. */
function parseToken(text: string, what: string): string {
  if (subjectToken.test(text)) return text;
  throw new RouterError('bad-config', `${what} ${JSON.stringify(text.slice(0, 80))} is not usable in a NATS subject: use 1 to 64 letters, digits, _ or -`);
}

export const parseWorkerId = (text: string): WorkerId => parseToken(text, 'worker name') as WorkerId;
export const parsePoolId = (text: string): PoolId => parseToken(text, 'pool name') as PoolId;
export const parseRouterId = (text: string): RouterId => parseToken(text, 'router name') as RouterId;
export const requestId = (text: string): RequestId => text as RequestId;
export const epoch = (text: string): Epoch => text as Epoch;
export const tenantId = (text: string): TenantId => text as TenantId;

/** Throws `bad-config` unless it is a whole number from 0 to 65,535. */
export function parseDpRank(value: number): DpRank {
  if (Number.isInteger(value) && value >= 0 && value <= 65_535) return value as DpRank;
  throw new RouterError('bad-config', `DP rank ${value} is not a whole number from 0 to 65535`);
}

export const rankKey = (id: RankId): RankKey => `${id.worker}/${id.rank}` as RankKey;
export const sameRank = (a: RankId, b: RankId): boolean => a.worker === b.worker && a.rank === b.rank;

const maxSessionIdBytes = 256;

/** Trimmed; blank is absent. Throws `session-id-too-long` above 256 bytes. */
export function parseSessionId(text: string): SessionId | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  const bytes = new TextEncoder().encode(trimmed).length;
  if (bytes <= maxSessionIdBytes) return trimmed as SessionId;
  throw new RouterError('session-id-too-long', `session id has ${bytes} bytes, at most ${maxSessionIdBytes} are taken: send a shorter one`);
}
