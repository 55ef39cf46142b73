import { describe, expect, it } from 'vitest';
import { publishedCost } from '../../../src/core/placement/published-cost.ts';

const figures = { prefillTokens: 0, promptTokens: 0, blockSize: 16, overlapBlocks: 0, activeBlocks: 0, addedBlocks: 0 };

describe('publishedCost', () => {
  it('gives 18, 10 and 11 for a prompt of 10 blocks, overlaps 2, 5, 8 and 10, 5, 9 blocks in decode', () => {
    const costs = [[2, 10], [5, 5], [8, 9]].map(([overlapBlocks = 0, activeBlocks = 0]) =>
      publishedCost({ ...figures, promptTokens: 160, overlapBlocks, activeBlocks }).cost,
    );
    expect(costs).toEqual([18, 10, 11]);
  });

  it('never counts more overlap than there is prefill', () => {
    const score = publishedCost({ ...figures, promptTokens: 64, prefillTokens: 16, overlapBlocks: 6, activeBlocks: 2, addedBlocks: 3 });
    expect(score).toEqual({ cost: 5, terms: { prefill: 1, prompt: 4, overlap: -5, active: 2, added: 3 } });
  });

  it('is 100 for 100 blocks in decode and no prompt', () => {
    expect(publishedCost({ ...figures, activeBlocks: 100 }).cost).toBe(100);
  });

  it('prefers a cold rank where the warm one decodes one block more than it saves', () => {
    const warm = publishedCost({ ...figures, promptTokens: 128, overlapBlocks: 4, activeBlocks: 5 });
    const cold = publishedCost({ ...figures, promptTokens: 128 });
    expect([warm.cost, cold.cost]).toEqual([9, 8]);
  });

  it('is the sum of its terms', () => {
    const { cost, terms } = publishedCost({ prefillTokens: 100, promptTokens: 900, blockSize: 64, overlapBlocks: 3, activeBlocks: 7, addedBlocks: 5 });
    expect(Object.values(terms).reduce((sum, term) => sum + term, 0)).toBeCloseTo(cost ?? Number.NaN, 9);
  });
});
