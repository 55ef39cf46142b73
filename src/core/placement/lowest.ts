import type { ScoredRank, ScoredRanks, TieBreak } from './mode-rule.ts';
import { isSome } from './mode-rule.ts';

/** All that have the least of what `of` says; at least one. */
export function allLowest(ranks: ScoredRanks, of: (rank: ScoredRank) => number): ScoredRanks {
  const least = ranks.reduce((lowest, rank) => Math.min(lowest, of(rank)), Number.POSITIVE_INFINITY);
  const tied = ranks.filter((rank) => of(rank) === least);
  return isSome(tied) ? tied : ranks;
}

/** The cost a mode gave; a rank without one comes last. */
export const costOf = ({ score }: ScoredRank): number => score.cost ?? Number.POSITIVE_INFINITY;

/** The one with the lowest cost; exact ties are broken. */
export const lowestCost = (ranks: ScoredRanks, breakTie: TieBreak): ScoredRank => breakTie(allLowest(ranks, costOf));
