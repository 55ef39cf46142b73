/*
 * The slots a rank was added to, so that clearing it costs its own blocks and not the table's. Removals leave their
 * entries behind; once those are the half, the log is rewritten, each slot once.
 */
const slack = 64;

export class RankLog {
  #slots = new Int32Array(slack);
  #length = 0;

  push(slot: number): void {
    if (this.#length === this.#slots.length) {
      const grown = new Int32Array(this.#length + (this.#length >> 1));
      grown.set(this.#slots);
      this.#slots = grown;
    }
    this.#slots[this.#length++] = slot;
  }

  /** Whether less than half of the entries can still be true, when `held` are. */
  isStale(held: number): boolean {
    return this.#length > 2 * held + slack;
  }

  /** Keeps one entry for each slot that `holds`. `capacity` is above every slot. */
  rewrite(capacity: number, holds: (slot: number) => boolean): void {
    const seen = new Uint8Array((capacity >> 3) + 1);
    let kept = 0;
    for (let i = 0; i < this.#length; i++) {
      const slot = this.#slots[i] ?? 0;
      const bit = 1 << (slot & 7);
      const byte = seen[slot >> 3] ?? 0;
      if ((byte & bit) !== 0 || !holds(slot)) continue;
      seen[slot >> 3] = byte | bit;
      this.#slots[kept++] = slot;
    }
    this.#length = kept;
  }

  /** Hands out every slot, some perhaps twice or no longer held, and is empty then. */
  drain(visit: (slot: number) => void): void {
    for (let i = 0; i < this.#length; i++) visit(this.#slots[i] ?? 0);
    this.#slots = new Int32Array(slack);
    this.#length = 0;
  }
}
