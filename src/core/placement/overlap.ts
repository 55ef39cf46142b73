import type { OverlapSource, PlacementRequest, RankView } from './placement.ts';

/** Leading blocks that count as held, and who says so. */
export interface KnownOverlap {
  readonly blocks: number;
  readonly source: OverlapSource;
}

const noOverlap: KnownOverlap = { blocks: 0, source: 'none' };

/**
 * The most blocks an engine reuses: it computes the last token always, so an exact repeat of four blocks reuses three.
 * Zero where the tokens are unknown: overlap is never guessed.
 */
export function mostReusableBlocks(promptTokens: number | null, blockSize: number): number {
  return promptTokens === null ? 0 : Math.max(0, Math.floor((promptTokens - 1) / blockSize));
}

/** The rank with its overlaps cut to what an engine reuses of this prompt. */
export function withReusableOverlap(rank: RankView, request: PlacementRequest, blockSize: number): RankView {
  const most = mostReusableBlocks(request.promptTokens, blockSize);
  if (rank.eventBlocks <= most && rank.predictedBlocks <= most) return rank;
  return { ...rank, eventBlocks: Math.min(rank.eventBlocks, most), predictedBlocks: Math.min(rank.predictedBlocks, most) };
}

/** What a rank's events say; nothing for a rank whose events are not whole. */
export function eventOverlap(rank: RankView): KnownOverlap {
  return rank.trusted ? { blocks: rank.eventBlocks, source: 'events' } : noOverlap;
}

/** What earlier placements promise. */
export function predictedOverlap(rank: RankView): KnownOverlap {
  return { blocks: rank.predictedBlocks, source: 'predicted' };
}

/** The more that either says: for modes that don't place by overlap, where it is only reported and claimed by. */
export function likelyOverlap(rank: RankView): KnownOverlap {
  const byEvents = eventOverlap(rank);
  return rank.predictedBlocks > byEvents.blocks ? predictedOverlap(rank) : byEvents;
}
