import { hashBlocks } from '../src/core/identity/hash-blocks.ts';
import type { ChainSeed } from '../src/core/identity/sequence-hash.ts';
import { median } from './bench.ts';

/** One round of bench P1 in a process of its own, on the tokens of `shared/floor/hash-floor.c`. */
const tokens = new Int32Array(32_768);
let state = 12_345;
for (let i = 0; i < tokens.length; i++) {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  tokens[i] = state % 151_936;
}
const seed = new Int32Array([1, 2]) as ChainSeed;

for (const blockSize of [16, 64]) {
  const took: number[] = [];
  for (let turn = 0; turn < 1_000; turn++) {
    const before = performance.now();
    hashBlocks(tokens, blockSize, seed);
    took.push((performance.now() - before) * 1e3);
  }
  // The first half is compiled on the way.
  process.stdout.write(`ours bt=${blockSize} ${median(took.slice(500)).toFixed(1)} us\n`);
}
