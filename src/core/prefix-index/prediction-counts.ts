import type { SequenceHashes } from '../identity/sequence-hash.ts';
import { hashCount } from '../identity/sequence-hash.ts';
import { BlockSlots, noSlot } from './block-slots.ts';
import { BlockTable, inserted } from './block-table.ts';

/**
 * How many predictions promise a block on a rank. One (block, rank) is one entry, keyed by the hash moved by the
 * rank's number: two such keys are as unlikely to meet as two hashes. The slot's set word is the count, its tier word
 * whether an engine confirmed the block.
 */
export class PredictionCounts {
  readonly #slots = new BlockSlots();
  readonly #table = new BlockTable(this.#slots);

  /** One more prediction of each block. How many leading ones found room: nearly always all. */
  addRun(hashes: SequenceHashes, rank: number): number {
    const count = hashCount(hashes);
    let slot = noSlot;
    for (let i = 0; i < count; i++) {
      slot = this.#addOne(slot, lowKey(hashes, i, rank), highKey(hashes, i, rank));
      if (slot === noSlot) return i;
    }
    return count;
  }

  /** One prediction less. True: that was the last. */
  take(hashes: SequenceHashes, index: number, rank: number): boolean {
    const slot = this.#find(hashes, index, rank);
    if (slot === noSlot) return false;
    const left = this.#slots.set(slot) - 1;
    if (left > 0) {
      this.#slots.putSet(slot, left);
      return false;
    }
    this.#table.remove(this.#slots.low(slot), slot);
    this.#slots.free(slot);
    return true;
  }

  confirm(hashes: SequenceHashes, index: number, rank: number): void {
    const slot = this.#find(hashes, index, rank);
    if (slot !== noSlot) this.#slots.putTiers(slot, 1);
  }

  isConfirmed(hashes: SequenceHashes, index: number, rank: number): boolean {
    const slot = this.#find(hashes, index, rank);
    return slot !== noSlot && this.#slots.tiers(slot) !== 0;
  }

  #addOne(before: number, low: number, high: number): number {
    const guess = before === noSlot ? noSlot : this.#slots.guessAfter(before);
    const slot = guess !== noSlot && this.#slots.matches(guess, low, high) ? guess : this.#table.find(low, high);
    if (slot !== noSlot) {
      this.#slots.putSet(slot, this.#slots.set(slot) + 1);
      return slot;
    }
    const offered = this.#slots.slotAfter(before);
    if (this.#table.findOrInsert(low, high, offered) !== inserted) return noSlot;
    this.#slots.occupy(offered, before, low, high, 1);
    return offered;
  }

  #find(hashes: SequenceHashes, index: number, rank: number): number {
    return this.#table.find(lowKey(hashes, index, rank), highKey(hashes, index, rank));
  }
}

const lowKey = (hashes: SequenceHashes, index: number, rank: number): number => ((hashes[2 * index] ?? 0) + Math.imul(rank + 1, 0x9e3779b1)) | 0;
const highKey = (hashes: SequenceHashes, index: number, rank: number): number => (hashes[2 * index + 1] ?? 0) ^ Math.imul(rank + 1, 0x85ebca77);
