import type { RankId, RankKey } from '../identity/ids.ts';
import type { SequenceHashes } from '../identity/sequence-hash.ts';
import type { KvEvent } from '../kv-stream/kv-event.ts';

/** What one event changed, in blocks. */
export interface AppliedEvent {
  /** Newly held; what the rank held already is not counted again. */
  readonly storedBlocks: number;
  /** No longer held in any tier. */
  readonly removedBlocks: number;
  /** Removals of what the rank did not hold. */
  readonly unknownRemovals: number;
  /** Stored under a parent that the rank does not hold: kept, since overlap counts from the first block anyway. */
  readonly orphanedBlocks: number;
  /** Not kept, because the index is full or has no room at that hash; never a wrong answer, only a lost hit. */
  readonly refusedBlocks: number;
}

/** How many leading blocks of a prompt each rank holds, by what its events said. */
export interface PrefixIndex {
  apply(id: RankId, event: KvEvent): AppliedEvent;
  /** Forgets a rank and all it held, at once and whatever that was; an unknown one is no change. */
  removeRank(id: RankId): void;
  /**
   * Takes blocks of ranks that were removed or cleared out of memory, for about `units` times 20 ns. False: none is
   * left. Each event pays for some as well; call it where events are rare.
   */
  sweep(units: number): boolean;
  /** Leading blocks without a gap from the first, for each rank that holds at least the first. */
  overlaps(hashes: SequenceHashes): ReadonlyMap<RankKey, number>;
  /** The same without a map. `visit` must not change the index. */
  visitOverlaps(hashes: SequenceHashes, visit: (id: RankId, blocks: number, key: RankKey) => void): void;
  blocksHeld(id: RankId): number;
  /** Distinct blocks in memory: those that any rank holds, and those of ranks that are not swept yet. */
  readonly blocks: number;
}
