import type { DpRank, PoolId, RankId, RequestId, SessionId, TenantId, WorkerId } from '../identity/ids.ts';
import type { SequenceHashes } from '../identity/sequence-hash.ts';

export const placementModes = ['event', 'predicted', 'affinity', 'round-robin', 'random', 'least-loaded'] as const;
/** Where a placement's knowledge comes from; the last three are baselines that ignore it. */
export type PlacementMode = (typeof placementModes)[number];

export const parentAffinities = ['off', 'parent', 'siblings'] as const;
/** How affinity places an unbound child. */
export type ParentAffinity = (typeof parentAffinities)[number];

/** What all routers do now; changes live through `KIN_CONFIG`. */
export interface LivePolicy {
  readonly mode: PlacementMode;
  readonly parentAffinity: ParentAffinity;
}

/** Who asks: a session of a tenant, and the session it branched from. */
export interface SessionRef {
  readonly tenant: TenantId;
  readonly session: SessionId;
  readonly parent: SessionId | null;
}

/** Where the client wants it, by header; `rank` null is any of the worker's. */
export interface ExplicitTarget {
  readonly worker: WorkerId;
  readonly rank: DpRank | null;
}

/** One request as placement sees it. */
export interface PlacementRequest {
  readonly id: RequestId;
  readonly pool: PoolId;
  readonly session: SessionRef | null;
  readonly target: ExplicitTarget | null;
  /** Null where the router cannot know the tokens: then overlap is never guessed. */
  readonly promptTokens: number | null;
  /** Of the prompt's complete blocks; empty where tokens are unknown. */
  readonly hashes: SequenceHashes;
  /** Ranks that already failed this request. */
  readonly excluded: readonly RankId[];
}

/** One rank as placement sees it: what is known at this moment. */
export interface RankView {
  readonly id: RankId;
  readonly draining: boolean;
  /** Its events tell what it holds of this request; otherwise event overlap is not counted for it. */
  readonly trusted: boolean;
  /** Tokens of its engine's pages: only whole ones are reused. */
  readonly pageSize: number;
  /** Leading blocks that the engine's events say it holds. */
  readonly eventBlocks: number;
  /** Leading blocks that placements still remembered promise. */
  readonly predictedBlocks: number;
  readonly load: RankLoad;
}

/** Claims of all routers since, beside what the rank reported; zero when nothing runs. */
export interface RankLoad {
  /** Placed and not finished, by our and the others' claims. */
  readonly requests: number;
  /** Prompt tokens claimed as not cached, of requests without a first token. */
  readonly prefillTokens: number;
  /** Prompt and answer tokens of requests after their first token. */
  readonly decodeTokens: number;
  /** Blocks of all unfinished requests, shared ones once. */
  readonly activeBlocks: number;
  /** Blocks of this request that unfinished requests on the rank already have. */
  readonly sharedActiveBlocks: number;
  /** As last reported by the engine, null where it has not. */
  readonly reportedRunning: number | null;
  readonly reportedWaiting: number | null;
}

export type OverlapSource = 'events' | 'predicted' | 'none';

/** Why this rank: each is one branch of one mode. */
export type PlacementReason =
  | 'explicit-target'
  | 'lowest-cost'
  | 'bound-session'
  | 'parent'
  | 'sibling-group'
  | 'new-session'
  | 'least-loaded'
  | 'round-robin'
  | 'random';

export type RejectReason = 'no-worker' | 'all-overloaded' | 'rank-not-allowed';

/** A candidate's figures, enough to work out the decision by hand. */
export interface Candidate {
  readonly id: RankId;
  readonly eligible: boolean;
  /** Why not, where not eligible. */
  readonly why: 'draining' | 'failed-before' | 'overloaded' | 'not-targeted' | null;
  readonly trusted: boolean;
  readonly eventBlocks: number;
  readonly predictedBlocks: number;
  readonly load: RankLoad;
  /** Lowest wins; null in modes that do not weigh. */
  readonly cost: number | null;
  /** The cost's summands, in blocks. */
  readonly terms: Readonly<Record<string, number>>;
}

export interface Choice {
  readonly id: RankId;
  readonly reason: PlacementReason;
  readonly overlapBlocks: number;
}

/** What each mode would have chosen, for the comparison on live traffic. */
export type Shadow = Readonly<Record<'event' | 'predicted' | 'affinity', Choice | null>>;

export type Placement =
  | {
      readonly kind: 'placed';
      readonly id: RankId;
      readonly mode: PlacementMode;
      readonly reason: PlacementReason;
      readonly overlapBlocks: number;
      readonly overlapSource: OverlapSource;
      readonly candidates: readonly Candidate[];
      readonly shadow: Shadow;
    }
  | { readonly kind: 'rejected'; readonly reason: RejectReason; readonly candidates: readonly Candidate[] };
