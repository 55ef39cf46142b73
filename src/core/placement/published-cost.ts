import type { Score } from './mode-rule.ts';

/** What the published cost of one rank is worked out from. */
export interface CostFigures {
  /** Prompt tokens in flight there, not counting this request's. */
  readonly prefillTokens: number;
  readonly promptTokens: number;
  readonly blockSize: number;
  readonly overlapBlocks: number;
  /** Blocks of all unfinished requests there, shared ones once. */
  readonly activeBlocks: number;
  /** Blocks of this request that none of those has. */
  readonly addedBlocks: number;
}

/**
 * The cost that NVIDIA Dynamo publishes for its KV router with its default weights, so that results compare, in blocks:
 * `max((prefill tokens + prompt tokens) / block size - overlap, 0) + active blocks + added blocks`.
 */
export function publishedCost(figures: CostFigures): Score {
  const { blockSize } = figures;
  const prefill = figures.prefillTokens / blockSize;
  const prompt = figures.promptTokens / blockSize;
  const overlap = Math.min(figures.overlapBlocks, prefill + prompt);
  const terms = { prefill, prompt, overlap: -overlap, active: figures.activeBlocks, added: figures.addedBlocks };
  return { cost: prefill + prompt - overlap + figures.activeBlocks + figures.addedBlocks, terms };
}
