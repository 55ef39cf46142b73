import { assertNever } from '../assert-never.ts';
import type { RankId, RankKey } from '../identity/ids.ts';
import type { SequenceHashes } from '../identity/sequence-hash.ts';
import { hashCount } from '../identity/sequence-hash.ts';
import type { KvEvent } from '../kv-stream/kv-event.ts';
import { BlockSlots, noSlot } from './block-slots.ts';
import { BlockTable } from './block-table.ts';
import { BlockTiers } from './block-tiers.ts';
import { blockAfter, OverlapWalk } from './overlap-walk.ts';
import type { AppliedEvent, PrefixIndex } from './prefix-index.ts';
import { RankLog } from './rank-log.ts';
import type { NumberedRank } from './rank-numbers.ts';
import { RankNumbers } from './rank-numbers.ts';
import { noRanks, onlyRank, RankSets } from './rank-sets.ts';

interface Holder extends NumberedRank {
  readonly log: RankLog;
  heldBlocks: number;
}

const nothing: AppliedEvent = { storedBlocks: 0, removedBlocks: 0, unknownRemovals: 0, orphanedBlocks: 0, refusedBlocks: 0 };

/**
 * The radix tree of all blocks of a pool in flat memory. A sequence hash names a block and all before it, so a node
 * needs no map of children: going down is finding the next hash. Nothing is allocated for a block.
 */
export class RadixIndex implements PrefixIndex {
  readonly #slots = new BlockSlots();
  readonly #table = new BlockTable(this.#slots);
  readonly #sets = new RankSets();
  readonly #tiers = new BlockTiers(this.#slots);
  readonly #parts = { slots: this.#slots, table: this.#table, sets: this.#sets };
  readonly #walk = new OverlapWalk(this.#parts);
  readonly #holders = new RankNumbers<Holder>((rank) => ({ ...rank, log: new RankLog(), heldBlocks: 0 }));
  #blocks = 0;

  get blocks(): number {
    return this.#blocks;
  }

  /** Stored rank and tier sets: 0 when nothing is held by two ranks. */
  get storedSets(): number {
    return this.#sets.size + this.#tiers.size;
  }

  blocksHeld(id: RankId): number {
    return this.#holders.find(id)?.heldBlocks ?? 0;
  }

  apply(id: RankId, event: KvEvent): AppliedEvent {
    switch (event.kind) {
      case 'stored':
        return this.#store(this.#holders.findOrAdd(id), event);
      case 'removed':
        return this.#remove(this.#holders.find(id), event);
      case 'cleared':
        return this.#clear(this.#holders.find(id));
      default:
        return assertNever(event, 'KV event');
    }
  }

  removeRank(id: RankId): void {
    const holder = this.#holders.find(id);
    if (holder === null) return;
    this.#clear(holder);
    this.#holders.free(holder);
  }

  overlaps(hashes: SequenceHashes): ReadonlyMap<RankKey, number> {
    const found = new Map<RankKey, number>();
    this.#walk.walk(hashes, this.#holders.top, (rank, blocks) => found.set(this.#holders.get(rank).key, blocks));
    return found;
  }

  visitOverlaps(hashes: SequenceHashes, visit: (id: RankId, blocks: number) => void): void {
    this.#walk.walk(hashes, this.#holders.top, (rank, blocks) => visit(this.#holders.get(rank).id, blocks));
  }

  #store(holder: Holder, event: Extract<KvEvent, { kind: 'stored' }>): AppliedEvent {
    const { hashes, parent, tier } = event;
    const count = hashCount(hashes);
    let before = parent === null ? noSlot : blockAfter(this.#parts, noSlot, parent, 0);
    const orphaned = parent !== null && (before === noSlot || !this.#sets.has(this.#slots.set(before), holder.number));
    const heldBefore = holder.heldBlocks;
    let refusedBlocks = 0;
    for (let i = 0; i < count; i++) {
      const found = blockAfter(this.#parts, before, hashes, i);
      const slot = found === noSlot ? this.#addBlock(holder, before, hashes, i) : found;
      before = slot;
      if (slot === noSlot) {
        refusedBlocks++;
        continue;
      }
      const isNew = found === noSlot || this.#addHolder(holder, slot);
      if (tier !== 'device' || this.#slots.tiers(slot) !== noRanks) this.#tiers.store(slot, holder.number, { tier, held: !isNew });
    }
    this.#rewriteStaleLog(holder);
    return { ...nothing, storedBlocks: holder.heldBlocks - heldBefore, orphanedBlocks: orphaned ? count : 0, refusedBlocks };
  }

  /** The slot of a block that no rank held so far, or `noSlot` where the table has no room at that hash. */
  #addBlock(holder: Holder, before: number, hashes: SequenceHashes, index: number): number {
    const low = hashes[2 * index] ?? 0;
    const slot = this.#slots.take(before, low, hashes[2 * index + 1] ?? 0, onlyRank(holder.number));
    if (!this.#table.insert(low, slot)) {
      this.#slots.free(slot);
      return noSlot;
    }
    this.#blocks++;
    holder.heldBlocks++;
    holder.log.push(slot);
    return slot;
  }

  /** False: the rank held the block already. */
  #addHolder(holder: Holder, slot: number): boolean {
    const set = this.#slots.set(slot);
    const wider = this.#sets.with(set, holder.number);
    if (wider === set) return false;
    this.#replaceSet(slot, wider);
    holder.heldBlocks++;
    holder.log.push(slot);
    return true;
  }

  #remove(holder: Holder | null, event: Extract<KvEvent, { kind: 'removed' }>): AppliedEvent {
    const count = hashCount(event.hashes);
    if (holder === null) return { ...nothing, unknownRemovals: count };
    let removedBlocks = 0;
    let unknownRemovals = 0;
    for (let i = 0; i < count; i++) {
      const slot = blockAfter(this.#parts, noSlot, event.hashes, i);
      const holds = slot !== noSlot && this.#sets.has(this.#slots.set(slot), holder.number);
      const outcome = holds ? this.#tiers.remove(slot, holder.number, event.tier) : 'not-held';
      if (outcome === 'not-held') unknownRemovals++;
      if (outcome !== 'gone') continue;
      this.#drop(holder, slot);
      removedBlocks++;
    }
    this.#rewriteStaleLog(holder);
    return { ...nothing, removedBlocks, unknownRemovals };
  }

  #clear(holder: Holder | null): AppliedEvent {
    if (holder === null) return nothing;
    const removedBlocks = holder.heldBlocks;
    holder.log.drain((slot) => {
      if (this.#sets.has(this.#slots.set(slot), holder.number)) this.#drop(holder, slot);
    });
    return { ...nothing, removedBlocks };
  }

  /** Takes the block from a rank that holds it; the slot is free when that was the last. */
  #drop(holder: Holder, slot: number): void {
    this.#tiers.drop(slot, holder.number);
    const narrower = this.#sets.without(this.#slots.set(slot), holder.number);
    holder.heldBlocks--;
    if (narrower !== noRanks) {
      this.#replaceSet(slot, narrower);
      return;
    }
    this.#table.remove(this.#slots.low(slot), slot);
    this.#slots.free(slot);
    this.#blocks--;
  }

  #replaceSet(slot: number, set: number): void {
    this.#sets.retain(set);
    this.#sets.release(this.#slots.set(slot));
    this.#slots.putSet(slot, set);
  }

  #rewriteStaleLog(holder: Holder): void {
    if (!holder.log.isStale(holder.heldBlocks)) return;
    holder.log.rewrite(this.#slots.capacity, (slot) => this.#sets.has(this.#slots.set(slot), holder.number));
  }
}
