import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { chainSeed } from '../../../src/core/identity/chain-seed.ts';
import { chainBlock, emptyBlock, extendBlock, hashBlocks } from '../../../src/core/identity/hash-blocks.ts';
import { parsePoolId } from '../../../src/core/identity/ids.ts';
import type { SequenceHashes } from '../../../src/core/identity/sequence-hash.ts';
import { concatHashes, hashCount, hashHex, hashesFromHex, sliceHashes } from '../../../src/core/identity/sequence-hash.ts';
import type { ChainSeed } from '../../../src/core/identity/sequence-hash.ts';

interface Vector {
  readonly pool: string;
  readonly lora: string | null;
  readonly salt: string | null;
  readonly blockSize: number;
  readonly tokens: readonly number[];
  readonly hashes: readonly string[];
}

const published = JSON.parse(readFileSync(new URL('../../fixtures/block-hash.json', import.meta.url), 'utf8')) as { readonly vectors: readonly Vector[] };
const seed = chainSeed(parsePoolId('llama'));
const names = (hashes: SequenceHashes): string[] => Array.from({ length: hashCount(hashes) }, (_, index) => hashHex(hashes, index));

/** Sorted words that occur more than once, counted beyond the first. */
function repeats(words: Int32Array): number {
  const sorted = words.slice().sort();
  return sorted.reduce((count, word, at) => (at > 0 && word === sorted[at - 1] ? count + 1 : count), 0);
}

/** Hashes each block alone after the same seed and counts equal low words, high words and whole hashes. */
function collisions(blocks: Iterable<ArrayLike<number>>, count: number): { readonly low: number; readonly high: number; readonly whole: number } {
  const low = new Int32Array(count);
  const high = new Int32Array(count);
  const seen = new Set<bigint>();
  let at = 0;
  for (const block of blocks) {
    const [lowWord = 0, highWord = 0] = hashBlocks(block, block.length, seed);
    low[at] = lowWord;
    high[at++] = highWord;
    seen.add((BigInt(highWord >>> 0) << 32n) | BigInt(lowWord >>> 0));
  }
  expect(at).toBe(count);
  return { low: repeats(low), high: repeats(high), whole: count - seen.size };
}

function* binaryBlocks(): Generator<number[]> {
  for (let bits = 0; bits < 1 << 18; bits++) yield Array.from({ length: 18 }, (_, place) => (bits >> place) & 1);
}

function* twoTokensAmongZeros(): Generator<Int32Array> {
  for (let first = 0; first < 64; first++) {
    for (let second = first + 1; second < 64; second++) {
      for (let values = 0; values < 100; values++) {
        const block = new Int32Array(64);
        block[first] = 1 + (values % 10);
        block[second] = 1 + Math.floor(values / 10);
        yield block;
      }
    }
  }
}

function* progressions(): Generator<number[]> {
  for (let first = 0; first < 25_000; first++) for (let by = 0; by < 8; by++) yield Array.from({ length: 16 }, (_, place) => first + by * place);
}

