import type { RankId, RankKey } from '../../../src/core/identity/ids.ts';
import { parseDpRank, parseWorkerId, rankKey } from '../../../src/core/identity/ids.ts';
import { hashBlocks } from '../../../src/core/identity/hash-blocks.ts';
import type { ChainSeed, SequenceHashes } from '../../../src/core/identity/sequence-hash.ts';
import { hashCount, hashHex, hashesFromHex, sliceHashes } from '../../../src/core/identity/sequence-hash.ts';
import type { KvEvent, StorageTier } from '../../../src/core/kv-stream/kv-event.ts';

export const rank = (worker: string, dpRank = 0): RankId => ({ worker: parseWorkerId(worker), rank: parseDpRank(dpRank) });

const seed = new Int32Array([1, 2]) as ChainSeed;

/** The hashes of a prompt whose blocks are single tokens. */
export const chain = (...tokens: readonly number[]): SequenceHashes => hashBlocks(tokens, 1, seed);

/** Stores the prompt's blocks from `from` on, the ones before being their parents. */
export function stored(tokens: readonly number[], from = 0, tier: StorageTier = 'device'): KvEvent {
  const hashes = chain(...tokens);
  const parent = from === 0 ? null : sliceHashes(hashes, from - 1, from);
  return { kind: 'stored', parent, hashes: sliceHashes(hashes, from, tokens.length), tier };
}

export const removed = (hashes: SequenceHashes, tier: StorageTier = 'device'): KvEvent => ({ kind: 'removed', hashes, tier });
export const cleared: KvEvent = { kind: 'cleared' };

/** The last block of a prompt. */
export const lastOf = (...tokens: readonly number[]): SequenceHashes => sliceHashes(chain(...tokens), tokens.length - 1, tokens.length);

/** Blocks of a prompt by hexadecimal name, in the order given. */
export const named = (hex: readonly string[]): SequenceHashes => hashesFromHex(...hex);

/** The plainest thing that is right: a set of (block, tier) for each rank. */
export class ReferenceIndex {
  readonly #held = new Map<RankKey, Map<string, Set<StorageTier>>>();

  apply(id: RankId, event: KvEvent): void {
    const blocks = this.#held.get(rankKey(id)) ?? new Map<string, Set<StorageTier>>();
    this.#held.set(rankKey(id), blocks);
    if (event.kind === 'cleared') blocks.clear();
    if (event.kind === 'stored') for (const name of names(event.hashes)) blocks.set(name, (blocks.get(name) ?? new Set()).add(event.tier));
    if (event.kind !== 'removed') return;
    for (const name of names(event.hashes)) {
      blocks.get(name)?.delete(event.tier);
      if (blocks.get(name)?.size === 0) blocks.delete(name);
    }
  }

  removeRank(id: RankId): void {
    this.#held.delete(rankKey(id));
  }

  blocksHeld(id: RankId): number {
    return this.#held.get(rankKey(id))?.size ?? 0;
  }

  get blocks(): number {
    return new Set([...this.#held.values()].flatMap((blocks) => [...blocks.keys()])).size;
  }

  overlaps(hashes: SequenceHashes): ReadonlyMap<RankKey, number> {
    const all = names(hashes);
    const found = new Map<RankKey, number>();
    for (const [key, blocks] of this.#held) {
      const missing = all.findIndex((name) => !blocks.has(name));
      const depth = missing === -1 ? all.length : missing;
      if (depth > 0) found.set(key, depth);
    }
    return found;
  }
}

export const names = (hashes: SequenceHashes): string[] => Array.from({ length: hashCount(hashes) }, (_, index) => hashHex(hashes, index));
export const sorted = (overlaps: ReadonlyMap<RankKey, number>): [RankKey, number][] => [...overlaps].sort(([a], [b]) => a.localeCompare(b));
