import type { SequenceHashes } from '../identity/sequence-hash.ts';

const smallestCapacity = 64;

/*
 * How many chains of a multiset hold each sequence hash. Open addressing over typed arrays, since a Map would need a
 * key object a block: 512 blocks are added and taken away in about 10 us.
 *
 * Only whole chains, from a prompt's first block on, are added and removed. So whenever a hash is held, all before it
 * in its chain are held too, and how far a chain is held is found by bisection, in ten look-ups for 1,000 blocks.
 */
export class BlockCounts {
  #low = new Int32Array(smallestCapacity);
  #high = new Int32Array(smallestCapacity);
  /** 0: the slot is free. */
  #counts = new Uint32Array(smallestCapacity);
  #size = 0;

  /** Distinct hashes held. */
  get size(): number {
    return this.#size;
  }

  /** Adds one chain: each of its hashes once more. */
  addChain(hashes: SequenceHashes): void {
    for (let word = 0; word < hashes.length; word += 2) {
      this.#add(hashes[word] ?? 0, hashes[word + 1] ?? 0, 1);
    }
  }

  /** Takes away a chain that was added before. */
  removeChain(hashes: SequenceHashes): void {
    for (let word = 0; word < hashes.length; word += 2) {
      this.#remove(hashes[word] ?? 0, hashes[word + 1] ?? 0);
    }
  }

  /** Leading hashes of this chain that are held. */
  leadingHeld(hashes: SequenceHashes): number {
    let held = 0;
    let end = hashes.length >> 1;
    while (held < end) {
      const middle = (held + end) >> 1;
      if (this.#has(hashes[2 * middle] ?? 0, hashes[2 * middle + 1] ?? 0)) held = middle + 1;
      else end = middle;
    }
    return held;
  }

  #has(low: number, high: number): boolean {
    return this.#size > 0 && this.#counts[this.#slotOf(low, high)] !== 0;
  }

  /** The slot that has this hash, or the free one where it would go. */
  #slotOf(low: number, high: number): number {
    const mask = this.#counts.length - 1;
    let slot = low & mask;
    while (this.#counts[slot] !== 0 && (this.#low[slot] !== low || this.#high[slot] !== high)) slot = (slot + 1) & mask;
    return slot;
  }

  #add(low: number, high: number, times: number): void {
    const slot = this.#slotOf(low, high);
    const count = this.#counts[slot] ?? 0;
    this.#counts[slot] = count + times;
    if (count > 0) return;
    this.#low[slot] = low;
    this.#high[slot] = high;
    this.#size += 1;
    if (2 * this.#size > this.#counts.length) this.#grow(2 * this.#counts.length);
  }

  #remove(low: number, high: number): void {
    const slot = this.#slotOf(low, high);
    const count = this.#counts[slot] ?? 0;
    if (count === 0) return;
    this.#counts[slot] = count - 1;
    if (count > 1) return;
    this.#size -= 1;
    this.#closeGap(slot);
  }

  /** Moves later entries of the run into the slot that became free, so that none is cut off from where it belongs. */
  #closeGap(free: number): void {
    const mask = this.#counts.length - 1;
    let gap = free;
    for (let slot = (free + 1) & mask; this.#counts[slot] !== 0; slot = (slot + 1) & mask) {
      const home = (this.#low[slot] ?? 0) & mask;
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
      this.#low[gap] = this.#low[slot] ?? 0;
      this.#high[gap] = this.#high[slot] ?? 0;
      this.#counts[gap] = this.#counts[slot] ?? 0;
      this.#counts[slot] = 0;
      gap = slot;
    }
  }

  #grow(capacity: number): void {
    const [low, high, counts] = [this.#low, this.#high, this.#counts];
    this.#low = new Int32Array(capacity);
    this.#high = new Int32Array(capacity);
    this.#counts = new Uint32Array(capacity);
    this.#size = 0;
    counts.forEach((count, slot) => {
      if (count > 0) this.#add(low[slot] ?? 0, high[slot] ?? 0, count);
    });
  }
}
