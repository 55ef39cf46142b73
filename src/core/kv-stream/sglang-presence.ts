import { tierNumber } from './block-changes.ts';
import type { EngineHash } from './engine-event.ts';
import type { PagePresence, RemovedEvent, StoredEvent } from './page-presence.ts';
import { grown, type PageSlot } from './page-table.ts';

/** SGLang's events mean presence: a page is there in a tier from its last store to its next removal, however often it was stored. */
export class SglangPresence implements PagePresence {
  readonly reach = 0;
  #tiers = new Uint8Array(1_024);

  meet(): boolean {
    return false;
  }

  store(_name: EngineHash, slot: PageSlot | null, event: StoredEvent): void {
    if (slot === null) return;
    while (slot >= this.#tiers.length) this.#tiers = grown(this.#tiers, new Uint8Array(2 * this.#tiers.length));
    this.#tiers[slot] = this.usable(slot) | (1 << tierNumber(event.tier));
  }

  remove(_name: EngineHash, slot: PageSlot | null, event: RemovedEvent): boolean {
    if (slot === null) return false;
    const before = this.usable(slot);
    const after = before & ~(1 << tierNumber(event.tier));
    this.#tiers[slot] = after;
    return before !== after;
  }

  usable(slot: PageSlot): number {
    return this.#tiers[slot] ?? 0;
  }

  passable(slot: PageSlot): number {
    return this.usable(slot);
  }

  isGone(slot: PageSlot): boolean {
    return this.usable(slot) === 0;
  }

  clear(): void {
    this.#tiers.fill(0);
  }
}
