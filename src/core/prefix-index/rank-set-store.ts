/*
 * Equal sets are stored once. The content of a set is a run of words in one form only, so that equal sets have equal
 * words: up to 32 members, the sorted numbers, two to a word; above, a bitmap cut behind its last word that is not 0.
 */
export const listLimit = 32;
/** Fills the odd half of a list. */
const listEnd = 0xffff;

/** What tells a set from others before its members are compared. */
interface SetKey {
  readonly count: number;
  readonly keyLow: number;
  readonly keyHigh: number;
}

/** Sets of small numbers (below 65,535), two or more each, by id from 1; reference counted. */
export class RankSetStore {
  /** Where a set to be looked up or made is put together. */
  readonly draft = new Int32Array(2048);
  readonly #draftList = new Uint16Array(this.draft.buffer);
  #words = new Int32Array(1024);
  #list = new Uint16Array(this.#words.buffer);
  #wordsTop = 0;
  /** By log2 of the words: where such a run is free. */
  readonly #freeRuns: number[][] = Array.from({ length: 12 }, () => []);
  #columns = newColumns(256);
  #idsTop = 1;
  readonly #freeIds: number[] = [];
  #heads = new Int32Array(1024);
  #size = 0;

  /** Sets in use. */
  get size(): number {
    return this.#size;
  }

  count(id: number): number {
    return this.#columns.counts[id] ?? 0;
  }

  keyLow(id: number): number {
    return this.#columns.keysLow[id] ?? 0;
  }

  keyHigh(id: number): number {
    return this.#columns.keysHigh[id] ?? 0;
  }

  /** Changes whenever the id is given to another set. */
  life(id: number): number {
    return this.#columns.trails[4 * id + lifeWord] ?? 0;
  }

