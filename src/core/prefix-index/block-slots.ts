/*
 * A slot is the memory of one block: four words (low and high hash, id of the rank set, id of the tier set). Slots
 * come in extents of eight: a child takes the slot behind its parent's, so a chain lies in a row and a lookup guesses
 * right without the hash table. Chunks are never moved, so growth costs one allocation of 272 KB and no copy.
 */

/** No slot; the first extent is never handed out. */
export const noSlot = 0;

const extentBits = 3;
const extentMask = (1 << extentBits) - 1;
const chunkBits = 14;
const chunkMask = (1 << chunkBits) - 1;
const extentsPerChunk = 1 << (chunkBits - extentBits);
const nextAt = 4 << chunkBits;
const liveAt = nextAt + extentsPerChunk;
const chunkWords = liveAt + extentsPerChunk;

const setWord = 2;
const tierWord = 3;

/** The slots of all blocks. A slot is in use while its rank set is not empty. */
export class BlockSlots {
  readonly #chunks: Int32Array[] = [new Int32Array(chunkWords)];
  readonly #freeExtents: number[] = [];
  #extents = 1;

  /** Slots that memory is there for. */
  get capacity(): number {
    return this.#chunks.length << chunkBits;
  }

  /** Whether the slot is in use for this hash. */
  matches(slot: number, low: number, high: number): boolean {
    const chunk = this.#chunk(slot);
    const at = (slot & chunkMask) << 2;
    return chunk[at] === low && chunk[at + 1] === high && chunk[at + setWord] !== 0;
  }

  /** Where the block after this one most likely is; the caller checks that it matches. */
  guessAfter(slot: number): number {
    if (((slot + 1) & extentMask) !== 0) return slot + 1;
    const next = this.#chunk(slot)[nextAt + ((slot & chunkMask) >>> extentBits)] ?? 0;
    return next << extentBits;
  }

  low(slot: number): number {
    return this.#chunk(slot)[(slot & chunkMask) << 2] ?? 0;
  }

  set(slot: number): number {
    return this.#chunk(slot)[((slot & chunkMask) << 2) + setWord] ?? 0;
  }

  putSet(slot: number, set: number): void {
    this.#chunk(slot)[((slot & chunkMask) << 2) + setWord] = set;
  }

  tiers(slot: number): number {
    return this.#chunk(slot)[((slot & chunkMask) << 2) + tierWord] ?? 0;
  }

  putTiers(slot: number, tiers: number): void {
    this.#chunk(slot)[((slot & chunkMask) << 2) + tierWord] = tiers;
  }

  /**
   * Takes a slot for a block after the one in `parent` (or `noSlot`) and puts hash and set there. Four numbers rather
   * than an object: it runs for every block stored.
   */
  take(parent: number, low: number, high: number, set: number): number {
    const slot = this.#slotAfter(parent);
    const chunk = this.#chunk(slot);
    const at = (slot & chunkMask) << 2;
    chunk[at] = low;
    chunk[at + 1] = high;
    chunk[at + setWord] = set;
    const live = liveAt + ((slot & chunkMask) >>> extentBits);
    chunk[live] = (chunk[live] ?? 0) + 1;
    return slot;
  }

  free(slot: number): void {
    const chunk = this.#chunk(slot);
    const at = (slot & chunkMask) << 2;
    chunk.fill(0, at, at + 4);
    const extent = (slot & chunkMask) >>> extentBits;
    const left = (chunk[liveAt + extent] ?? 0) - 1;
    chunk[liveAt + extent] = left;
    if (left > 0) return;
    // Other extents may still point here: a guess is checked against the hash, so a stale one is only a miss.
    chunk[nextAt + extent] = 0;
    this.#freeExtents.push(slot >>> extentBits);
  }

  #slotAfter(parent: number): number {
    const last = ((parent + 1) & extentMask) === 0;
    if (parent !== noSlot && !last && this.set(parent + 1) === 0) return parent + 1;
    const extent = this.#freeExtents.pop() ?? this.#newExtent();
    if (parent !== noSlot && last) this.#chunk(parent)[nextAt + ((parent & chunkMask) >>> extentBits)] = extent;
    return extent << extentBits;
  }

  #newExtent(): number {
    const extent = this.#extents++;
    if (extent << extentBits >= this.capacity) this.#chunks.push(new Int32Array(chunkWords));
    return extent;
  }

  #chunk(slot: number): Int32Array {
    const chunk = this.#chunks[slot >>> chunkBits];
    if (chunk === undefined) throw new Error(`slot ${slot} was never handed out`);
    return chunk;
  }
}
