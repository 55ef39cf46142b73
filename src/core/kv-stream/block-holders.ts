const firstCapacity = 1_024;
const wordsPerEntry = 3;

/**
 * How many pages hold each block in each tier. Two names of an engine can stand for one block (an adapter loaded again,
 * a key that its events leave out), and then the end of one is not the end of the block. An open-addressed table of
 * 64-bit hash and tier: 12 bytes an entry, at most three quarters full.
 */
export class BlockHolders {
  /** Of each entry: low word, high word, then holders * 4 + tier; 0 is an empty place. */
  #entries = new Int32Array(wordsPerEntry * firstCapacity);
  #capacity = firstCapacity;
  #size = 0;

  /** Pairs of block and tier that are held. */
  get size(): number {
    return this.#size;
  }

  has(low: number, high: number, tier: number): boolean {
    return this.#entries[this.#find(low, high, tier) + 2] !== 0;
  }

  /** True where this is the first holder. */
  add(low: number, high: number, tier: number): boolean {
    if (4 * (this.#size + 1) > 3 * this.#capacity) this.#grow();
    const at = this.#find(low, high, tier);
    const entries = this.#entries;
    const before = entries[at + 2] ?? 0;
    if (before !== 0) {
      entries[at + 2] = before + 4;
      return false;
    }
    entries[at] = low;
    entries[at + 1] = high;
    entries[at + 2] = 4 + tier;
    this.#size++;
    return true;
  }

  /** True where that was the last holder; a block that nobody holds stays as it is. */
  remove(low: number, high: number, tier: number): boolean {
    const at = this.#find(low, high, tier);
    const before = this.#entries[at + 2] ?? 0;
    if (before === 0) return false;
    if (before >= 8) {
      this.#entries[at + 2] = before - 4;
      return false;
    }
    this.#closeHole(at);
    this.#size--;
    return true;
  }

  clear(): void {
    this.#entries = new Int32Array(wordsPerEntry * firstCapacity);
    this.#capacity = firstCapacity;
    this.#size = 0;
  }

  /** Where the entry is, or the empty place where it would go. */
  #find(low: number, high: number, tier: number): number {
    const entries = this.#entries;
    let at = this.#home(low, tier);
    for (;;) {
      const count = entries[at + 2] ?? 0;
      if (count === 0 || (entries[at] === low && entries[at + 1] === high && (count & 3) === tier)) return at;
      at = this.#after(at);
    }
  }

  #home(low: number, tier: number): number {
    return wordsPerEntry * (((low + Math.imul(tier, 0x9e3779b1)) >>> 0) & (this.#capacity - 1));
  }

  #after(at: number): number {
    const next = at + wordsPerEntry;
    return next === this.#entries.length ? 0 : next;
  }

  /** Moves back the entries behind a hole that would no longer be found over it. */
  #closeHole(start: number): void {
    const entries = this.#entries;
    let hole = start;
    let at = this.#after(hole);
    while (entries[at + 2] !== 0) {
      const home = this.#home(entries[at] ?? 0, (entries[at + 2] ?? 0) & 3);
      const staysBehindHole = hole <= at ? hole < home && home <= at : hole < home || home <= at;
      if (!staysBehindHole) {
        entries.copyWithin(hole, at, at + wordsPerEntry);
        hole = at;
      }
      at = this.#after(at);
    }
    entries[hole + 2] = 0;
  }

  #grow(): void {
    const old = this.#entries;
    this.#capacity *= 2;
    this.#entries = new Int32Array(wordsPerEntry * this.#capacity);
    for (let at = 0; at < old.length; at += wordsPerEntry) {
      const count = old[at + 2] ?? 0;
      if (count === 0) continue;
      const to = this.#find(old[at] ?? 0, old[at + 1] ?? 0, count & 3);
      this.#entries.set(old.subarray(at, at + wordsPerEntry), to);
    }
  }
}
