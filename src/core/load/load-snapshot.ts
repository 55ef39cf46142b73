import type { RankId } from '../identity/ids.ts';

/** What a rank last reported of itself, and when; without our claims. Missing figures are null, not 0. */
export interface LoadSnapshot {
  readonly id: RankId;
  readonly runningRequests: number | null;
  readonly waitingRequests: number | null;
  /** Tokens in use and in all, of the engine's KV cache. */
  readonly usedTokens: number | null;
  readonly capacityTokens: number | null;
  readonly maxRunningRequests: number | null;
  /** Prompt tokens waiting to be computed. */
  readonly waitingUncachedTokens: number | null;
  /** Blocks that the agent follows for this rank. */
  readonly heldBlocks: number;
}
