import { lanesMemory, lanesModule } from './lanes-module.ts';

/** Blocks are hashed four at a time, four tokens of each at a time. */
export const lanesWide = 4;

interface Lanes {
  readonly words: Int32Array;
  readonly hash: (blockBytes: number, groups: number) => void;
}

/** What is used of it: its types come with those of browsers, which are left out of this project. */
interface WebAssemblyNamespace {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: { readonly memory: { readonly buffer: ArrayBuffer }; readonly hash: Lanes['hash'] } };
}

function loadLanes(): Lanes {
  const { Module, Instance } = (globalThis as unknown as { readonly WebAssembly: WebAssemblyNamespace }).WebAssembly;
  const { memory, hash } = new Instance(new Module(lanesModule())).exports;
  return { words: new Int32Array(memory.buffer), hash };
}

let loaded: Lanes | null = null;

/** Blocks of this size are for `hashLanes`: a multiple of four tokens, four of which fit its memory. */
export const fitsLanes = (blockSize: number): boolean => blockSize % lanesWide === 0 && lanesWide * blockSize <= lanesMemory.tokenWords;

/**
 * Writes the hashes of `blocks` blocks, a multiple of four, to `out` from its first word on; `before` is the hash
 * before the first. 8,192 tokens at a time, so that what was copied is still in the processor's first cache.
 */
export function hashLanes(tokens: ArrayLike<number>, blockSize: number, run: { readonly blocks: number; readonly before: Int32Array; readonly out: Int32Array }): void {
  const { words, hash } = (loaded ??= loadLanes());
  const slice = lanesWide * Math.floor(lanesMemory.tokenWords / (lanesWide * blockSize));
  words[lanesMemory.beforeWord] = run.before[0] ?? 0;
  words[lanesMemory.beforeWord + 1] = run.before[1] ?? 0;
  for (let block = 0; block < run.blocks; block += slice) {
    const count = Math.min(slice, run.blocks - block);
    copyTokens(tokens, block * blockSize, count * blockSize, words);
    hash(4 * blockSize, count / lanesWide);
    run.out.set(words.subarray(lanesMemory.outWord, lanesMemory.outWord + 2 * count), 2 * block);
    words.copyWithin(lanesMemory.beforeWord, lanesMemory.outWord + 2 * count - 2, lanesMemory.outWord + 2 * count);
  }
}

function copyTokens(tokens: ArrayLike<number>, from: number, count: number, words: Int32Array): void {
  if (tokens instanceof Int32Array) words.set(tokens.subarray(from, from + count));
  else for (let i = 0; i < count; i++) words[i] = tokens[from + i] ?? 0;
}