describe('the sequence hash', () => {
  it.each(published.vectors)('is as published for blocks of $blockSize in pool $pool, adapter $lora, salt $salt', (vector) => {
    expect(names(hashBlocks(vector.tokens, vector.blockSize, chainSeed(parsePoolId(vector.pool), vector)))).toEqual(vector.hashes);
  });

  it('E15: no two published chains share a hash, whatever their pool, adapter, salt or block size', () => {
    const differing = published.vectors.filter((vector) => vector.blockSize === 16 && vector.tokens.length === 32);
    expect(differing.length).toBeGreaterThanOrEqual(5);
    const all = differing.flatMap((vector) => vector.hashes);
    expect(new Set(all).size).toBe(all.length);
  });

  it('an incomplete last block has none', () => {
    expect(hashCount(hashBlocks([1, 2, 3], 4, seed))).toBe(0);
    expect(hashCount(hashBlocks([1, 2, 3, 4, 5], 4, seed))).toBe(1);
    expect(hashCount(hashBlocks([], 1, seed))).toBe(0);
  });

  it('an empty salt or adapter is none', () => {
    const pool = parsePoolId('llama');
    expect([...chainSeed(pool, { lora: '', salt: '' })]).toEqual([...chainSeed(pool)]);
  });

  it('moving a letter between adapter and salt makes another seed', () => {
    const pool = parsePoolId('llama');
    const seeds = [['ab', 'c'], ['a', 'bc'], ['abc', ''], ['', 'abc']].map(([lora = '', salt = '']) => [...chainSeed(pool, { lora, salt })].join());
    expect(new Set(seeds).size).toBe(4);
  });

  it('a block whose tokens come in pieces has the hash of the whole', () => {
    const tokens = fc.array(fc.integer({ min: 0, max: 151_935 }), { minLength: 1, maxLength: 64 });
    fc.assert(
      fc.property(tokens, fc.array(fc.nat(64)), (block, cuts) => {
        const edges = [0, ...cuts.map((cut) => Math.min(cut, block.length)), block.length].sort((a, b) => a - b);
        let state = emptyBlock;
        for (let i = 1; i < edges.length; i++) state = extendBlock(state, block, edges[i - 1] ?? 0, edges[i] ?? 0);
        const out = new Int32Array(2);
        chainBlock(state, seed, 0, out, 0);
        expect(out).toEqual(new Int32Array(hashBlocks(block, block.length, seed)));
      }),
    );
  });

  it('a chain goes on from any of its hashes', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { minLength: 8, maxLength: 40 }), fc.integer({ min: 1, max: 4 }), (tokens, blockSize) => {
        const whole = hashBlocks(tokens, blockSize, seed);
        const first = sliceHashes(whole, 0, 1);
        const rest = hashBlocks(tokens.slice(blockSize), blockSize, new Int32Array(first) as ChainSeed);
        expect(names(concatHashes([first, rest]))).toEqual(names(whole));
      }),
    );
  });

  it('differs in every block from the first that differs', () => {
    const tokens = fc.array(fc.nat(2), { minLength: 12, maxLength: 12 });
    fc.assert(
      fc.property(tokens, tokens, (one, other) => {
        const differs = one.findIndex((token, at) => token !== other[at]);
        const same = differs === -1 ? 6 : Math.floor(differs / 2);
        const [a, b] = [names(hashBlocks(one, 2, seed)), names(hashBlocks(other, 2, seed))];
        expect(a.slice(0, same)).toEqual(b.slice(0, same));
        expect(a.slice(same).some((name) => b.includes(name))).toBe(false);
      }),
    );
  });

  it('a block that repeats has another hash at each place', () => {
    const hashes = names(hashBlocks(new Int32Array(4096), 4, seed));
    expect(new Set(hashes).size).toBe(1024);
  });

  it('one changed bit of one token changes each bit of the hash about every second time', () => {
    const flips = new Float64Array(64);
    let trials = 0;
    for (let bit = 0; bit < 17; bit++) {
      for (let place = 0; place < 16; place++) {
        for (let base = 0; base < 20; base++) {
          const block = Int32Array.from({ length: 16 }, (_, at) => (base * 7919 + at * 31) % 131_072);
          const [low = 0, high = 0] = hashBlocks(block, 16, seed);
          block[place] = (block[place] ?? 0) ^ (1 << bit);
          const [low2 = 0, high2 = 0] = hashBlocks(block, 16, seed);
          for (let out = 0; out < 32; out++) {
            flips[out] = (flips[out] ?? 0) + (((low ^ low2) >>> out) & 1);
            flips[32 + out] = (flips[32 + out] ?? 0) + (((high ^ high2) >>> out) & 1);
          }
          trials++;
        }
      }
    }
    // 5,440 trials: five standard deviations are 3.4 %.
    for (const count of flips) expect(Math.abs(count / trials - 0.5)).toBeLessThan(0.034);
  });

  // N values of 32 bits are expected to repeat N * N / 2^33 times; three times that and 10 is far beyond chance.
  it.each([
    ['every block of 18 zeros and ones', binaryBlocks, 1 << 18],
    ['two tokens among zeros', twoTokensAmongZeros, 201_600],
    ['arithmetic progressions', progressions, 200_000],
  ])('over %s no two hashes are equal, and each word repeats no more than chance has it', (_, blocks, count) => {
    const found = collisions(blocks(), count);
    const bound = 3 * (count ** 2 / 2 ** 33) + 10;
    expect(found.whole).toBe(0);
    expect(found.low).toBeLessThan(bound);
    expect(found.high).toBeLessThan(bound);
  });

  it('a hash reads back from its hexadecimal digits', () => {
    const hashes = hashBlocks([1, 2, 3], 1, seed);
    expect([...hashesFromHex(...names(hashes))]).toEqual([...hashes]);
  });
});
