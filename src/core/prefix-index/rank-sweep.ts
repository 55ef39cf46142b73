import { changesAt, extentBase, extentBits, placeMask, setsAt } from './block-slots.ts';
import type { WalkedIndex } from './overlap-walk.ts';
import { lowestBit } from './rank-set-store.ts';
import { noRanks } from './rank-sets.ts';

/** What taking one block from a rank costs, against looking at one extent. */
const dropWork = 8;

/**
 * Takes ranks that are masked out of all blocks, a slice at a time: a pass over all extents for those that were masked
 * before it began. An extent costs about 10 ns and a block that is taken 200 ns, so that no rank needs a log of its
 * blocks. New blocks never have a masked rank, so what a pass has left behind it stays clean.
 */
export class RankSweep {
  readonly #index: WalkedIndex;
  readonly #drop: (slot: number, rank: number) => void;
  readonly #done: (rank: number) => void;
  #masked: readonly number[] = [];
  #waiting: number[] = [];
  #extent = 0;
  #end = 0;

  /** `drop` takes a block from a rank; `done` is told of each rank that no block has any more. */
  constructor(index: WalkedIndex, drop: (slot: number, rank: number) => void, done: (rank: number) => void) {
    this.#index = index;
    this.#drop = drop;
    this.#done = done;
  }

  /** Whether any rank is still in blocks. */
  get pending(): boolean {
    return this.#masked.length + this.#waiting.length > 0;
  }

  mask(rank: number): void {
    this.#waiting.push(rank);
  }

  /** Works for about `units` extents, or an eighth as many blocks taken. */
  slice(units: number): void {
    for (let left = units; left > 0 && this.pending; ) {
      if (this.#extent >= this.#end) this.#nextPass();
      else left -= 1 + dropWork * this.#sweepExtent(this.#extent++ << extentBits);
      if (this.#extent >= this.#end) this.#endPass();
    }
  }

  #nextPass(): void {
    this.#masked = this.#waiting;
    this.#waiting = [];
    this.#extent = 0;
    this.#end = this.#index.slots.extents;
  }

  #endPass(): void {
    for (const rank of this.#masked) this.#done(rank);
    this.#masked = [];
  }

  /** How many holdings were taken. */
  #sweepExtent(slot: number): number {
    const chunk = this.#index.slots.chunk(slot);
    const base = extentBase(slot);
    let taken = 0;
    let place = 0;
    for (let bits = (chunk[base + changesAt] ?? 0) | (1 << (placeMask + 1)); bits !== 0; bits &= bits - 1) {
      const end = lowestBit(bits);
      for (const rank of this.#masked) {
        if (this.#index.sets.has(chunk[base + setsAt + place] ?? noRanks, rank)) taken += this.#take(slot, rank, { place, end });
      }
      place = end;
    }
    return taken;
  }

  #take(slot: number, rank: number, { place, end }: { readonly place: number; readonly end: number }): number {
    for (let each = place; each < end; each++) this.#drop(slot + each, rank);
    return end - place;
  }
}
