import type { RankId, RequestId, RouterId } from '../identity/ids.ts';
import type { SequenceHashes } from '../identity/sequence-hash.ts';

/** One request's hold on a rank, from placement to release. */
export interface Claim {
  readonly requestId: RequestId;
  /** The router that placed it. */
  readonly owner: RouterId;
  readonly id: RankId;
  /** Prompt tokens that are not cached there, as far as its router knew. */
  readonly prefillTokens: number;
  readonly promptTokens: number;
  /** Of the prompt's complete blocks, and not changed afterwards; null for another router's request. */
  readonly hashes: SequenceHashes | null;
  /** Complete blocks of the prompt; counts only where the hashes are not known. */
  readonly blocks: number;
}

/** What all claims on one rank add up to. */
export interface ClaimedLoad {
  readonly requests: number;
  /** Prompt tokens claimed as not cached, of requests without a first token. */
  readonly prefillTokens: number;
  /** Prompt and answer tokens of requests after their first token. */
  readonly decodeTokens: number;
  /** Blocks of all unfinished requests, shared ones once; those without hashes are taken to share nothing. */
  readonly activeBlocks: number;
  /** Leading blocks of the hashes asked about that unfinished requests there already have. */
  readonly sharedActiveBlocks: number;
}

export const nothingClaimed: ClaimedLoad = { requests: 0, prefillTokens: 0, decodeTokens: 0, activeBlocks: 0, sharedActiveBlocks: 0 };
