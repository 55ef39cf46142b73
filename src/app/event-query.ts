import type { Isolation } from '../core/identity/chain-seed.ts';

/** A prompt of which is asked how much of it an engine holds. */
export interface EventQuery {
  readonly tokens: readonly number[];
  /** Null: whichever rank holds most of it. */
  readonly rank: number | null;
  readonly isolation: Isolation;
  /** Asked when this many published messages have come; null: after all. */
  readonly afterMessages: number | null;
  /** Why events can't answer it (they don't name what keeps its cache apart); null where they can. */
  readonly unanswerable: string | null;
  /** Tokens that the engine itself said it had, where the query's source knows. */
  readonly engineTokens: number | null;
}

export interface EventAnswer {
  /** How many the prompt has. */
  readonly tokens: number;
  readonly rank: number;
  /** Leading whole blocks that are held. */
  readonly blocks: number;
  /** Of these, what a prompt can reuse: the last token is always computed, and pages are reused whole. */
  readonly reusableBlocks: number;
  /** What the engine itself said, in whole blocks; null where not known. */
  readonly engineBlocks: number | null;
  /** Null where the answer is one. */
  readonly unanswerable: string | null;
}
