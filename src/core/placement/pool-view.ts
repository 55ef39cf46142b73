import type { RankId } from '../identity/ids.ts';
import type { LivePolicy, RankView } from './placement.ts';

/** Where a request's session, its parent's session and its siblings' group are bound, or about to be; null: nowhere. */
export interface Bindings {
  readonly own: RankId | null;
  readonly parent: RankId | null;
  readonly siblings: RankId | null;
}

export const noBindings: Bindings = { own: null, parent: null, siblings: null };

/** Above which a rank takes nothing more; null: no such limit. What is asked for now does not count: an idle rank takes any prompt. */
export interface RankLimits {
  readonly prefillTokens: number | null;
  readonly requests: number | null;
}

/** A pool at the moment of one placement. `place` changes nothing of it. */
export interface PoolView {
  readonly ranks: readonly RankView[];
  readonly blockSize: number;
  readonly policy: LivePolicy;
  readonly bindings: Bindings;
  /** How many placements went before this one, for round-robin. */
  readonly roundRobin: number;
  /** Left out: none. */
  readonly limits?: RankLimits;
}
