import { assertNever } from '../assert-never.ts';
import type { RankId, RankKey } from '../identity/ids.ts';
import type { SequenceHashes } from '../identity/sequence-hash.ts';
import { hashCount } from '../identity/sequence-hash.ts';
import type { KvEvent } from '../kv-stream/kv-event.ts';
import { BlockSlots, noSlot } from './block-slots.ts';
import { BlockTable } from './block-table.ts';
import { BlockTiers } from './block-tiers.ts';
import { ChainWriter } from './chain-writer.ts';
import { OverlapWalk } from './overlap-walk.ts';
import type { AppliedEvent, PrefixIndex } from './prefix-index.ts';
import type { NumberedRank } from './rank-numbers.ts';
import { RankNumbers } from './rank-numbers.ts';
import { noRanks, RankSets } from './rank-sets.ts';
import { RankSweep } from './rank-sweep.ts';

interface Holder extends NumberedRank {
  heldBlocks: number;
}

/** About 500 MB. */
const defaultMaxBlocks = 16_777_216;
/** Units of sweeping that each event pays for: 10 to 30 us. */
const unitsAnEvent = 1_024;

const nothing: AppliedEvent = { storedBlocks: 0, removedBlocks: 0, unknownRemovals: 0, orphanedBlocks: 0, refusedBlocks: 0 };

/**
 * The radix tree of all blocks of a pool in flat memory. A sequence hash names a block and all before it, so a node
 * needs no map of children: going down is finding the next hash. Nothing is allocated for a block.
 *
 * A rank that is cleared or removed is masked at once, whatever it held; its blocks are taken out in slices, one with
 * each event that follows or by `sweep`.
 *
 * When full (`maxBlocks` distinct blocks) new blocks are refused and counted, and blocks that are there already still
 * gain ranks: what the index says stays true, only hits are lost. It does not evict, since engines do: their removals
 * make room. What was refused is missing until the rank stores it again or sends a snapshot; `refusedBlocks` tells the
 * caller that the rank is known in part only.
 */
