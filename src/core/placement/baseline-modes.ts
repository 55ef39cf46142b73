import type { RankId } from '../identity/ids.ts';
import { lowestCost } from './lowest.ts';
import type { ModeRule } from './mode-rule.ts';
import { noScore } from './mode-rule.ts';
import { likelyOverlap } from './overlap.ts';
import { workAhead } from './work-ahead.ts';

/*
 * The baselines: they place without regard to what is cached where, which is only reported and claimed by.
 */

/** One after another, in the order of their names. */
export const roundRobinMode: ModeRule = {
  overlap: likelyOverlap,
  score: () => noScore,
  choose: (ranks, _request, view) => {
    const inOrder = [...ranks].sort((a, b) => compareIds(a.rank.id, b.rank.id));
    const next = inOrder[view.roundRobin % inOrder.length] ?? ranks[0];
    return { rank: next.rank, reason: 'round-robin' };
  },
};

/** Any, with equal chance. */
export const randomMode: ModeRule = {
  overlap: likelyOverlap,
  score: () => noScore,
  choose: (ranks, _request, _view, breakTie) => ({ rank: breakTie(ranks).rank, reason: 'random' }),
};

/** Where the least work is ahead. */
export const leastLoadedMode: ModeRule = {
  overlap: likelyOverlap,
  score: (rank, _request, blockSize) => workAhead(rank, blockSize),
  choose: (ranks, _request, _view, breakTie) => ({ rank: lowestCost(ranks, breakTie).rank, reason: 'least-loaded' }),
};

function compareIds(a: RankId, b: RankId): number {
  if (a.worker === b.worker) return a.rank - b.rank;
  return a.worker < b.worker ? -1 : 1;
}
