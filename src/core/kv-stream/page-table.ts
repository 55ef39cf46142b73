import { chainBlock, emptyBlock, extendBlock } from '../identity/hash-blocks.ts';
import type { EngineHash } from './engine-event.ts';
import type { PageShape } from './page-shape.ts';

/** A place in the table; never leaves the modules of the page tree. */
export type PageSlot = number & { readonly pageSlot: true };

export const noSlot = -1 as PageSlot;

const firstCapacity = 1_024;

/**
 * The pages that an engine has named and where each hangs: a forest with one root for each namespace (adapter, salt).
 * No tokens are kept. A page that ends a block keeps the block's sequence hash, any other page the two words of the
 * begun block. Structure of arrays. Measured with 1,000,000 pages of one token and blocks of 64 (Node 20): 110
 * bytes a page, 80 of them the page's name and the map's entry.
 */
export class PageTable {
  readonly #shape: PageShape;
  readonly #slots = new Map<EngineHash, PageSlot>();
  readonly #roots = new Map<string, PageSlot>();
  readonly #words: number;
  #names: (string | undefined)[] = [];
  #parent = new Int32Array(firstCapacity);
  #firstChild = new Int32Array(firstCapacity);
  #next = new Int32Array(firstCapacity);
  #previous = new Int32Array(firstCapacity);
  #position = new Uint16Array(firstCapacity);
  #hashes: Int32Array;
  #used = 0;
  #free: PageSlot[] = [];

  constructor(shape: PageShape) {
    this.#shape = shape;
    this.#words = 2 * shape.blocksPerPage;
    this.#hashes = new Int32Array(firstCapacity * this.#words);
  }

  /** Pages that are known, held or not; roots are not counted. */
  get size(): number {
    return this.#slots.size;
  }

  find(name: EngineHash): PageSlot | undefined {
    return this.#slots.get(name);
  }

  nameOf(slot: PageSlot): EngineHash {
    return this.#names[slot] ?? '';
  }

  roots(): Iterable<PageSlot> {
    return this.#roots.values();
  }

  isRoot(slot: PageSlot): boolean {
    return this.#parent[slot] === noSlot;
  }