export class RadixIndex implements PrefixIndex {
  readonly #slots = new BlockSlots();
  readonly #table = new BlockTable(this.#slots);
  readonly #sets = new RankSets();
  readonly #tiers = new BlockTiers(this.#slots);
  readonly #parts = { slots: this.#slots, table: this.#table, sets: this.#sets };
  readonly #walk = new OverlapWalk(this.#parts);
  readonly #writer: ChainWriter;
  readonly #holders = new RankNumbers<Holder>((rank) => ({ ...rank, heldBlocks: 0 }));
  readonly #sweep = new RankSweep(
    this.#parts,
    (slot, rank) => this.#drop(rank, slot),
    (rank) => this.#holders.recycle(rank),
  );

  constructor(options: { readonly maxBlocks: number } = { maxBlocks: defaultMaxBlocks }) {
    this.#writer = new ChainWriter(this.#parts, this.#tiers, options.maxBlocks);
  }

  get blocks(): number {
    return this.#writer.blocks;
  }

  /** Stored rank and tier sets: 0 when nothing is held by two ranks. */
  get storedSets(): number {
    return this.#sets.size + this.#tiers.size;
  }

  blocksHeld(id: RankId): number {
    return this.#holders.find(id)?.heldBlocks ?? 0;
  }

  apply(id: RankId, event: KvEvent): AppliedEvent {
    if (this.#sweep.pending) this.#sweep.slice(unitsAnEvent);
    switch (event.kind) {
      case 'stored':
        return this.#store(this.#findOrAdd(id), event);
      case 'removed':
        return this.#remove(this.#holders.find(id), event);
      case 'cleared':
        return this.#clear(id);
      default:
        return assertNever(event, 'KV event');
    }
  }

  removeRank(id: RankId): void {
    this.#clear(id);
  }

  sweep(units: number): boolean {
    this.#sweep.slice(units);
    return this.#sweep.pending;
  }

  overlaps(hashes: SequenceHashes): ReadonlyMap<RankKey, number> {
    const found = new Map<RankKey, number>();
    this.visitOverlaps(hashes, (id, blocks, key) => found.set(key, blocks));
    return found;
  }

  visitOverlaps(hashes: SequenceHashes, visit: (id: RankId, blocks: number, key: RankKey) => void): void {
    const found = this.#walk.walk(hashes, this.#holders.top);
    const { ranks, blocks } = this.#walk;
    for (let i = 0; i < found; i++) {
      const holder = this.#holders.at(ranks[i] ?? 0);
      if (holder !== null) visit(holder.id, blocks[i] ?? 0, holder.key);
    }
  }

  #findOrAdd(id: RankId): Holder {
    // Numbers of masked ranks are only free again after a pass.
    if (this.#holders.exhausted) while (this.sweep(unitsAnEvent));
    return this.#holders.findOrAdd(id);
  }

  #store(holder: Holder, event: Extract<KvEvent, { kind: 'stored' }>): AppliedEvent {
    const { hashes, parent, tier } = event;
    const before = parent === null ? noSlot : this.#table.find(parent[0] ?? 0, parent[1] ?? 0);
    const orphaned = parent !== null && (before === noSlot || !this.#sets.has(this.#slots.set(before), holder.number));
    const heldBefore = holder.heldBlocks;
    const refusedBlocks = this.#writer.store(holder, before, hashes, tier);
    return { storedBlocks: holder.heldBlocks - heldBefore, removedBlocks: 0, unknownRemovals: 0, orphanedBlocks: orphaned ? hashCount(hashes) : 0, refusedBlocks };
  }

  #remove(holder: Holder | null, event: Extract<KvEvent, { kind: 'removed' }>): AppliedEvent {
    const { hashes, tier } = event;
    const count = hashCount(hashes);
    if (holder === null) return { ...nothing, unknownRemovals: count };
    let unknownRemovals = 0;
    let removedBlocks = 0;
    let slot = noSlot;
    for (let i = 0; i < count; i++) {
      slot = this.#findNear(slot, hashes[2 * i] ?? 0, hashes[2 * i + 1] ?? 0);
      const holds = slot !== noSlot && this.#sets.has(this.#slots.set(slot), holder.number);
      const outcome = holds ? this.#tiers.remove(slot, holder.number, tier) : 'not-held';
      if (outcome === 'not-held') unknownRemovals++;
      if (outcome !== 'gone') continue;
      this.#drop(holder.number, slot);
      removedBlocks++;
    }
    holder.heldBlocks -= removedBlocks;
    return { storedBlocks: 0, removedBlocks, unknownRemovals, orphanedBlocks: 0, refusedBlocks: 0 };
  }

  /** Engines evict from the tail, so the block is likely before the one of the last removal. */
  #findNear(slot: number, low: number, high: number): number {
    return slot !== noSlot && this.#slots.matches(slot - 1, low, high) ? slot - 1 : this.#table.find(low, high);
  }

  #clear(id: RankId): AppliedEvent {
    const holder = this.#holders.find(id);
    if (holder === null) return nothing;
    this.#holders.retire(holder);
    this.#sweep.mask(holder.number);
    this.#sweep.slice(unitsAnEvent);
    return { ...nothing, removedBlocks: holder.heldBlocks };
  }

  /** Takes the block from a rank that holds it; the slot is free when that was the last. */
  #drop(rank: number, slot: number): void {
    if (this.#slots.anyTiers) this.#tiers.drop(slot, rank);
    const set = this.#slots.set(slot);
    const narrower = this.#sets.without(set, rank);
    this.#sets.retain(narrower);
    this.#sets.release(set);
    if (narrower !== noRanks) {
      this.#slots.putSet(slot, narrower);
      return;
    }
    this.#table.remove(this.#slots.low(slot), slot);
    this.#slots.free(slot);
    this.#writer.noteFreed();
  }
}
