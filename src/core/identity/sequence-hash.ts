import type { Brand } from './ids.ts';

/**
 * A run of 64-bit sequence hashes, two 32-bit words each (low, high): hash `i` is words `2i` and `2i + 1`.
 * A sequence hash names a block of tokens and all before it, salt included.
 */
export type SequenceHashes = Brand<Int32Array, 'SequenceHashes'>;

/** Where a chain starts: what separates prompts that can't share KV (pool, LoRA adapter, cache salt). Two words. */
export type ChainSeed = Brand<Int32Array, 'ChainSeed'>;

export const noHashes = new Int32Array(0) as SequenceHashes;

export const hashCount = (hashes: SequenceHashes): number => hashes.length >> 1;

/** The hashes from `start` to before `end`, on the same memory. */
export const sliceHashes = (hashes: SequenceHashes, start: number, end: number): SequenceHashes =>
  hashes.subarray(2 * start, 2 * end) as SequenceHashes;

/** One hash as 16 hexadecimal digits, for logs, tests and JSON. */
export function hashHex(hashes: SequenceHashes, index: number): string {
  const low = (hashes[2 * index] ?? 0) >>> 0;
  const high = (hashes[2 * index + 1] ?? 0) >>> 0;
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
}

/** From hexadecimal digits as `hashHex` writes them. */
export function hashesFromHex(...hex: readonly string[]): SequenceHashes {
  const words = new Int32Array(2 * hex.length);
  hex.forEach((digits, index) => {
    words[2 * index] = Number.parseInt(digits.slice(8), 16);
    words[2 * index + 1] = Number.parseInt(digits.slice(0, 8), 16);
  });
  return words as SequenceHashes;
}

export function concatHashes(runs: readonly SequenceHashes[]): SequenceHashes {
  const words = new Int32Array(runs.reduce((sum, run) => sum + run.length, 0));
  let at = 0;
  for (const run of runs) {
    words.set(run, at);
    at += run.length;
  }
  return words as SequenceHashes;
}
