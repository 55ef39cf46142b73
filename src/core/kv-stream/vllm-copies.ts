import { tierNumber } from './block-changes.ts';
import type { EngineGroup, EngineHash } from './engine-event.ts';
import type { PagePresence, RemovedEvent, StoredEvent } from './page-presence.ts';
import { noSlot, type PageSlot, type PageTable } from './page-table.ts';

/** The copies of one KV cache group in one tier. */
interface GroupCopies {
  readonly tier: number;
  /** How many pages before its end a hit needs in this group; null: all of them, from the first on. */
  readonly windowPages: number | null;
  readonly copies: Map<EngineHash, number>;
}

const noGroup = -1;

/**
 * vLLM's events are about physical copies: equal pages are not merged, each copy is stored once and removed once, so a
 * page is there while copies remain, counted by group and hash. A hit needs every group: those with full attention from
 * the first page on, one with a sliding window only the window before the hit's end (its store names just the pages
 * that it keeps, and comes before the full group's, so copies are counted by name, placed or not).
 */
export class VllmCopies implements PagePresence {
  readonly #table: PageTable;
  readonly #pageSize: number;
  readonly #maxNames: number;
  readonly #groups = new Map<string, GroupCopies>();
  #reach = 0;

  constructor(table: PageTable, options: { readonly pageSize: number; readonly maxNames: number }) {
    this.#table = table;
    this.#pageSize = options.pageSize;
    this.#maxNames = options.maxNames;
  }

  get reach(): number {
    return this.#reach;
  }

  meet(event: StoredEvent): boolean {
    const key = keyOf(event.tier, event.group?.index ?? null);
    if (this.#groups.has(key)) return false;
    const windowPages = event.group === null ? null : pagesOfWindow(event.group, this.#pageSize);
    this.#groups.set(key, { tier: tierNumber(event.tier), windowPages, copies: new Map() });
    if (windowPages !== null) this.#reach = Math.max(this.#reach, windowPages - 1);
    return this.#groups.size > 1;
  }

  store(name: EngineHash, slot: PageSlot | null, event: StoredEvent): void {
    const group = this.#groups.get(keyOf(event.tier, event.group?.index ?? null));
    if (group === undefined) return;
    // A group without all it has only makes fewer pages usable: at the bound what is left out is never over-credited.
    if (group.copies.size >= this.#maxNames && !group.copies.has(name)) return;
    const kept = slot === null ? name : this.#table.nameOf(slot);
    group.copies.set(kept, (group.copies.get(kept) ?? 0) + 1);
  }

  remove(name: EngineHash, _slot: PageSlot | null, event: RemovedEvent): boolean {
    const group = this.#groups.get(keyOf(event.tier, event.group));
    const copies = group?.copies.get(name);
    if (group === undefined || copies === undefined) return false;
    if (copies > 1) group.copies.set(name, copies - 1);
    else group.copies.delete(name);
    return true;
  }

  usable(slot: PageSlot): number {
    return this.#tiersWhere((group) => (group.windowPages === null ? this.#has(group, slot) : this.#hasWindow(group, group.windowPages, slot)));
  }

  passable(slot: PageSlot): number {
    return this.#tiersWhere((group) => group.windowPages !== null || this.#has(group, slot));
  }

  isGone(slot: PageSlot): boolean {
    for (const group of this.#groups.values()) if (this.#has(group, slot)) return false;
    return true;
  }

  /** The groups stay known: they belong to the model, not to what was cached. */
  clear(): void {
    for (const group of this.#groups.values()) group.copies.clear();
  }

  #has(group: GroupCopies, slot: PageSlot): boolean {
    return group.copies.has(this.#table.nameOf(slot));
  }

  #hasWindow(group: GroupCopies, pages: number, end: PageSlot): boolean {
    let slot = end;
    for (let page = 0; page < pages; page++) {
      if (slot === noSlot || this.#table.isRoot(slot)) return true;
      if (!this.#has(group, slot)) return false;
      slot = this.#table.parentOf(slot);
    }
    return true;
  }

  /** The tiers with a group, all of whose groups say yes. */
  #tiersWhere(holds: (group: GroupCopies) => boolean): number {
    let some = 0;
    let lacking = 0;
    for (const group of this.#groups.values()) {
      some |= 1 << group.tier;
      if (!holds(group)) lacking |= 1 << group.tier;
    }
    return some & ~lacking;
  }
}

const keyOf = (tier: StoredEvent['tier'], group: number | null): string => `${tier} ${group ?? noGroup}`;

/** Any kind but a sliding window with a width is taken for full attention: that asks for most, so it never over-credits. */
function pagesOfWindow(group: EngineGroup, pageSize: number): number | null {
  if (group.kind !== 'sliding_window' || group.slidingWindow === null) return null;
  // A token sees the window's other tokens before it: 63 of them with a window of 64.
  return Math.max(1, Math.ceil((group.slidingWindow - 1) / pageSize));
}
