import type { ChainSeed, SequenceHashes } from './sequence-hash.ts';
import { noHashes } from './sequence-hash.ts';

/*
 * Two 32-bit lanes over the tokens of a block, then one mix with the hash of the block before. 32-bit
 * multiplications are what JavaScript does fast, so a whole prompt is hashed in one call without an allocation a
 * block. A lane is one rotation and one multiplication a token, which takes 0.6 to 0.8 of the time of a Murmur3 step;
 * one lane alone has weak low bits, which is why both are mixed at the block's end. Lanes are sequential over tokens,
 * so the state of a begun block is two words: an agent whose engine has pages smaller than a block keeps that and not
 * the tokens. The vectors in test/fixtures/block-hash.json pin it.
 */
const lowStart = 0x243f6a88 | 0;
const highStart = 0x85a308d3 | 0;

const stepLow = (state: number, token: number): number => Math.imul(((state << 15) | (state >>> 17)) ^ token, 0x9e3779b1);

const stepHigh = (state: number, token: number): number => Math.imul(((state << 11) | (state >>> 21)) + token, 0xc2b2ae3d);

const scramble = (word: number): number => {
  let h = word ^ (word >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
};

/** The running state of one block whose tokens come in pieces. */
export interface BlockState {
  readonly low: number;
  readonly high: number;
}

export const emptyBlock: BlockState = { low: lowStart, high: highStart };

/** The state after `tokens`, from `start` to before `end`, were added. */
export function extendBlock(state: BlockState, tokens: ArrayLike<number>, start: number, end: number): BlockState {
  let { low, high } = state;
  for (let i = start; i < end; i++) {
    const token = tokens[i] ?? 0;
    low = stepLow(low, token);
    high = stepHigh(high, token);
  }
  return { low, high };
}

/** Writes the sequence hash of a full block (`state`) after the hash in `before` at `word` into `out` at `outWord`. */
export function chainBlock(state: BlockState, before: Int32Array, word: number, out: Int32Array, outWord: number): void {
  const low = scramble(state.low ^ Math.imul(state.high, 0x9e3779b1));
  const high = scramble(state.high ^ Math.imul(low, 0x85ebca77));
  const x = scramble(((before[word] ?? 0) ^ low) + 0x27d4eb2f);
  const y = scramble(((before[word + 1] ?? 0) ^ high) + Math.imul(x, 0x165667b1));
  out[outWord] = (x + Math.imul(y, 0x9e3779b1)) | 0;
  out[outWord + 1] = y;
}

/**
 * The sequence hash of each complete block of a prompt: `floor(tokens.length / blockSize)` of them, in one call. An
 * incomplete last block has none. `after` is where the chain goes on from: the pool's seed, or an earlier hash.
 */
export function hashBlocks(tokens: ArrayLike<number>, blockSize: number, after: ChainSeed): SequenceHashes {
  const blocks = Math.floor(tokens.length / blockSize);
  if (blocks === 0) return noHashes;
  const out = new Int32Array(2 * blocks) as SequenceHashes;
  let before: Int32Array = after;
  let word = 0;
  for (let block = 0; block < blocks; block++) {
    const state = extendBlock(emptyBlock, tokens, block * blockSize, (block + 1) * blockSize);
    chainBlock(state, before, word, out, 2 * block);
    before = out;
    word = 2 * block;
  }
  return out;
}
