import type { SequenceHashes } from '../identity/sequence-hash.ts';
import { hashCount } from '../identity/sequence-hash.ts';
import type { BlockSlots } from './block-slots.ts';
import { noSlot } from './block-slots.ts';
import type { BlockTable } from './block-table.ts';
import { lowestBit } from './rank-set-store.ts';
import type { RankSets } from './rank-sets.ts';

/** Where a walk looks: the parts of one index. */
export interface WalkedIndex {
  readonly slots: BlockSlots;
  readonly table: BlockTable;
  readonly sets: RankSets;
}

/**
 * Walks a prompt's blocks from the first and tells of each rank where its holding ends. Every block is looked at: to
 * jump ahead where two blocks have equal sets would credit a rank across a block that it lacks.
 */
export class OverlapWalk {
  readonly #index: WalkedIndex;
  #left = new Int32Array(1);
  #gone = new Int32Array(1);

  constructor(index: WalkedIndex) {
    this.#index = index;
  }

  /** `ranks` is above every rank number in use. */
  walk(hashes: SequenceHashes, ranks: number, emit: (rank: number, blocks: number) => void): void {
    const { slots, sets } = this.#index;
    const count = hashCount(hashes);
    let slot = count === 0 ? noSlot : this.#index.table.find(hashes[0] ?? 0, hashes[1] ?? 0);
    if (slot === noSlot) return;
    this.#widen(ranks);
    let set = slots.set(slot);
    sets.load(set, this.#left);
    let blocks = 1;
    for (; blocks < count; blocks++) {
      slot = blockAfter(this.#index, slot, hashes, blocks);
      if (slot === noSlot) break;
      const here = slots.set(slot);
      if (here === set) continue;
      set = here;
      const any = sets.narrow(set, this.#left, this.#gone);
      emitAll(this.#gone, blocks, emit);
      if (!any) return;
    }
    emitAll(this.#left, blocks, emit);
  }

  #widen(ranks: number): void {
    const words = (ranks + 31) >> 5;
    if (words === this.#left.length) return;
    this.#left = new Int32Array(words);
    this.#gone = new Int32Array(words);
  }
}

/** The slot of hash `index`, whose block before is in `slot` (or `noSlot`): the likely one first, then the table. */
export function blockAfter(index: WalkedIndex, slot: number, hashes: SequenceHashes, at: number): number {
  const low = hashes[2 * at] ?? 0;
  const high = hashes[2 * at + 1] ?? 0;
  if (slot !== noSlot) {
    const guess = index.slots.guessAfter(slot);
    if (index.slots.matches(guess, low, high)) return guess;
  }
  return index.table.find(low, high);
}

function emitAll(bits: Int32Array, blocks: number, emit: (rank: number, blocks: number) => void): void {
  for (let word = 0; word < bits.length; word++) {
    for (let left = bits[word] ?? 0; left !== 0; left &= left - 1) emit((word << 5) + lowestBit(left), blocks);
  }
}
