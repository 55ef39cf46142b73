import { BlockChanges, storageTiers } from './block-changes.ts';
import { BlockHolders } from './block-holders.ts';
import type { KvEvent } from './kv-event.ts';
import type { PageShape } from './page-shape.ts';
import type { PageSlot, PageTable } from './page-table.ts';

/** One block that a page ends: where its hash is in the table, and where that of the block before (null: none). */
type OnBlock = (at: number, before: number | null) => void;

/** The blocks that are published for a rank, each while a page of it holds it, and the changes not yet taken. */
export class PublishedBlocks {
  readonly #table: PageTable;
  readonly #shape: PageShape;
  readonly #holders = new BlockHolders();
  readonly #changes = new BlockChanges();
  #size = 0;

  constructor(table: PageTable, shape: PageShape) {
    this.#table = table;
    this.#shape = shape;
  }

  /** Blocks, whatever the number of tiers they are in. */
  get size(): number {
    return this.#size;
  }

  /** The block or blocks that `slot` ends came to be held, or ceased to be, in the tiers of the two masks. */
  change(slot: PageSlot, tiers: { readonly gained: number; readonly lost: number }): void {
    eachBlock(this.#table, this.#shape, slot, (at, before) => {
      for (let tier = 0; tier < storageTiers.length; tier++) {
        const bit = 1 << tier;
        if ((tiers.lost & bit) !== 0) this.#release(tier, at);
        if ((tiers.gained & bit) !== 0) this.#hold(tier, at, before);
      }
    });
  }

  take(): KvEvent[] {
    return this.#changes.take();
  }

  clear(): void {
    this.#holders.clear();
    this.#size = 0;
  }

  #hold(tier: number, at: number, before: number | null): void {
    const { hashes } = this.#table;
    const isNew = !this.#isHeld(at);
    if (!this.#holders.add(hashes[at] ?? 0, hashes[at + 1] ?? 0, tier)) return;
    if (isNew) this.#size++;
    this.#changes.stored(tier, hashes, at, before);
  }

  #release(tier: number, at: number): void {
    const { hashes } = this.#table;
    if (!this.#holders.remove(hashes[at] ?? 0, hashes[at + 1] ?? 0, tier)) return;
    if (!this.#isHeld(at)) this.#size--;
    this.#changes.removed(tier, hashes, at);
  }

  #isHeld(at: number): boolean {
    const { hashes } = this.#table;
    return storageTiers.some((_, tier) => this.#holders.has(hashes[at] ?? 0, hashes[at + 1] ?? 0, tier));
  }
}

/** Adds the block or blocks that `slot` ends to a snapshot's runs, in the tiers of `mask`. */
export function addToRuns(runs: BlockChanges, table: PageTable, slot: PageSlot, options: { readonly shape: PageShape; readonly mask: number }): void {
  for (let tier = 0; tier < storageTiers.length; tier++) {
    if ((options.mask & (1 << tier)) === 0) continue;
    eachBlock(table, options.shape, slot, (at, before) => runs.stored(tier, table.hashes, at, before));
  }
}

function eachBlock(table: PageTable, shape: PageShape, slot: PageSlot, onBlock: OnBlock): void {
  const previous = table.endOfBlockBefore(slot);
  let before = table.isRoot(previous) ? null : table.hashAt(previous, shape.blocksPerPage - 1);
  for (let block = 0; block < shape.blocksPerPage; block++) {
    const at = table.hashAt(slot, block);
    onBlock(at, before);
    before = at;
  }
}