  has(id: number, rank: number): boolean {
    const start = this.#columns.starts[id] ?? 0;
    const count = this.count(id);
    if (count > listLimit) {
      const word = rank >>> 5;
      return word < (this.#columns.widths[id] ?? 0) && (((this.#words[start + word] ?? 0) >>> (rank & 31)) & 1) === 1;
    }
    for (let i = 0; i < count; i++) {
      const member = this.#list[2 * start + i] ?? 0;
      if (member >= rank) return member === rank;
    }
    return false;
  }

  /** ORs the members into a bitmap that is wide enough. */
  addTo(id: number, bits: Int32Array): void {
    const start = this.#columns.starts[id] ?? 0;
    const count = this.count(id);
    if (count > listLimit) {
      const width = this.#columns.widths[id] ?? 0;
      for (let word = 0; word < width; word++) bits[word] = (bits[word] ?? 0) | (this.#words[start + word] ?? 0);
      return;
    }
    for (let i = 0; i < count; i++) setBit(bits, this.#list[2 * start + i] ?? 0);
  }

  /** Writes the members to `out` from `at` on, in order. How many they are. */
  copyTo(id: number, out: Int32Array, at: number): number {
    const start = this.#columns.starts[id] ?? 0;
    const count = this.count(id);
    if (count <= listLimit) {
      for (let i = 0; i < count; i++) out[at + i] = this.#list[2 * start + i] ?? 0;
      return count;
    }
    const width = this.#columns.widths[id] ?? 0;
    let next = at;
    for (let word = 0; word < width; word++) {
      for (let left = this.#words[start + word] ?? 0; left !== 0; left &= left - 1) out[next++] = (word << 5) + lowestBit(left);
    }
    return count;
  }

  /** The member that `id` lost to become `smaller`, if that was noted and both are still the same sets; or -1. */
  lostBetween(id: number, smaller: number): number {
    const { trails } = this.#columns;
    return trails[4 * smaller] === id && trails[4 * smaller + 1] === trails[4 * id + lifeWord] ? (trails[4 * smaller + 2] ?? -1) : -1;
  }

  /** Notes that `id` without `rank` is `smaller`. */
  noteLost(id: number, smaller: number, rank: number): void {
    const { trails } = this.#columns;
    trails[4 * smaller] = id;
    trails[4 * smaller + 1] = this.life(id);
    trails[4 * smaller + 2] = rank;
  }

  /** The set of the members in `bits` (two or more, `width` words): found, or made with no references yet. */
  intern(bits: Int32Array, width: number, key: SetKey): number {
    return this.#internDraft(this.#writeDraft(bits, width, key.count), key);
  }

  /** The set with that rank in or out, where both it and `id` are bitmaps: half the time of the way over `intern`. */
  internFlipped(id: number, rank: number, key: SetKey): number {
    const start = this.#columns.starts[id] ?? 0;
    const width = this.#columns.widths[id] ?? 0;
    const flipped = rank >>> 5;
    for (let word = 0; word < width; word++) this.draft[word] = this.#words[start + word] ?? 0;
    for (let word = width; word <= flipped; word++) this.draft[word] = 0;
    this.draft[flipped] = (this.draft[flipped] ?? 0) ^ (1 << (rank & 31));
    let used = Math.max(width, flipped + 1);
    while (this.draft[used - 1] === 0) used--;
    return this.#internDraft(used, key);
  }

  /** The same where both are lists. */
  internFlippedList(id: number, rank: number, key: SetKey): number {
    const start = 2 * (this.#columns.starts[id] ?? 0);
    const end = start + this.count(id);
    let members = 0;
    let at = start;
    while (at < end && (this.#list[at] ?? 0) < rank) this.#draftList[members++] = this.#list[at++] ?? 0;
    if (at < end && this.#list[at] === rank) at++;
    else this.#draftList[members++] = rank;
    while (at < end) this.#draftList[members++] = this.#list[at++] ?? 0;
    if ((members & 1) === 1) this.#draftList[members++] = listEnd;
    return this.#internDraft(members >> 1, key);
  }

  retain(id: number, times: number): void {
    this.#columns.refs[id] = (this.#columns.refs[id] ?? 0) + times;
  }

  release(id: number, times: number): void {
    const left = (this.#columns.refs[id] ?? 0) - times;
    this.#columns.refs[id] = left;
    if (left > 0) return;
    this.#unlink(id);
    this.#columns.trails[4 * id + lifeWord] = this.life(id) + 1;
    this.#freeRuns[classOf(this.#columns.widths[id] ?? 0)]?.push(this.#columns.starts[id] ?? 0);
    this.#freeIds.push(id);
    this.#size--;
  }

  #internDraft(words: number, key: SetKey): number {
    const found = this.#find(words, key);
    return found === 0 ? this.#make(words, key) : found;
  }

  #writeDraft(bits: Int32Array, width: number, count: number): number {
    let used = width;
    while (used > 0 && bits[used - 1] === 0) used--;
    if (count > listLimit) {
      for (let word = 0; word < used; word++) this.draft[word] = bits[word] ?? 0;
      return used;
    }
    let members = 0;
    for (let word = 0; word < used; word++) {
      for (let left = bits[word] ?? 0; left !== 0; left &= left - 1) this.#draftList[members++] = (word << 5) + lowestBit(left);
    }
    if ((members & 1) === 1) this.#draftList[members++] = listEnd;
    return members >> 1;
  }

  #find(words: number, content: SetKey): number {
    const { counts, keysLow, keysHigh, nexts, starts, widths } = this.#columns;
    for (let id = this.#heads[content.keyLow & (this.#heads.length - 1)] ?? 0; id !== 0; id = nexts[id] ?? 0) {
      const alike = keysLow[id] === content.keyLow && keysHigh[id] === content.keyHigh && counts[id] === content.count;
      if (alike && widths[id] === words && this.#isDraft(starts[id] ?? 0, words)) return id;
    }
    return 0;
  }

  #isDraft(start: number, words: number): boolean {
    for (let word = 0; word < words; word++) if (this.#words[start + word] !== this.draft[word]) return false;
    return true;
  }

  #make(words: number, content: SetKey): number {
    if (this.#size >= this.#heads.length) this.#rehash();
    const id = this.#freeIds.pop() ?? this.#newId();
    const start = this.#freeRuns[classOf(words)]?.pop() ?? this.#newRun(classOf(words));
    for (let word = 0; word < words; word++) this.#words[start + word] = this.draft[word] ?? 0;
    const columns = this.#columns;
    columns.starts[id] = start;
    columns.widths[id] = words;
    columns.counts[id] = content.count;
    columns.keysLow[id] = content.keyLow;
    columns.keysHigh[id] = content.keyHigh;
    columns.refs[id] = 0;
    columns.trails[4 * id] = 0;
    this.#link(id);
    this.#size++;
    return id;
  }

  #newId(): number {
    const id = this.#idsTop++;
    if (id === this.#columns.refs.length) this.#columns = grownColumns(this.#columns);
    return id;
  }

  #newRun(sizeClass: number): number {
    const start = this.#wordsTop;
    this.#wordsTop += 1 << sizeClass;
    if (this.#wordsTop > this.#words.length) {
      const grown = new Int32Array(Math.max(2 * this.#words.length, this.#wordsTop));
      grown.set(this.#words);
      this.#words = grown;
      this.#list = new Uint16Array(grown.buffer);
    }
    return start;
  }

  #link(id: number): void {
    const bucket = this.keyLow(id) & (this.#heads.length - 1);
    this.#columns.nexts[id] = this.#heads[bucket] ?? 0;
    this.#heads[bucket] = id;
  }

  #unlink(id: number): void {
    const { nexts } = this.#columns;
    const bucket = this.keyLow(id) & (this.#heads.length - 1);
    if (this.#heads[bucket] === id) {
      this.#heads[bucket] = nexts[id] ?? 0;
      return;
    }
    let before = this.#heads[bucket] ?? 0;
    while (nexts[before] !== id) before = nexts[before] ?? 0;
    nexts[before] = nexts[id] ?? 0;
  }

  #rehash(): void {
    const old = this.#heads;
    this.#heads = new Int32Array(2 * old.length);
    for (const head of old) {
      for (let id = head; id !== 0; ) {
        const next = this.#columns.nexts[id] ?? 0;
        this.#link(id);
        id = next;
      }
    }
  }
}

const newColumns = (length: number) => ({
  starts: new Int32Array(length),
  /** Words of content. */
  widths: new Int32Array(length),
  counts: new Int32Array(length),
  refs: new Int32Array(length),
  keysLow: new Int32Array(length),
  keysHigh: new Int32Array(length),
  nexts: new Int32Array(length),
  /** Four words together: a set that is larger by one, its life then, the member that is not here; the own life. */
  trails: new Int32Array(4 * length),
});

function grownColumns(old: ReturnType<typeof newColumns>): ReturnType<typeof newColumns> {
  const grown = newColumns(2 * old.refs.length);
  for (const name of Object.keys(old) as (keyof typeof old)[]) grown[name].set(old[name]);
  return grown;
}

const lifeWord = 3;

const classOf = (words: number): number => 32 - Math.clz32(words - 1);

/** The number of the lowest bit that is set. */
export const lowestBit = (word: number): number => 31 - Math.clz32(word & -word);

export const setBit = (bits: Int32Array, rank: number): void => {
  bits[rank >>> 5] = (bits[rank >>> 5] ?? 0) | (1 << (rank & 31));
};
