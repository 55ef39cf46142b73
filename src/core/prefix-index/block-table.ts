import type { BlockSlots } from './block-slots.ts';
import { noSlot } from './block-slots.ts';

/*
 * Hash -> slot, as extendible hashing: the top bits of the low word choose a segment, the bottom bits the place in it
 * (robin hood, linear). A full segment doubles up to 8,192 places (64 KB) and splits in two from there, so growth
 * moves at most 6,554 entries at a time (0.15 ms); one table that doubles would stop for 0.3-0.5 s at 5 M entries. An
 * entry is the low word and the slot, so that neither a split nor a deletion reads the slots, nor mostly a miss.
 */
const firstPlaces = 256;
const mostPlaces = 8_192;
/** Above 80 M blocks a segment refuses instead of splitting. */
const maxDepth = 14;
/** Hashes made to collide are refused there; chance stays below 100. */
const maxDistance = 1_024;
/** Behind the entries. */
const countFromEnd = 2;
const depthFromEnd = 1;

const newSegment = (places: number, depth: number): Int32Array => {
  const segment = new Int32Array(2 * places + countFromEnd);
  segment[segment.length - depthFromEnd] = depth;
  return segment;
};

const placesOf = (segment: Int32Array): number => (segment.length >> 1) - 1;
const countOf = (segment: Int32Array): number => segment[segment.length - countFromEnd] ?? 0;

/** What `findOrInsert` says when the slot that was offered is in the table now, or when there is no room. */
export const inserted = 0;
export const refused = -1;

/** Which slot a hash is in. */
export class BlockTable {
  readonly #slots: BlockSlots;
  #directory: Int32Array[] = [newSegment(firstPlaces, 1), newSegment(firstPlaces, 1)];
  #shift = 31;

  constructor(slots: BlockSlots) {
    this.#slots = slots;
  }

  /** The slot of a hash, or `noSlot`. */
  find(low: number, high: number): number {
    const segment = this.#segment(low);
    const mask = (segment.length >> 1) - 2;
    let place = low & mask;
    for (let distance = 0; distance <= mask; distance++) {
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

  /** The slot of a hash; or `inserted`, and it is `offered` now; or `refused`, and nothing changed. */
  findOrInsert(low: number, high: number, offered: number): number {
    let segment = this.#segment(low);
    if (countOf(segment) * 5 >= segment.length * 2) segment = this.#makeRoom(low);
    const mask = (segment.length >> 1) - 2;
    let place = low & mask;
    for (let distance = 0; distance < maxDistance; distance++) {
      const slot = segment[2 * place + 1] ?? noSlot;
      const found = segment[2 * place] ?? 0;
      if (slot !== noSlot && found === low && this.#slots.matches(slot, low, high)) return slot;
      if (slot === noSlot || ((place - found) & mask) < distance) {
        if (countOf(segment) >= mask) return refused;
        putFrom(segment, place, low, offered);
        return inserted;
      }
      place = (place + 1) & mask;
    }
    return refused;
  }

  /** Takes out a slot that is there. */
  remove(low: number, slot: number): void {
    const segment = this.#segment(low);
    const mask = (segment.length >> 1) - 2;
    let place = low & mask;
    while (segment[2 * place + 1] !== slot) place = (place + 1) & mask;
    // Moves the entries behind one place nearer to their homes, so that no tombstones are needed.
    for (;;) {
      const after = (place + 1) & mask;
      const moved = segment[2 * after + 1] ?? noSlot;
      const itsLow = segment[2 * after] ?? 0;
      if (moved === noSlot || ((after - itsLow) & mask) === 0) break;
      segment[2 * place] = itsLow;
      segment[2 * place + 1] = moved;
      place = after;
    }
    segment[2 * place] = 0;
    segment[2 * place + 1] = noSlot;
    segment[segment.length - countFromEnd] = countOf(segment) - 1;
  }

  #segment(low: number): Int32Array {
    const segment = this.#directory[low >>> this.#shift];
    if (segment === undefined) throw new Error('the directory covers every hash');
    return segment;
  }

  /** The segment of this hash, at less than 80 % of its places unless it is as deep as it may be. */
  #makeRoom(low: number): Int32Array {
    let segment = this.#segment(low);
    while (countOf(segment) * 5 >= segment.length * 2 && this.#grow(low)) segment = this.#segment(low);
    return segment;
  }

  #grow(low: number): boolean {
    const segment = this.#segment(low);
    const depth = segment[segment.length - depthFromEnd] ?? 0;
    if (placesOf(segment) < mostPlaces) {
      this.#replace(low, depth, [newSegment(2 * placesOf(segment), depth)]);
      return true;
    }
    if (depth === maxDepth) return false;
    if (depth === 32 - this.#shift) this.#doubleDirectory();
    this.#replace(low, depth, [newSegment(mostPlaces, depth + 1), newSegment(mostPlaces, depth + 1)]);
    return true;
  }

  /** Moves a segment's entries to one or two others, which take its place in the directory. */
  #replace(low: number, depth: number, by: readonly [Int32Array, Int32Array?]): void {
    const segment = this.#segment(low);
    const [first, second = first] = by;
    for (let at = 0; at < segment.length - countFromEnd; at += 2) {
      const slot = segment[at + 1] ?? noSlot;
      const itsLow = segment[at] ?? 0;
      if (slot === noSlot) continue;
      const target = (itsLow >>> (31 - depth)) & 1 ? second : first;
      putFrom(target, itsLow & (placesOf(target) - 1), itsLow, slot);
    }
    const start = (low >>> (32 - depth)) << (32 - this.#shift - depth);
    const half = (1 << (32 - this.#shift - depth)) >> 1;
    this.#directory.fill(first, start, start + Math.max(half, 1));
    if (half > 0) this.#directory.fill(second, start + half, start + 2 * half);
  }

  #doubleDirectory(): void {
    this.#directory = this.#directory.flatMap((segment) => [segment, segment]);
    this.#shift--;
  }
}

/** From `start` on, there is room. An entry that is nearer to its home makes way for one that is further. */
function putFrom(segment: Int32Array, start: number, newLow: number, newSlot: number): void {
  const mask = (segment.length >> 1) - 2;
  let low = newLow;
  let slot = newSlot;
  let place = start;
  let distance = (place - low) & mask;
  for (;;) {
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
    distance++;
  }
  segment[segment.length - countFromEnd] = countOf(segment) + 1;
}
