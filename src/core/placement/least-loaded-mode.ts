import { lowestCost } from './lowest.ts';
import type { ModeRule } from './mode-rule.ts';
import { likelyOverlap } from './overlap.ts';
import { workAhead } from './work-ahead.ts';

/** Baseline: where the least work is ahead. */
export const leastLoadedMode: ModeRule = {
  overlap: likelyOverlap,
  score: (rank, _request, blockSize) => workAhead(rank, blockSize),
  choose: (ranks, _request, _view, breakTie) => ({ rank: lowestCost(ranks, breakTie).rank, reason: 'least-loaded' }),
};
