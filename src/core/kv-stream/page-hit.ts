import type { SequenceHashes } from '../identity/sequence-hash.ts';
import type { PagePresence } from './page-presence.ts';
import type { PageShape } from './page-shape.ts';
import { noSlot, type PageSlot, type PageTable } from './page-table.ts';

interface Lookup {
  readonly table: PageTable;
  readonly presence: PagePresence;
  readonly shape: PageShape;
  /** Tiers that count, one bit each. */
  readonly mask: number;
}

/**
 * The longest prefix, in blocks, whose pages can be passed and whose last page can end a hit. It searches all pages that
 * branch off within a block, so it is for inspection; placing looks at the index.
 */
export function findHit(lookup: Lookup, hashes: SequenceHashes): number {
  const { blocksPerPage } = lookup.shape;
  let ends: readonly PageSlot[] = [...lookup.table.roots()];
  let best = 0;
  for (let block = 0; block + blocksPerPage <= hashes.length >> 1; block += blocksPerPage) {
    ends = ends.flatMap((end) => blockEndsBelow(lookup, end)).filter((slot) => hasHashes(lookup, slot, hashes.subarray(2 * block, 2 * (block + blocksPerPage))));
    if (ends.length === 0) break;
    if (ends.some((slot) => (lookup.presence.usable(slot) & lookup.mask) !== 0)) best = block + blocksPerPage;
  }
  return best;
}

/** The last pages of the blocks that follow `end` and can be passed. */
function blockEndsBelow({ table, presence, mask }: Lookup, end: PageSlot): PageSlot[] {
  const found: PageSlot[] = [];
  const stack = [end];
  for (let slot = stack.pop(); slot !== undefined; slot = stack.pop()) {
    for (let child = table.firstChildOf(slot); child !== noSlot; child = table.nextSiblingOf(child)) {
      if ((presence.passable(child) & mask) === 0) continue;
      if (table.endsBlock(child)) found.push(child);
      else stack.push(child);
    }
  }
  return found;
}

function hasHashes({ table }: Lookup, slot: PageSlot, wanted: Int32Array): boolean {
  const at = table.hashAt(slot, 0);
  return wanted.every((word, index) => table.hashes[at + index] === word);
}
