import type { RankId } from '../identity/ids.ts';
import type { ModeRule, ScoredRank } from './mode-rule.ts';
import { noScore } from './mode-rule.ts';
import { likelyOverlap } from './overlap.ts';

/** Baseline: one after another, in the order of their names. */
export const roundRobinMode: ModeRule = {
  overlap: likelyOverlap,
  score: () => noScore,
  choose: (ranks, _request, view) => {
    const inOrder = [...ranks].sort(byName);
    const next = inOrder[view.roundRobin % inOrder.length] ?? ranks[0];
    return { rank: next.rank, reason: 'round-robin' };
  },
};

const byName = (a: ScoredRank, b: ScoredRank): number => compareIds(a.rank.id, b.rank.id);

const compareIds = (a: RankId, b: RankId): number => (a.worker === b.worker ? a.rank - b.rank : a.worker < b.worker ? -1 : 1);
