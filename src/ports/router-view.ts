import type { RankId, PoolId } from '../core/identity/ids.ts';
import type { ClaimedLoad } from '../core/load/claim.ts';
import type { LoadSnapshot } from '../core/load/load-snapshot.ts';
import type { LivePolicy } from '../core/placement/placement.ts';

/**
 * How far a router trusts what events say of a rank's cache. `partial`: its agent came too late to have seen everything
 * stored, so it holds at least what it is credited with. `untrusted`: batches are missing until a snapshot comes.
 */
export type RankTrust = 'trusted' | 'untrusted' | 'partial' | 'without-events';

/** One rank as `GET /workers` lists it. */
export interface RankStatus {
  readonly pool: PoolId;
  readonly id: RankId;
  readonly engineUrl: string;
  readonly engineKind: string;
  readonly engineVersion: string;
  readonly models: readonly string[];
  readonly draining: boolean;
  readonly trust: RankTrust;
  readonly heldBlocks: number;
  /** What the engine last said, and how long ago; null: nothing yet. */
  readonly reported: LoadSnapshot | null;
  readonly reportAgeMs: number | null;
  readonly claimed: ClaimedLoad;
}

export interface ServedModel {
  readonly id: string;
  readonly pool: PoolId;
  readonly contextLength: number | null;
}

export interface Readiness {
  readonly ready: boolean;
  /** What is missing, in words; null when ready. */
  readonly why: string | null;
  readonly ranks: number;
  /** Ranks whose blocks are known as a whole. */
  readonly trustedRanks: number;
  /** Ranks whose blocks are still being asked for: they serve by load and prediction meanwhile. */
  readonly untrustedRanks: number;
}

/** A router as its operators look at it. */
export interface RouterView {
  readiness(): Readiness;
  ranks(): readonly RankStatus[];
  models(): readonly ServedModel[];
  policy(): LivePolicy;
  /** For all routers of the deployment; resolves when this one has it too. */
  setPolicy(policy: LivePolicy): Promise<void>;
  /** Sums to be read off now. */
  gauges(): { readonly claims: number; readonly sessions: number; readonly predictions: number };
  /** What was counted elsewhere since the start, by name: gaps, snapshots, dropped messages. */
  counters(): Readonly<Record<string, number>>;
}
