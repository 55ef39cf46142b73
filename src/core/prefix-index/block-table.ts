import type { BlockSlots } from './block-slots.ts';
import { noSlot } from './block-slots.ts';

/*
 * Hash -> slot, as extendible hashing: the top bits of the low word choose a segment, the bottom bits the place in it
 * (robin hood, linear). A full segment splits in two, so growth moves at most 1,638 entries at a time; one table that
 * doubles would stop for 0.3-0.5 s at 5 M entries. An entry is the low word and the slot, so that neither a split nor
 * a deletion reads the slots.
 */
const entryBits = 11;
const entries = 1 << entryBits;
const mask = entries - 1;
const splitAt = Math.floor(entries * 0.8);
/** One place always stays empty, so that every search ends. */
const fullAt = entries - 1;
const countWord = 2 * entries;
const depthWord = countWord + 1;
/** 65,536 segments: above 100 M blocks, or hashes made to collide, a segment refuses instead of splitting. */
const maxDepth = 16;

const newSegment = (depth: number): Int32Array => {
  const segment = new Int32Array(depthWord + 1);
  segment[depthWord] = depth;
  return segment;
};

/** Which slot a hash is in. */
export class BlockTable {
  readonly #slots: BlockSlots;
  #directory: Int32Array[] = [newSegment(1), newSegment(1)];
  #depth = 1;

  constructor(slots: BlockSlots) {
    this.#slots = slots;
  }

  /** The slot of a hash, or `noSlot`. */
  find(low: number, high: number): number {
    const segment = this.#segment(low);
    let place = low & mask;
    for (let distance = 0; distance < entries; distance++) {
      const slot = segment[2 * place + 1] ?? noSlot;
      if (slot === noSlot) return noSlot;
      const found = segment[2 * place] ?? 0;
      if (found === low && this.#slots.matches(slot, low, high)) return slot;
      // Robin hood: behind an entry nearer to its home than we are, ours cannot be.
      if (((place - found) & mask) < distance) return noSlot;
      place = (place + 1) & mask;
    }
    return noSlot;
  }

  /** Adds a slot that is not there yet. False: no room at this hash, nothing changed. */
  insert(low: number, slot: number): boolean {
    let segment = this.#segment(low);
    while ((segment[countWord] ?? 0) >= splitAt && this.#split(low)) segment = this.#segment(low);
    if ((segment[countWord] ?? 0) >= fullAt) return false;
    putEntry(segment, low, slot);
    return true;
  }

  /** Takes out a slot that is there. */
  remove(low: number, slot: number): void {
    const segment = this.#segment(low);
    let place = low & mask;
    while (segment[2 * place + 1] !== slot) place = (place + 1) & mask;
    // Moves the entries behind one place nearer to their homes, so that no tombstones are needed.
    for (;;) {
      const after = (place + 1) & mask;
      const moved = segment[2 * after + 1] ?? noSlot;
      const low = segment[2 * after] ?? 0;
      if (moved === noSlot || ((after - low) & mask) === 0) break;
      segment[2 * place] = low;
      segment[2 * place + 1] = moved;
      place = after;
    }
    segment[2 * place] = 0;
    segment[2 * place + 1] = noSlot;
    segment[countWord] = (segment[countWord] ?? 0) - 1;
  }

  #segment(low: number): Int32Array {
    const segment = this.#directory[low >>> (32 - this.#depth)];
    if (segment === undefined) throw new Error('the directory covers every hash');
    return segment;
  }

  /** False where the segment is as deep as it may be. */
  #split(low: number): boolean {
    const segment = this.#segment(low);
    const depth = segment[depthWord] ?? 0;
    if (depth === maxDepth) return false;
    if (depth === this.#depth) this.#doubleDirectory();
    const halves = [newSegment(depth + 1), newSegment(depth + 1)] as const;
    for (let place = 0; place < entries; place++) {
      const slot = segment[2 * place + 1] ?? noSlot;
      const itsLow = segment[2 * place] ?? 0;
      if (slot !== noSlot) putEntry(halves[(itsLow >>> (31 - depth)) & 1 ? 1 : 0], itsLow, slot);
    }
    const half = 1 << (this.#depth - depth - 1);
    const first = (low >>> (32 - depth)) * 2 * half;
    this.#directory.fill(halves[0], first, first + half);
    this.#directory.fill(halves[1], first + half, first + 2 * half);
    return true;
  }

  #doubleDirectory(): void {
    this.#directory = this.#directory.flatMap((segment) => [segment, segment]);
    this.#depth++;
  }
}

/** The caller knows that there is room. An entry that is nearer to its home makes way for one that is further. */
function putEntry(segment: Int32Array, newLow: number, newSlot: number): void {
  let low = newLow;
  let slot = newSlot;
  let place = low & mask;
  for (let distance = 0; ; distance++) {
    const there = segment[2 * place + 1] ?? noSlot;
    const itsLow = segment[2 * place] ?? 0;
    const itsDistance = (place - itsLow) & mask;
    if (there === noSlot || itsDistance < distance) {
      segment[2 * place] = low;
      segment[2 * place + 1] = slot;
      if (there === noSlot) break;
      low = itsLow;
      slot = there;
      distance = itsDistance;
    }
    place = (place + 1) & mask;
  }
  segment[countWord] = (segment[countWord] ?? 0) + 1;
}
