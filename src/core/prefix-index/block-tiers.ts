import type { StorageTier } from '../kv-stream/kv-event.ts';
import type { BlockSlots } from './block-slots.ts';
import { noRanks, RankSets } from './rank-sets.ts';

const tierNumber = { device: 0, host: 1, disk: 2, external: 3 } as const satisfies Record<StorageTier, number>;
const tiers = [0, 1, 2, 3] as const;

/** What taking a block from one tier means for its holding. */
export type TierRemoval = 'held-elsewhere' | 'gone' | 'not-held';

/**
 * Which tiers a rank holds a block in, where that is more than the device alone: a set of (rank, tier) beside the
 * block's rank set. A rank without a member there holds the block on the device only, which costs nothing.
 */
export class BlockTiers {
  readonly #slots: BlockSlots;
  readonly #sets = new RankSets();

  constructor(slots: BlockSlots) {
    this.#slots = slots;
  }

  /** Stored sets; 0 while no engine uses more than the device. */
  get size(): number {
    return this.#sets.size;
  }

  /** `held`: the rank held the block already, in whatever tier. */
  store(slot: number, rank: number, options: { readonly tier: StorageTier; readonly held: boolean }): void {
    if (!this.#isNoted(slot, rank)) {
      if (options.tier === 'device') return;
      if (options.held) this.#add(slot, rank, tierNumber.device);
    }
    this.#add(slot, rank, tierNumber[options.tier]);
  }

  /** Takes one tier from a rank that holds the block. */
  remove(slot: number, rank: number, tier: StorageTier): TierRemoval {
    if (!this.#isNoted(slot, rank)) return tier === 'device' ? 'gone' : 'not-held';
    const member = memberOf(rank, tierNumber[tier]);
    if (!this.#sets.has(this.#slots.tiers(slot), member)) return 'not-held';
    this.#take(slot, member);
    if (!this.#isNoted(slot, rank)) return 'gone';
    const left = tiers.filter((other) => this.#sets.has(this.#slots.tiers(slot), memberOf(rank, other)));
    if (left.length === 1 && left[0] === tierNumber.device) this.#take(slot, memberOf(rank, tierNumber.device));
    return 'held-elsewhere';
  }

  /** Takes a rank from all tiers. */
  drop(slot: number, rank: number): void {
    if (this.#slots.tiers(slot) === noRanks) return;
    for (const tier of tiers) this.#take(slot, memberOf(rank, tier));
  }

  #isNoted(slot: number, rank: number): boolean {
    const set = this.#slots.tiers(slot);
    return set !== noRanks && tiers.some((tier) => this.#sets.has(set, memberOf(rank, tier)));
  }

  #add(slot: number, rank: number, tier: number): void {
    this.#replace(slot, this.#sets.with(this.#slots.tiers(slot), memberOf(rank, tier)));
  }

  #take(slot: number, member: number): void {
    this.#replace(slot, this.#sets.without(this.#slots.tiers(slot), member));
  }

  #replace(slot: number, set: number): void {
    const before = this.#slots.tiers(slot);
    if (set === before) return;
    this.#sets.retain(set);
    this.#sets.release(before);
    this.#slots.putTiers(slot, set);
  }
}

const memberOf = (rank: number, tier: number): number => 4 * rank + tier;
