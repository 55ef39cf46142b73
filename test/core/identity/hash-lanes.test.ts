import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chainBlock, emptyBlock, extendBlock, hashBlocks } from '../../../src/core/identity/hash-blocks.ts';
import { fitsLanes } from '../../../src/core/identity/hash-lanes.ts';
import type { ChainSeed } from '../../../src/core/identity/sequence-hash.ts';

/** Block after block, as an agent hashes pages. */
function inJavaScript(tokens: ArrayLike<number>, blockSize: number, seed: ChainSeed): Int32Array {
  const out = new Int32Array(2 * Math.floor(tokens.length / blockSize));
  for (let word = 0; word < out.length; word += 2) {
    const start = (word / 2) * blockSize;
    const state = extendBlock(emptyBlock, tokens, start, start + blockSize);
    chainBlock(state, word === 0 ? seed : out, Math.max(word - 2, 0), out, word);
  }
  return out;
}

const words = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const seeds = fc.tuple(words, words).map((pair) => new Int32Array(pair) as ChainSeed);

describe('hashing in the lanes of vectors', () => {
  it('is the hashing of blocks one by one, for any tokens, seed and length', () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 300 }), fc.constantFrom(4, 8, 12, 16), seeds, (tokens, blockSize, seed) => {
        expect(new Int32Array(hashBlocks(tokens, blockSize, seed))).toEqual(inJavaScript(tokens, blockSize, seed));
        expect(new Int32Array(hashBlocks(Int32Array.from(tokens), blockSize, seed))).toEqual(inJavaScript(tokens, blockSize, seed));
      }),
    );
  });

  it.each([1, 2, 3, 4, 6, 16, 20, 60, 64, 100, 256, 768, 1_000, 1_024, 2_048, 2_052, 4_096])('goes on from slice to slice of a long prompt at blocks of %i', (blockSize) => {
    const tokens = Int32Array.from({ length: 40_003 }, (_, at) => Math.imul(at, 0x9e3779b1) >>> 14);
    const seed = new Int32Array([7, -9]) as ChainSeed;
    expect(new Int32Array(hashBlocks(tokens, blockSize, seed))).toEqual(inJavaScript(tokens, blockSize, seed));
  });

  it('takes what fits its memory four at a time, and leaves the rest', () => {
    expect([4, 16, 64, 1_024, 2_048].every(fitsLanes)).toBe(true);
    expect([1, 2, 6, 2_052, 4_096].some(fitsLanes)).toBe(false);
  });
});
