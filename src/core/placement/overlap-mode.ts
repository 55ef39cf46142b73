import { hashCount } from '../identity/sequence-hash.ts';
import { allLowest, costOf, lowestCost } from './lowest.ts';
import type { ModeRule } from './mode-rule.ts';
import type { KnownOverlap } from './overlap.ts';
import { eventOverlap, predictedOverlap } from './overlap.ts';
import type { RankView } from './placement.ts';
import { publishedCost } from './published-cost.ts';
import { workAhead } from './work-ahead.ts';

/**
 * Placing by overlap against load, at the published cost. Requests whose tokens are unknown go by load alone. Equal
 * costs go to where less work is ahead by the engines' own reports, which the published cost leaves out; what is
 * equal then too is shared at random.
 */
function overlapMode(overlap: (rank: RankView) => KnownOverlap): ModeRule {
  return {
    overlap,
    score: (rank, { promptTokens, hashes }, blockSize) => {
      if (promptTokens === null) return workAhead(rank, blockSize);
      const { prefillTokens, activeBlocks, sharedActiveBlocks } = rank.load;
      const addedBlocks = hashCount(hashes) - sharedActiveBlocks;
      return publishedCost({ prefillTokens, promptTokens, blockSize, overlapBlocks: overlap(rank).blocks, activeBlocks, addedBlocks });
    },
    choose: (ranks, request, view, breakTie) => {
      if (request.promptTokens === null) return { rank: lowestCost(ranks, breakTie).rank, reason: 'least-loaded' };
      const cheapest = allLowest(ranks, costOf);
      const chosen = breakTie(allLowest(cheapest, ({ rank }) => workAhead(rank, view.blockSize).cost ?? 0));
      return { rank: chosen.rank, reason: 'lowest-cost' };
    },
  };
}

/** By what the engines' KV events say they hold. Sessions are ignored. */
export const eventMode = overlapMode(eventOverlap);

/** By what the router's own recent placements promise. Sessions and events are ignored. */
export const predictedMode = overlapMode(predictedOverlap);
