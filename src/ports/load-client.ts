import type { LivePolicy } from '../core/placement/placement.ts';
import type { RequestOutcome } from '../core/evidence/request-outcome.ts';

/** One request to a router's `/generate`, its body already encoded so that a burst is one. */
export interface LoadRequest {
  readonly body: Uint8Array;
  readonly session: string | null;
  readonly parent: string | null;
}

/** Drives a router as a client would. */
export interface LoadClient {
  /** Resolves when the answer has ended. A request that failed is an outcome with `error`, not a rejection. */
  generate(request: LoadRequest, signal: AbortSignal): Promise<RequestOutcome>;
  close(): Promise<void>;
}

/** One rank as `GET /workers` lists it, as far as tools go by it. */
export interface ListedRank {
  readonly pool: string;
  readonly worker: string;
  readonly rank: number;
  readonly engineUrl: string;
  readonly trust: string;
  /** Requests that the router believes unfinished there. */
  readonly requests: number;
  /** Prefill tokens that the router believes not yet computed there. */
  readonly prefillTokens: number;
  readonly heldBlocks: number;
}

/** A router's own endpoints. All reject with `bus-unavailable` where it does not answer. */
export interface RouterAdmin {
  ready(signal: AbortSignal): Promise<boolean>;
  ranks(signal: AbortSignal): Promise<readonly ListedRank[]>;
  setPolicy(policy: LivePolicy, signal: AbortSignal): Promise<void>;
  policy(signal: AbortSignal): Promise<LivePolicy>;
}
