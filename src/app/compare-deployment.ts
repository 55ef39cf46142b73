import type { LoadClient, RouterAdmin } from '../ports/load-client.ts';
import type { PlacementFollower } from '../ports/placement-bus.ts';

/** A running pool that a comparison drives: its router's front, and what the engines have evicted so far. */
export interface Deployment {
  readonly client: LoadClient;
  readonly admin: RouterAdmin;
  readonly placements: PlacementFollower;
  /** KV tokens that the engines have evicted since they started; null where they do not say. */
  evictedTokens(signal: AbortSignal): Promise<number | null>;
  close(): Promise<void>;
}
