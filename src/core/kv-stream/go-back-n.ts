/** An item to send now. `index` counts all items from 0 and stays the same when it is sent again. */
export interface Outgoing<T> {
  readonly index: number;
  readonly item: T;
  /** Which time around this is; an acknowledgement names it, so that one of an earlier round proves no hole. */
  readonly round: number;
}

export interface WindowLimits {
  /** Items sent and not acknowledged. */
  readonly window: number;
  /** Items kept, sent or not; the oldest are dropped beyond it. */
  readonly maxItems: number;
  readonly maxBytes: number;
}

export type Acknowledgement = 'progress' | 'stale' | 'hole';

interface Kept<T> {
  readonly item: T;
  readonly bytes: number;
}

/**
 * Items on their way to a log that acknowledges each: sent in order within a window, and after any trouble sent again in
 * order from the first that is not acknowledged. The log drops doubles by the item's index, so nothing is lost, doubled
 * or reordered while the buffer holds.
 */
export class GoBackN<T> {
  readonly #limits: WindowLimits;
  /** Items from `#base` on; those before `#head` in the array are gone. */
  readonly #kept: Kept<T>[] = [];
  #head = 0;
  #base = 0;
  #next = 0;
  #round = 0;
  #bytes = 0;

  constructor(limits: WindowLimits) {
    this.#limits = limits;
  }

  /** Items not acknowledged. */
  get pending(): number {
    return this.#kept.length - this.#head;
  }

  /** Items sent and not acknowledged. */
  get inFlight(): number {
    return this.#next - this.#base;
  }

  /** Takes an item; returns how many of the oldest had to go for it. */
  enqueue(item: T, bytes: number): number {
    this.#kept.push({ item, bytes });
    this.#bytes += bytes;
    let dropped = 0;
    while (this.pending > this.#limits.maxItems || (this.#bytes > this.#limits.maxBytes && this.pending > 1)) {
      this.#shift();
      dropped += 1;
    }
    return dropped;
  }

  /** The next to send, as long as the window has room; null otherwise. */
  take(): Outgoing<T> | null {
    if (this.inFlight >= this.#limits.window) return null;
    const kept = this.#kept[this.#head + this.inFlight];
    if (kept === undefined) return null;
    const outgoing = { index: this.#next, item: kept.item, round: this.#round };
    this.#next += 1;
    return outgoing;
  }

  /**
   * The log has the item. `hole`: it has a later one of this round, but not the first that is missing; the caller
   * rewinds. Acknowledgements of items that are gone, or of earlier rounds out of turn, are `stale`.
   */
  acknowledge(index: number, round: number): Acknowledgement {
    if (index < this.#base || index >= this.#next) return 'stale';
    if (index > this.#base) return round === this.#round ? 'hole' : 'stale';
    this.#shift();
    return 'progress';
  }

  /** Everything not acknowledged is to be sent again, from the first; returns how many were on their way. */
  rewind(): number {
    const again = this.inFlight;
    this.#next = this.#base;
    this.#round += 1;
    return again;
  }

  #shift(): void {
    this.#bytes -= this.#kept[this.#head]?.bytes ?? 0;
    this.#head += 1;
    this.#base += 1;
    this.#next = Math.max(this.#next, this.#base);
    // Moving the array up costs its length, so it waits until half of it is gone.
    if (this.#head < 1_024 || 2 * this.#head < this.#kept.length) return;
    this.#kept.splice(0, this.#head);
    this.#head = 0;
  }
}
