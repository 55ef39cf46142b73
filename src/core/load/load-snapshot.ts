import type { RankId } from '../identity/ids.ts';

/** What an engine says of one rank's load. Missing figures are null, not 0. */
export interface ReportedLoad {
  readonly runningRequests: number | null;
  readonly waitingRequests: number | null;
  /** Tokens in use and in all, of the engine's KV cache. */
  readonly usedTokens: number | null;
  readonly capacityTokens: number | null;
  readonly maxRunningRequests: number | null;
  /** Prompt tokens waiting to be computed. */
  readonly waitingUncachedTokens: number | null;
}

/** What a rank last reported of itself; without our claims. */
export interface LoadSnapshot extends ReportedLoad {
  readonly id: RankId;
  /** Blocks that the agent follows for this rank. */
  readonly heldBlocks: number;
}
