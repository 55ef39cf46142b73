import type { OverlapSource, PlacementRequest, RankView } from './placement.ts';

/** Leading blocks that count as held, and who says so. */
export interface KnownOverlap {
  readonly blocks: number;
  readonly source: OverlapSource;
}

/** How a prompt's tokens lie in an engine's cache; both sizes in tokens, one a multiple of the other. */
export interface CacheShape {
  readonly pageSize: number;
  readonly blockSize: number;
}

/**
 * Of `heldBlocks` leading blocks those that an engine reuses: whole pages, and never a prompt's last token, which it
 * always computes. So an exact repeat of four pages reuses three. Zero where the tokens are unknown: overlap is never
 * guessed.
 */
export function reusableBlocks(heldBlocks: number, promptTokens: number | null, { pageSize, blockSize }: CacheShape): number {
  if (promptTokens === null || promptTokens === 0) return 0;
  const blocks = Math.min(heldBlocks, Math.floor((promptTokens - 1) / blockSize));
  // A page smaller than a block divides it, so whole blocks are whole pages.
  const pageBlocks = Math.max(1, pageSize / blockSize);
  return Math.floor(blocks / pageBlocks) * pageBlocks;
}

/** The rank with its overlaps cut to what its engine reuses of this prompt. */
export function withReusableOverlap(rank: RankView, { promptTokens }: PlacementRequest, blockSize: number): RankView {
  const shape = { pageSize: rank.pageSize, blockSize };
  const eventBlocks = reusableBlocks(rank.eventBlocks, promptTokens, shape);
  const predictedBlocks = reusableBlocks(rank.predictedBlocks, promptTokens, shape);
  return { ...rank, eventBlocks, predictedBlocks };
}

/** What a rank's events say. One whose events don't tell goes by what earlier placements promise, and says so. */
export function eventOverlap(rank: RankView): KnownOverlap {
  return rank.trusted ? { blocks: rank.eventBlocks, source: 'events' } : predictedOverlap(rank);
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
