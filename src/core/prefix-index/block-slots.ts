/*
 * A slot is the memory of one block. Slots come in extents of 16, and a child takes the slot behind its parent's, so
 * that a chain lies in a row. Each extent knows two things about its own row, a bit a slot:
 *   linked    the block here is the child of the one in the slot before
 *   changes   the rank set here is not the one of the slot before
 * A sequence hash names a block and all before it. So along linked slots one hash that is equal says that all before
 * it are, and a walk of a whole extent costs one compare and one step for each change of the ranks, not for each
 * block. Chunks are never moved: growth costs one allocation of 426 KB and no copy.
 */

/** No slot; the first extent is never handed out. */
export const noSlot = 0;

export const extentBits = 4;
const extentSlots = 1 << extentBits;
/** The place of a slot in its extent. */
export const placeMask = extentSlots - 1;

/** Words of an extent: 16 times low and high hash, 16 set ids, then what is known of all. */
export const setsAt = 2 * extentSlots;
const nextAt = setsAt + extentSlots;
const liveAt = nextAt + 1;
export const linkedAt = liveAt + 1;
export const changesAt = linkedAt + 1;
const extentWords = changesAt + 1;

const chunkExtentBits = 11;
const chunkExtents = 1 << chunkExtentBits;
const chunkBits = chunkExtentBits + extentBits;

/** Where the extent of a slot begins in its chunk. */
export const extentBase = (slot: number): number => ((slot >>> extentBits) & (chunkExtents - 1)) * extentWords;

/** The last slot's place that is reached from `place` over linked slots. */
export const lastLinked = (linked: number, place: number): number => place + 31 - Math.clz32(~(linked >>> (place + 1)) & ((linked >>> (place + 1)) + 1));

/** The slots of all blocks. A slot is in use while its rank set is not empty. */
export class BlockSlots {
  readonly #chunks: Int32Array[] = [new Int32Array(chunkExtents * extentWords)];
  /** A word a slot, for the chunks where any block has a tier set. */
  readonly #tierChunks: (Int32Array | null)[] = [null];
  readonly #freeExtents: number[] = [];
  #extents = 1;
  /** The extent that is begun next. */
  #spare = this.#newExtent();
  #anyTiers = false;

  /** Extents handed out so far, those free again included. */
  get extents(): number {
    return this.#extents;
  }

  /** Whether any block ever had a tier set. */
  get anyTiers(): boolean {
    return this.#anyTiers;
  }

  chunk(slot: number): Int32Array {
    const chunk = this.#chunks[slot >>> chunkBits];
    if (chunk === undefined) throw new Error(`slot ${slot} was never handed out`);
    return chunk;
  }

  /** Whether the slot is in use for this hash. */
  matches(slot: number, low: number, high: number): boolean {
    const chunk = this.chunk(slot);
    const base = extentBase(slot);
    const place = slot & placeMask;
    return chunk[base + 2 * place] === low && chunk[base + 2 * place + 1] === high && chunk[base + setsAt + place] !== 0;
  }

  /** Where the block after this one most likely is; the caller checks that it matches. */
  guessAfter(slot: number): number {
    if (((slot + 1) & placeMask) !== 0) return slot + 1;
    return (this.chunk(slot)[extentBase(slot) + nextAt] ?? 0) << extentBits;
  }

  low(slot: number): number {
    return this.chunk(slot)[extentBase(slot) + 2 * (slot & placeMask)] ?? 0;
  }

  set(slot: number): number {
    return this.chunk(slot)[extentBase(slot) + setsAt + (slot & placeMask)] ?? 0;
  }

  putSet(slot: number, set: number): void {
    const chunk = this.chunk(slot);
    const base = extentBase(slot);
    const place = slot & placeMask;
    chunk[base + setsAt + place] = set;
    noteChanges(chunk, base, place, place);
  }

  tiers(slot: number): number {
    return this.#tierChunks[slot >>> chunkBits]?.[slot & ((1 << chunkBits) - 1)] ?? 0;
  }

  putTiers(slot: number, tiers: number): void {
    const chunk = (this.#tierChunks[slot >>> chunkBits] ??= new Int32Array(1 << chunkBits));
    chunk[slot & ((1 << chunkBits) - 1)] = tiers;
    this.#anyTiers = true;
  }

  /** The slot that a block after the one in `parent` (or `noSlot`) would take. */
  slotAfter(parent: number): number {
    if (parent !== noSlot && ((parent + 1) & placeMask) !== 0 && this.set(parent + 1) === 0) return parent + 1;
    return this.#spare << extentBits;
  }

  /**
   * Puts a new block in the slot that `slotAfter(parent)` said. Numbers rather than an object: it runs for every block
   * stored.
   */
  occupy(slot: number, parent: number, low: number, high: number, set: number): void {
    const chunk = this.chunk(slot);
    const base = extentBase(slot);
    const place = slot & placeMask;
    chunk[base + 2 * place] = low;
    chunk[base + 2 * place + 1] = high;
    chunk[base + setsAt + place] = set;
    chunk[base + liveAt] = (chunk[base + liveAt] ?? 0) + 1;
    if (place !== 0) chunk[base + linkedAt] = (chunk[base + linkedAt] ?? 0) | (1 << place);
    else this.#beginExtent(parent);
    noteChanges(chunk, base, place, place);
  }

  /** The block in this slot is the child of the one in the slot before. */
  link(slot: number): void {
    const at = extentBase(slot) + linkedAt;
    const chunk = this.chunk(slot);
    chunk[at] = (chunk[at] ?? 0) | (1 << (slot & placeMask));
  }

  free(slot: number): void {
    const chunk = this.chunk(slot);
    const base = extentBase(slot);
    const place = slot & placeMask;
    chunk[base + 2 * place] = 0;
    chunk[base + 2 * place + 1] = 0;
    chunk[base + setsAt + place] = 0;
    if (this.#anyTiers && this.tiers(slot) !== 0) this.putTiers(slot, 0);
    // Another child may come to stand before the slot behind.
    chunk[base + linkedAt] = (chunk[base + linkedAt] ?? 0) & ~(3 << place);
    noteChanges(chunk, base, place, place);
    const left = (chunk[base + liveAt] ?? 0) - 1;
    chunk[base + liveAt] = left;
    if (left > 0) return;
    // Other extents may still point here: a guess is checked against the hash, so a stale one is only a miss.
    chunk[base + nextAt] = 0;
    this.#freeExtents.push(slot >>> extentBits);
  }

  #beginExtent(parent: number): void {
    if (parent !== noSlot && (parent & placeMask) === placeMask) this.chunk(parent)[extentBase(parent) + nextAt] = this.#spare;
    this.#spare = this.#freeExtents.pop() ?? this.#newExtent();
  }

  #newExtent(): number {
    const extent = this.#extents++;
    if (extent >>> chunkExtentBits === this.#chunks.length) {
      this.#chunks.push(new Int32Array(chunkExtents * extentWords));
      this.#tierChunks.push(null);
    }
    return extent;
  }
}

/** Brings `changes` up to date after the sets from place `first` to `last` were written. */
export function noteChanges(chunk: Int32Array, base: number, first: number, last: number): void {
  let changes = chunk[base + changesAt] ?? 0;
  const from = Math.max(first, 1);
  const to = Math.min(last + 1, placeMask);
  let before = chunk[base + setsAt + from - 1];
  for (let place = from; place <= to; place++) {
    const set = chunk[base + setsAt + place];
    const bit = 1 << place;
    changes = set === before ? changes & ~bit : changes | bit;
    before = set;
  }
  chunk[base + changesAt] = changes;
}
