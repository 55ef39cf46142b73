import type { StorageTier } from '../kv-stream/kv-event.ts';
import type { SequenceHashes } from '../identity/sequence-hash.ts';
import { hashCount } from '../identity/sequence-hash.ts';
import { changesAt, extentBase, noSlot, noteChanges, placeMask, setsAt } from './block-slots.ts';
import { inserted } from './block-table.ts';
import type { BlockTiers } from './block-tiers.ts';
import { lastMatching } from './linked-run.ts';
import { lowestBit } from './rank-set-store.ts';
import type { WalkedIndex } from './overlap-walk.ts';
import { noRanks, onlyRank } from './rank-sets.ts';

/** A rank to which blocks are added. */
export interface StoringRank {
  readonly number: number;
  heldBlocks: number;
}

/**
 * Adds a chain of blocks to a rank. Blocks that are there already are taken a row of an extent at a time, with one
 * step for each different rank set in it; new ones one by one.
 */
export class ChainWriter {
  readonly #index: WalkedIndex;
  readonly #tiers: BlockTiers;
  readonly #maxBlocks: number;
  #blocks = 0;

  constructor(index: WalkedIndex, tiers: BlockTiers, maxBlocks: number) {
    this.#index = index;
    this.#tiers = tiers;
    this.#maxBlocks = maxBlocks;
  }

  /** Blocks added so far and not taken out again. */
  get blocks(): number {
    return this.#blocks;
  }

  /** A block was taken out, its slot is free. */
  noteFreed(): void {
    this.#blocks--;
  }

  /** `parent` is the slot of the block before the first, or `noSlot`. How many blocks were refused. */
  store(rank: StoringRank, parent: number, hashes: SequenceHashes, tier: StorageTier): number {
    const { slots } = this.#index;
    const count = hashCount(hashes);
    const alone = onlyRank(rank.number);
    let refusedBlocks = 0;
    let before = parent;
    for (let at = 0; at < count; ) {
      const low = hashes[2 * at] ?? 0;
      const high = hashes[2 * at + 1] ?? 0;
      const guess = before === noSlot ? noSlot : slots.guessAfter(before);
      let slot = guess;
      if (guess === noSlot || !slots.matches(guess, low, high)) {
        const offered = slots.slotAfter(before);
        slot = this.#blocks < this.#maxBlocks ? this.#index.table.findOrInsert(low, high, offered) : this.#findOnly(low, high);
        if (slot === inserted) {
          slots.occupy(offered, before, low, high, alone);
          this.#blocks++;
          rank.heldBlocks++;
          if (tier !== 'device') this.#tiers.store(offered, rank.number, { tier, held: false });
          before = offered;
          at++;
          continue;
        }
        if (slot < 0) {
          refusedBlocks++;
          before = noSlot;
          at++;
          continue;
        }
      }
      if (before !== noSlot && slot === before + 1 && (slot & placeMask) !== 0) slots.link(slot);
      const last = this.#addToRow(rank, slot, hashes, at, tier);
      at += last - (slot & placeMask) + 1;
      before = (slot & ~placeMask) + last;
    }
    return refusedBlocks;
  }

  /** Below 0: not there, and there is no room for more. */
  #findOnly(low: number, high: number): number {
    const slot = this.#index.table.find(low, high);
    return slot === noSlot ? -1 : slot;
  }

  /** Adds the rank to the block in `slot` and those in a row behind it that the chain has too. The last one's place. */
  #addToRow(rank: StoringRank, slot: number, hashes: SequenceHashes, at: number, tier: StorageTier): number {
    const { slots, sets } = this.#index;
    const chunk = slots.chunk(slot);
    const base = extentBase(slot);
    const first = slot & placeMask;
    const last = lastMatching(chunk, base, first, hashes, at);
    const noted = tier !== 'device' || slots.anyTiers;
    const changes = ((chunk[base + changesAt] ?? 0) & ((2 << last) - (2 << first))) | (2 << last);
    let changed = false;
    let place = first;
    for (let bits = changes; bits !== 0; bits &= bits - 1) {
      const end = lowestBit(bits);
      const set = chunk[base + setsAt + place] ?? noRanks;
      const wider = sets.with(set, rank.number);
      if (noted) for (let each = place; each < end; each++) this.#noteTier(slot - first + each, rank.number, { tier, held: wider === set });
      if (wider !== set) {
        for (let each = place; each < end; each++) chunk[base + setsAt + each] = wider;
        sets.retain(wider, end - place);
        sets.release(set, end - place);
        rank.heldBlocks += end - place;
        changed = true;
      }
      place = end;
    }
    if (changed) noteChanges(chunk, base, first, last);
    return last;
  }

  #noteTier(slot: number, rank: number, options: { readonly tier: StorageTier; readonly held: boolean }): void {
    if (options.tier !== 'device' || this.#index.slots.tiers(slot) !== noRanks) this.#tiers.store(slot, rank, options);
  }
}
