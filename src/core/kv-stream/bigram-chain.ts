import { chainBlock, emptyBlock, extendBlock, hashBlocks } from '../identity/hash-blocks.ts';
import type { ChainSeed, SequenceHashes } from '../identity/sequence-hash.ts';

/*
 * Engines that speculate with EAGLE kinds cache neighbouring pairs of tokens: a page of N pairs covers N + 1 tokens, the
 * last of which is the first of the page after it. A block of plain tokens can't name that: it would be credited to a
 * prompt whose next token differs, which the engine does not reuse. So the blocks of such a pool lie one token later:
 * they are made of the pairs' second tokens, and the prompt's first token goes into the seed.
 */

/** The start of the chain of bigram blocks of prompts that begin with `firstToken`. */
export function bigramSeed(seed: ChainSeed, firstToken: number): ChainSeed {
  const out = new Int32Array(2) as ChainSeed;
  chainBlock(extendBlock(emptyBlock, [firstToken], 0, 1), seed, 0, out, 0);
  return out;
}

/** As `hashBlocks`, for an engine with bigram pages: `floor((tokens.length - 1) / blockSize)` blocks. */
export function hashBigramBlocks(tokens: Int32Array, blockSize: number, after: ChainSeed): SequenceHashes {
  return hashBlocks(tokens.subarray(1), blockSize, bigramSeed(after, tokens[0] ?? 0));
}
