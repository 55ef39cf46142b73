import { lowestBit, listLimit, RankSetStore, setBit } from './rank-set-store.ts';

/** No rank. */
export const noRanks = 0;

/** The set of one rank alone: it needs no memory. */
export const onlyRank = (rank: number): number => ~rank;

/** Of 8 words each, so that one is in one cache line: set, rank, outcome, life of the set, life of the outcome. */
const memoBits = 12;
const newMemo = (): Int32Array => new Int32Array(8 << memoBits);
const memoPlace = (set: number, rank: number): number => ((Math.imul(set, 0x9e3779b1) ^ Math.imul(rank + 1, 0x85ebca6b)) >>> (32 - memoBits)) << 3;

/**
 * Sets of rank numbers as ids: 0 is empty, below 0 one rank, above 0 a stored set. The ranks of a block are one word
 * that way, and along a chain "the same ranks" is one compare. A set kept anywhere is retained there.
 */
export class RankSets {
  readonly #store = new RankSetStore();
  /** As wide as the highest rank so far needs. */
  #bits = new Int32Array(1);
  readonly #withMemo = newMemo();
  readonly #withoutMemo = newMemo();

  /** Stored sets of two or more ranks. */
  get size(): number {
    return this.#store.size;
  }

  has(set: number, rank: number): boolean {
    return set > 0 ? this.#store.has(set, rank) : set === onlyRank(rank);
  }

  count(set: number): number {
    return set > 0 ? this.#store.count(set) : set === noRanks ? 0 : 1;
  }

  with(set: number, rank: number): number {
    if (set === noRanks) return onlyRank(rank);
    if (set === onlyRank(rank)) return set;
    return this.#remembered(this.#withMemo, set, rank) ?? this.#remember(this.#withMemo, set, rank, this.has(set, rank) ? set : this.#flip(set, rank));
  }

  without(set: number, rank: number): number {
    if (set < 0) return set === onlyRank(rank) ? noRanks : set;
    if (set === noRanks) return noRanks;
    return this.#remembered(this.#withoutMemo, set, rank) ?? this.#remember(this.#withoutMemo, set, rank, this.has(set, rank) ? this.#flip(set, rank) : set);
  }

  retain(set: number, times = 1): void {
    if (set > 0) this.#store.retain(set, times);
  }

  release(set: number, times = 1): void {
    if (set > 0) this.#store.release(set, times);
  }

  /** Writes the members into a bitmap; all of `bits` is written. */
  load(set: number, bits: Int32Array): void {
    bits.fill(0);
    this.#addTo(set, bits);
  }

  /** Writes the members to `out` from `at` on. How many they are. */
  copyTo(set: number, out: Int32Array, at: number): number {
    if (set > 0) return this.#store.copyTo(set, out, at);
    if (set === noRanks) return 0;
    out[at] = ~set;
    return 1;
  }

  /**
   * Leaves in `left` only members of `set`, and writes those that went to `gone` (of the same length). How many are
   * left. A bitmap for any size of set: with lists alone a lookup was 7 times slower at 512 ranks.
   */
  narrow(set: number, left: Int32Array, gone: Int32Array): number {
    gone.fill(0);
    this.#addTo(set, gone);
    let count = 0;
    for (let word = 0; word < left.length; word++) {
      const before = left[word] ?? 0;
      const after = before & (gone[word] ?? 0);
      left[word] = after;
      gone[word] = before ^ after;
      count += countBits(after);
    }
    return count;
  }

  /** The rank by which `set` is larger than `smaller`, both stored, where that is known without looking; or -1. */
  lostBetween(set: number, smaller: number): number {
    return this.#store.lostBetween(set, smaller);
  }

  /** Notes for `lostBetween`, which makes a walk over it half as long: `set` without `rank` is `smaller`. */
  noteLost(set: number, smaller: number, rank: number): void {
    this.#store.noteLost(set, smaller, rank);
  }

  #addTo(set: number, bits: Int32Array): void {
    if (set > 0) this.#store.addTo(set, bits);
    else if (set < 0) setBit(bits, ~set);
  }

  /** Null: not remembered, or one of the two sets is another by now. */
  #remembered(memo: Int32Array, set: number, rank: number): number | null {
    const at = memoPlace(set, rank);
    if (memo[at] !== set || memo[at + 1] !== rank || memo[at + 3] !== this.#life(set)) return null;
    const outcome = memo[at + 2] ?? 0;
    return memo[at + 4] === this.#life(outcome) ? outcome : null;
  }

  #remember(memo: Int32Array, set: number, rank: number, outcome: number): number {
    const at = memoPlace(set, rank);
    memo[at] = set;
    memo[at + 1] = rank;
    memo[at + 2] = outcome;
    memo[at + 3] = this.#life(set);
    memo[at + 4] = this.#life(outcome);
    return outcome;
  }

  #life(set: number): number {
    return set > 0 ? this.#store.life(set) : 0;
  }

  /** The set with that rank in if it was out, and out if it was in. */
  #flip(set: number, rank: number): number {
    // A set of one has never been in the bitmap: its member may be above all that were.
    const highest = set < 0 ? Math.max(rank, ~set) : rank;
    if (highest >>> 5 >= this.#bits.length) this.#bits = new Int32Array((highest >>> 5) + 1);
    const was = this.count(set);
    const count = this.has(set, rank) ? was - 1 : was + 1;
    const key = {
      count,
      keyLow: (set > 0 ? this.#store.keyLow(set) : keyLow(~set)) ^ keyLow(rank),
      keyHigh: (set > 0 ? this.#store.keyHigh(set) : keyHigh(~set)) ^ keyHigh(rank),
    };
    if (was > listLimit && count > listLimit) return this.#store.internFlipped(set, rank, key);
    if (set > 0 && was <= listLimit && count > 1 && count <= listLimit) return this.#store.internFlippedList(set, rank, key);
    const bits = this.#bits;
    this.load(set, bits);
    bits[rank >>> 5] = (bits[rank >>> 5] ?? 0) ^ (1 << (rank & 31));
    return count === 1 ? onlyRank(firstMember(bits)) : this.#store.intern(bits, bits.length, key);
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

/** The smallest number in a bitmap that is not empty. */
export function firstMember(bits: Int32Array): number {
  let word = 0;
  while (bits[word] === 0) word++;
  return (word << 5) + lowestBit(bits[word] ?? 0);
}

function countBits(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
