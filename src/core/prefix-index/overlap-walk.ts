import type { SequenceHashes } from '../identity/sequence-hash.ts';
import { hashCount } from '../identity/sequence-hash.ts';
import type { BlockSlots } from './block-slots.ts';
import { changesAt, extentBase, noSlot, placeMask, setsAt } from './block-slots.ts';
import type { BlockTable } from './block-table.ts';
import { lastMatching } from './linked-run.ts';
import { lowestBit } from './rank-set-store.ts';
import type { RankSets } from './rank-sets.ts';
import { firstMember, noRanks } from './rank-sets.ts';

/** Where a walk looks: the parts of one index. */
export interface WalkedIndex {
  readonly slots: BlockSlots;
  readonly table: BlockTable;
  readonly sets: RankSets;
}

/** How many ranks have their result, and the block where others get theirs. */
interface Found {
  readonly found: number;
  readonly at: number;
}

/**
 * Walks a prompt's blocks from the first and tells of each rank where its holding ends. Every change of the rank set
 * on the way is looked at: to jump ahead where two blocks have equal sets would credit a rank across a block that it
 * lacks. A result is overwritten by the next walk.
 */
export class OverlapWalk {
  readonly #index: WalkedIndex;
  /** Ranks found, and the blocks of each. */
  ranks = new Int32Array(32);
  blocks = new Int32Array(32);
  /** The ranks that hold all so far: a set, or `noRanks` where no block has this set, and then they are in `#left`. */
  #leftSet = noRanks;
  #leftCount = 0;
  #left = new Int32Array(1);
  #gone = new Int32Array(1);

  constructor(index: WalkedIndex) {
    this.#index = index;
  }

  /**
   * How many ranks were found. `top` is above every rank number in use. Flat and on local variables: a step is an
   * extent (16 blocks) or a change of the set, 5 to 20 ns each.
   */
  walk(hashes: SequenceHashes, top: number): number {
    const { slots, table, sets } = this.#index;
    const count = hashCount(hashes);
    let slot = count === 0 ? noSlot : table.find(hashes[0] ?? 0, hashes[1] ?? 0);
    if (slot === noSlot) return 0;
    this.#widen(top);
    const { ranks, blocks } = this;
    let found = 0;
    let seen = slots.set(slot);
    let left = seen;
    for (let at = 0; ; ) {
      const chunk = slots.chunk(slot);
      const base = extentBase(slot);
      const first = slot & placeMask;
      const last = lastMatching(chunk, base, first, hashes, at);
      // The first block's set, then those from where it changes on, to the last.
      for (let bits = ((chunk[base + changesAt] ?? 0) & ((2 << last) - (2 << first))) | (1 << first); bits !== 0; bits &= bits - 1) {
        const place = lowestBit(bits);
        const set = chunk[base + setsAt + place] ?? noRanks;
        if (set === seen) continue;
        seen = set;
        const lost = left > 0 && set > 0 ? sets.lostBetween(left, set) : -1;
        if (lost >= 0) {
          ranks[found] = lost;
          blocks[found++] = at + place - first;
          left = set;
        } else if (left >= 0 || !sets.has(set, ~left)) {
          found = this.#narrow(left, set, { found, at: at + place - first });
          if (this.#leftSet === noRanks && this.#leftCount === 0) return found;
          left = this.#leftSet;
        }
      }
      at += last - first + 1;
      slot = at >= count ? noSlot : blockAfter(this.#index, (slot & ~placeMask) + last, hashes, at);
      if (slot === noSlot) return this.#end(left, { found, at });
    }
  }

  /** At block `at` the set is another, and the ranks in `before` (or in `#left`) that it lacks end. How many are found then. */
  #narrow(before: number, set: number, { found, at }: Found): number {
    const { sets } = this.#index;
    if (before !== noRanks) sets.load(before, this.#left);
    const left = sets.narrow(set, this.#left, this.#gone);
    const next = this.#emitBits(this.#gone, { found, at });
    const exact = left === sets.count(set);
    this.#leftCount = left;
    this.#leftSet = exact ? set : left === 1 ? ~firstMember(this.#left) : noRanks;
    if (exact && before > 0 && set > 0 && next === found + 1) sets.noteLost(before, set, this.ranks[found] ?? 0);
    return next;
  }

  #end(left: number, { found, at }: Found): number {
    if (left === noRanks) return this.#emitBits(this.#left, { found, at });
    const next = found + this.#index.sets.copyTo(left, this.ranks, found);
    this.blocks.fill(at, found, next);
    return next;
  }

  #emitBits(bits: Int32Array, { found, at }: Found): number {
    let next = found;
    for (let word = 0; word < bits.length; word++) {
      for (let left = bits[word] ?? 0; left !== 0; left &= left - 1) {
        this.ranks[next] = (word << 5) + lowestBit(left);
        this.blocks[next++] = at;
      }
    }
    return next;
  }

  #widen(top: number): void {
    const words = (top + 31) >> 5;
    if (words === this.#left.length) return;
    this.#left = new Int32Array(words);
    this.#gone = new Int32Array(words);
    this.ranks = new Int32Array(32 * words);
    this.blocks = new Int32Array(32 * words);
  }
}

/** The slot of hash `at`, whose block before is in `slot` (or `noSlot`): the likely one first, then the table. */
export function blockAfter(index: WalkedIndex, slot: number, hashes: SequenceHashes, at: number): number {
  const low = hashes[2 * at] ?? 0;
  const high = hashes[2 * at + 1] ?? 0;
  if (slot !== noSlot) {
    const guess = index.slots.guessAfter(slot);
    if (index.slots.matches(guess, low, high)) return guess;
  }
  return index.table.find(low, high);
}
