import type { EngineEvent, EngineHash } from './engine-event.ts';
import type { PageSlot } from './page-table.ts';

export type StoredEvent = Extract<EngineEvent, { kind: 'stored' }>;
export type RemovedEvent = Extract<EngineEvent, { kind: 'removed' }>;

/** What an engine's stores and removals mean for one page: where kinds of engine differ. */
export interface PagePresence {
  /** How far below a changed page others may change by it, in pages; 0 for the page alone. */
  readonly reach: number;
  /** Learns what the event is about (its group); true where that changes what pages of before are worth. */
  meet(event: StoredEvent): boolean;
  /** A copy of the page came. `slot` is null while the page has no place in the tree yet. */
  store(name: EngineHash, slot: PageSlot | null, event: StoredEvent): void;
  /** A copy of the page went; false where none was known. */
  remove(name: EngineHash, slot: PageSlot | null, event: RemovedEvent): boolean;
  /** One bit a tier in which the page can be used, judged by itself (not by the pages before it). */
  usable(slot: PageSlot): number;
  /** As `usable`, but without what a hit needs only at its end: where a longer hit may pass through. */
  passable(slot: PageSlot): number;
  /** Whether no copy is left, in any tier. */
  isGone(slot: PageSlot): boolean;
  clear(): void;
}
