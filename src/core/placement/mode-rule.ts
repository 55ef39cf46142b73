import type { PlacementReason, PlacementRequest, RankView } from './placement.ts';
import type { KnownOverlap } from './overlap.ts';
import type { PoolView } from './pool-view.ts';

/** What a rank costs in one mode: lower is better; null where the mode does not weigh. */
export interface Score {
  readonly cost: number | null;
  /** The cost's summands, in blocks. */
  readonly terms: Readonly<Record<string, number>>;
}

export const noScore: Score = { cost: null, terms: {} };

export interface ScoredRank {
  readonly rank: RankView;
  readonly score: Score;
}

/** One or more ranks: what a mode chooses from. */
export type ScoredRanks = readonly [ScoredRank, ...ScoredRank[]];

/** Chooses among equals: by injected randomness, or by a hash where nothing may be drawn. */
export type TieBreak = (tied: ScoredRanks) => ScoredRank;

export interface RankChoice {
  readonly rank: RankView;
  readonly reason: PlacementReason;
}

/** One placement mode: what it knows of a rank, what a rank costs by that, and which it takes. */
export interface ModeRule {
  overlap(rank: RankView): KnownOverlap;
  score(rank: RankView, request: PlacementRequest, blockSize: number): Score;
  choose(ranks: ScoredRanks, request: PlacementRequest, view: PoolView, breakTie: TieBreak): RankChoice;
}

export function isSome(ranks: readonly ScoredRank[]): ranks is ScoredRanks {
  return ranks.length > 0;
}
