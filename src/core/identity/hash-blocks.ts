import { blockMultipliers, chainMultipliers, crossMultipliers, laneStarts, scrambleMultipliers } from './hash-constants.ts';
import { fitsLanes, hashLanes, lanesWide } from './hash-lanes.ts';
import type { ChainSeed, SequenceHashes } from './sequence-hash.ts';
import { noHashes } from './sequence-hash.ts';

/*
 * Two 32-bit lanes over the tokens of a block, both mixed at its end, then one short step from the hash of the block
 * before. A lane is one rotation and one multiplication a token; one alone has weak low bits. Lanes are sequential
 * over tokens, so the state of a begun block is two words: an agent whose engine has pages smaller than a block keeps
 * that and not the tokens. The step of the chain needs no mixing of its own, since what it takes in is mixed already:
 * it only has to depend on the order and to lose nothing. The vectors in test/fixtures/block-hash.json pin it all.
 *
 * 32,768 tokens at block 16 / 64, beside C's XXH64 with 36 / 19 us: this in JavaScript 85 / 84 us, three blocks
 * interleaved 51 / 50; four blocks in the lanes of a vector (`hash-lanes.ts`): see bench/results/P1.json.
 */

/** Below so many blocks a call is not worth the copy. */
const fewBlocks = 2 * lanesWide;

const stepLow = (state: number, token: number): number => Math.imul(((state << 15) | (state >>> 17)) ^ token, blockMultipliers.low);

const stepHigh = (state: number, token: number): number => Math.imul(((state << 11) | (state >>> 21)) + token, blockMultipliers.high);

const scramble = (word: number): number => {
  let h = word ^ (word >>> 16);
  h = Math.imul(h, scrambleMultipliers.first);
  h ^= h >>> 13;
  h = Math.imul(h, scrambleMultipliers.second);
  return h ^ (h >>> 16);
};

/** The running state of one block whose tokens come in pieces. */
export interface BlockState {
  readonly low: number;
  readonly high: number;
}

export const emptyBlock: BlockState = { low: laneStarts.low | 0, high: laneStarts.high | 0 };

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
  const low = scramble(state.low ^ Math.imul(state.high, crossMultipliers.low));
  const high = scramble(state.high ^ Math.imul(low, crossMultipliers.high));
  const lowBefore = before[word] ?? 0;
  const highBefore = before[word + 1] ?? 0;
  const x = Math.imul(((lowBefore << 13) | (lowBefore >>> 19)) ^ low, chainMultipliers.low);
  out[outWord] = x;
  out[outWord + 1] = Math.imul(((highBefore << 17) | (highBefore >>> 15)) ^ high, chainMultipliers.high) + x;
}

/**
 * The sequence hash of each complete block of a prompt: `floor(tokens.length / blockSize)` of them, in one call. An
 * incomplete last block has none. `after` is where the chain goes on from: the pool's seed, or an earlier hash.
 */
export function hashBlocks(tokens: ArrayLike<number>, blockSize: number, after: ChainSeed): SequenceHashes {
  const blocks = Math.floor(tokens.length / blockSize);
  if (blocks === 0) return noHashes;
  const out = new Int32Array(2 * blocks) as SequenceHashes;
  const inLanes = blocks >= fewBlocks && fitsLanes(blockSize) ? blocks - (blocks % lanesWide) : 0;
  if (inLanes > 0) hashLanes(tokens, blockSize, { blocks: inLanes, before: after, out });
  let before: Int32Array = inLanes > 0 ? out : after;
  let word = inLanes > 0 ? 2 * inLanes - 2 : 0;
  for (let block = inLanes; block < blocks; block++) {
    const state = extendBlock(emptyBlock, tokens, block * blockSize, (block + 1) * blockSize);
    chainBlock(state, before, word, out, 2 * block);
    before = out;
    word = 2 * block;
  }
  return out;
}
