import { RankSetStore, setBit } from './rank-set-store.ts';

/** No rank. */
export const noRanks = 0;

/** The set of one rank alone: it needs no memory. */
export const onlyRank = (rank: number): number => ~rank;

const memoBits = 12;
const memoSize = 1 << memoBits;

/**
 * Sets of rank numbers as ids: 0 is empty, below 0 one rank, above 0 a stored set. The ranks of a block are one word
 * that way, and along a chain "the same ranks" is one compare. A set kept anywhere is retained there.
 */
export class RankSets {
  readonly #store = new RankSetStore();
  /** As wide as the highest rank so far needs. */
  #bits = new Int32Array(1);
  /** (set, rank) -> the set with that rank in if it was out, and out if it was in. */
  readonly #memo = new Int32Array(5 * memoSize);

  /** Stored sets of two or more ranks. */
  get size(): number {
    return this.#store.size;
  }

  has(set: number, rank: number): boolean {
    return set > 0 ? this.#store.has(set, rank) : set === onlyRank(rank);
  }

  with(set: number, rank: number): number {
    return this.has(set, rank) ? set : this.#flip(set, rank);
  }

  without(set: number, rank: number): number {
    return this.has(set, rank) ? this.#flip(set, rank) : set;
  }

  retain(set: number): void {
    if (set > 0) this.#store.retain(set);
  }

  release(set: number): void {
    if (set > 0) this.#store.release(set);
  }

  /** Writes the members into a bitmap; all of `bits` is written. */
  load(set: number, bits: Int32Array): void {
    bits.fill(0);
    this.#addTo(set, bits);
  }

  /**
   * Leaves in `left` only members of `set`, and writes those that went to `gone` (of the same length). False: none is
   * left. A bitmap for any size of set: with lists alone a lookup was 7 times slower at 512 ranks.
   */
  narrow(set: number, left: Int32Array, gone: Int32Array): boolean {
    gone.fill(0);
    this.#addTo(set, gone);
    let any = 0;
    for (let word = 0; word < left.length; word++) {
      const before = left[word] ?? 0;
      const after = before & (gone[word] ?? 0);
      left[word] = after;
      gone[word] = before ^ after;
      any |= after;
    }
    return any !== 0;
  }

  #addTo(set: number, bits: Int32Array): void {
    if (set > 0) this.#store.addTo(set, bits);
    else if (set < 0) setBit(bits, ~set);
  }

  #flip(set: number, rank: number): number {
    if (set === noRanks) return onlyRank(rank);
    const at = 5 * ((Math.imul(set, 0x9e3779b1) ^ Math.imul(rank + 1, 0x85ebca6b)) >>> (32 - memoBits));
    const memo = this.#memo;
    const remembered = memo[at + 2] ?? 0;
    const same = memo[at] === set && memo[at + 1] === rank && memo[at + 3] === this.#life(set);
    if (same && memo[at + 4] === this.#life(remembered)) return remembered;
    const flipped = this.#makeFlipped(set, rank);
    memo[at] = set;
    memo[at + 1] = rank;
    memo[at + 2] = flipped;
    memo[at + 3] = this.#life(set);
    memo[at + 4] = this.#life(flipped);
    return flipped;
  }

  #life(set: number): number {
    return set > 0 ? this.#store.life(set) : 0;
  }

  #makeFlipped(set: number, rank: number): number {
    const was = set > 0 ? this.#store.count(set) : 1;
    const count = this.has(set, rank) ? was - 1 : was + 1;
    if (count === 0) return noRanks;
    if (rank >>> 5 >= this.#bits.length) this.#bits = new Int32Array((rank >>> 5) + 1);
    const bits = this.#bits;
    this.load(set, bits);
    bits[rank >>> 5] = (bits[rank >>> 5] ?? 0) ^ (1 << (rank & 31));
    if (count === 1) return onlyRank(onlyMember(bits));
    return this.#store.intern(bits, {
      width: bits.length,
      count,
      keyLow: (set > 0 ? this.#store.keyLow(set) : keyLow(~set)) ^ keyLow(rank),
      keyHigh: (set > 0 ? this.#store.keyHigh(set) : keyHigh(~set)) ^ keyHigh(rank),
    });
  }
}

/** The key of a set is the XOR of its members' keys, so that a flip finds the other set without reading all of it. */
const keyLow = (rank: number): number => scramble(Math.imul(rank + 1, 0x9e3779b1));
const keyHigh = (rank: number): number => scramble(Math.imul(rank + 1, 0x85ebca6b) ^ 0x27d4eb2f);

const scramble = (word: number): number => {
  const h = Math.imul(word ^ (word >>> 16), 0x7feb352d);
  const g = Math.imul(h ^ (h >>> 15), 0x846ca68b);
  return g ^ (g >>> 16);
};

function onlyMember(bits: Int32Array): number {
  const word = bits.findIndex((value) => value !== 0);
  return (word << 5) + 31 - Math.clz32(bits[word] ?? 0);
}
