import type { PoolId } from './ids.ts';
import { chainBlock, emptyBlock, extendBlock } from './hash-blocks.ts';
import type { ChainSeed } from './sequence-hash.ts';

/** What keeps two prompts of one pool from sharing KV, though their tokens are equal. */
export interface Isolation {
  readonly lora: string | null;
  /** The cache salt; an empty one is none, as the engines have it. */
  readonly salt: string | null;
}

export const noIsolation: Isolation = { lora: null, salt: null };

/** The start of a chain for this pool, adapter and salt: each part is hashed with its place and length. */
export function chainSeed(pool: PoolId, isolation: Isolation = noIsolation): ChainSeed {
  const seed = new Int32Array(2) as ChainSeed;
  const parts = [pool, isolation.lora ?? '', isolation.salt ?? ''];
  parts.forEach((part, place) => {
    const bytes = new TextEncoder().encode(part);
    const start = extendBlock(emptyBlock, [place, bytes.length], 0, 2);
    chainBlock(extendBlock(start, bytes, 0, bytes.length), seed, 0, seed, 0);
  });
  return seed;
}
