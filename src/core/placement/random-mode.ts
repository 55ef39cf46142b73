import type { ModeRule } from './mode-rule.ts';
import { noScore } from './mode-rule.ts';
import { likelyOverlap } from './overlap.ts';

/** Baseline: any, with equal chance. */
export const randomMode: ModeRule = {
  overlap: likelyOverlap,
  score: () => noScore,
  choose: (ranks, _request, _view, breakTie) => ({ rank: breakTie(ranks).rank, reason: 'random' }),
};