  /** `noSlot` above a root. */
  parentOf(slot: PageSlot): PageSlot {
    return (this.#parent[slot] ?? noSlot) as PageSlot;
  }

  firstChildOf(slot: PageSlot): PageSlot {
    return (this.#firstChild[slot] ?? noSlot) as PageSlot;
  }

  nextSiblingOf(slot: PageSlot): PageSlot {
    return (this.#next[slot] ?? noSlot) as PageSlot;
  }

  /** The first page of a block: the page before it ended one, or is a root. */
  beginsBlock(slot: PageSlot): boolean {
    return this.#position[slot] === 0;
  }

  endsBlock(slot: PageSlot): boolean {
    return this.#position[slot] === this.#shape.pagesPerBlock - 1;
  }

  /** Hash `index` of the block(s) that this page ends, as words `hashAt` and `hashAt + 1` of `hashes`. */
  hashAt(slot: PageSlot, index: number): number {
    return slot * this.#words + 2 * index;
  }

  get hashes(): Int32Array {
    return this.#hashes;
  }

  /** The page that ended the block before the one that `slot` is in: a block's last page, or a root. */
  endOfBlockBefore(slot: PageSlot): PageSlot {
    let at = slot;
    while (!this.beginsBlock(at)) at = this.parentOf(at);
    return this.parentOf(at);
  }

  /** The root of a namespace, made with the seed when it is not there. */
  rootOf(key: string, makeSeed: () => Int32Array): PageSlot {
    const known = this.#roots.get(key);
    if (known !== undefined) return known;
    const slot = this.#take(key);
    this.#parent[slot] = noSlot;
    this.#position[slot] = this.#shape.pagesPerBlock - 1;
    this.#hashes.set(makeSeed().subarray(0, 2), this.hashAt(slot, this.#shape.blocksPerPage - 1));
    this.#roots.set(key, slot);
    return slot;
  }

  /** Adds a page below `parent`; its tokens are `pageSize` from `start` on. The name must be new. */
  add(name: EngineHash, parent: PageSlot, tokens: Int32Array, start: number): PageSlot {
    const slot = this.#take(name);
    const sibling = this.firstChildOf(parent);
    this.#parent[slot] = parent;
    this.#next[slot] = sibling;
    if (sibling !== noSlot) this.#previous[sibling] = slot;
    this.#firstChild[parent] = slot;
    this.#position[slot] = this.endsBlock(parent) ? 0 : (this.#position[parent] ?? 0) + 1;
    if (this.#shape.blocksPerPage > 1) this.#hashBlocks(slot, parent, tokens, start);
    else this.#hashPart(slot, parent, tokens, start);
    this.#slots.set(name, slot);
    return slot;
  }

  /** Forgets a page, or an empty root, that has nothing below it. */
  remove(slot: PageSlot): void {
    const name = this.nameOf(slot);
    if (this.isRoot(slot)) this.#roots.delete(name);
    else {
      this.#slots.delete(name);
      this.#unlink(slot);
    }
    this.#names[slot] = undefined;
    this.#free.push(slot);
  }

  clear(): void {
    this.#slots.clear();
    this.#roots.clear();
    this.#names = [];
    this.#free = [];
    this.#used = 0;
  }

  #hashPart(slot: PageSlot, parent: PageSlot, tokens: Int32Array, start: number): void {
    const before = this.beginsBlock(slot) ? emptyBlock : this.#stateOf(parent);
    const state = extendBlock(before, tokens, start, start + this.#shape.pageSize);
    const at = this.hashAt(slot, 0);
    if (this.endsBlock(slot)) {
      chainBlock(state, this.#hashes, this.hashAt(this.endOfBlockBefore(slot), 0), this.#hashes, at);
      return;
    }
    this.#hashes[at] = state.low;
    this.#hashes[at + 1] = state.high;
  }

  #hashBlocks(slot: PageSlot, parent: PageSlot, tokens: Int32Array, start: number): void {
    const { blocksPerPage, blockSize } = this.#shape;
    let before = this.hashAt(parent, blocksPerPage - 1);
    for (let block = 0; block < blocksPerPage; block++) {
      const from = start + block * blockSize;
      const at = this.hashAt(slot, block);
      chainBlock(extendBlock(emptyBlock, tokens, from, from + blockSize), this.#hashes, before, this.#hashes, at);
      before = at;
    }
  }

  #stateOf(slot: PageSlot): { readonly low: number; readonly high: number } {
    const at = this.hashAt(slot, 0);
    return { low: this.#hashes[at] ?? 0, high: this.#hashes[at + 1] ?? 0 };
  }

  #unlink(slot: PageSlot): void {
    const previous = (this.#previous[slot] ?? noSlot) as PageSlot;
    const next = this.nextSiblingOf(slot);
    if (previous === noSlot) this.#firstChild[this.parentOf(slot)] = next;
    else this.#next[previous] = next;
    if (next !== noSlot) this.#previous[next] = previous;
  }

  #take(name: string): PageSlot {
    const slot = this.#free.pop() ?? (this.#used++ as PageSlot);
    if (slot >= this.#parent.length) this.#grow();
    this.#names[slot] = name;
    this.#firstChild[slot] = noSlot;
    this.#next[slot] = noSlot;
    this.#previous[slot] = noSlot;
    return slot;
  }

  #grow(): void {
    const capacity = 2 * this.#parent.length;
    this.#parent = grown(this.#parent, new Int32Array(capacity));
    this.#firstChild = grown(this.#firstChild, new Int32Array(capacity));
    this.#next = grown(this.#next, new Int32Array(capacity));
    this.#previous = grown(this.#previous, new Int32Array(capacity));
    this.#position = grown(this.#position, new Uint16Array(capacity));
    this.#hashes = grown(this.#hashes, new Int32Array(capacity * this.#words));
  }
}

/** Copies an array to the start of a longer one. */
export function grown<T extends Int32Array | Uint16Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
