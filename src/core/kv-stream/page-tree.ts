import { assertNever } from '../assert-never.ts';
import { chainSeed, type Isolation } from '../identity/chain-seed.ts';
import type { PoolId } from '../identity/ids.ts';
import type { ChainSeed, SequenceHashes } from '../identity/sequence-hash.ts';
import { bigramSeed } from './bigram-chain.ts';
import { BlockChanges, tierNumber } from './block-changes.ts';
import type { EngineEvent, EngineHash } from './engine-event.ts';
import type { KvEvent, StorageTier } from './kv-event.ts';
import type { PagePresence, RemovedEvent, StoredEvent } from './page-presence.ts';
import { findHit } from './page-hit.ts';
import { pageShape, type PageShape } from './page-shape.ts';
import { grown, noSlot, PageTable, type PageSlot } from './page-table.ts';
import { addToRuns, PublishedBlocks } from './published-blocks.ts';
import { SglangPresence } from './sglang-presence.ts';
import { storeRefusal, type StoreRefusal } from './store-refusal.ts';
import { VllmCopies } from './vllm-copies.ts';

export interface PageTreeOptions {
  /** Whose events they are: SGLang's mean presence, vLLM's physical copies. */
  readonly kind: 'sglang' | 'vllm';
  readonly pool: PoolId;
  /** Tokens of a block of the pool. */
  readonly blockSize: number;
  /** Tokens of an engine's page (pairs of tokens, where `bigram`). */
  readonly pageSize: number;
  readonly bigram: boolean;
  /** Pages beyond this are not followed (and counted): about 110 bytes each, and more with vLLM. */
  readonly maxPages?: number;
}

/** What could not be followed, in pages. */
export interface PageTreeCounters {
  /** Removals of pages that were not known, or not in that tier. */
  unknownRemovals: number;
  /** Stores below a page that was never seen stored: the rank holds more than we know of. */
  orphanedStores: number;
  /** Stores that contradict themselves or what is known; by reason in `refusals`. */
  refused: number;
  /** Stores over the bound. */
  overflowed: number;
}

const defaultMaxPages = 8_388_608;
/** Above every root: any tier. */
const everyTier = 0xff;

/**
 * What one rank's engine holds, page by page as its events say, and in blocks of the pool as routers are told. A block
 * is published in a tier while all its pages are usable there and every block before it is published in some tier:
 * a page that goes in the middle takes what hangs on it with it, and brings it back. So whoever counts leading blocks
 * of a prompt never credits one that the engine would compute.
 */
export class PageTree {
  readonly #options: PageTreeOptions;
  readonly #shape: PageShape;
  readonly #maxPages: number;
  readonly #table: PageTable;
  readonly #presence: PagePresence;
  readonly #published: PublishedBlocks;
  /** One bit a tier: published up to and with this page. */
  #held = new Uint8Array(1_024);
  readonly counters: PageTreeCounters = { unknownRemovals: 0, orphanedStores: 0, refused: 0, overflowed: 0 };
  readonly #refusals = new Map<StoreRefusal, number>();

  /** Throws `bad-config` where neither of block and page is a multiple of the other. */
  constructor(options: PageTreeOptions) {
    this.#options = options;
    this.#shape = pageShape(options.pageSize, options.blockSize);
    this.#maxPages = options.maxPages ?? defaultMaxPages;
    this.#table = new PageTable(this.#shape);
    this.#published = new PublishedBlocks(this.#table, this.#shape);
    this.#presence = options.kind === 'sglang' ? new SglangPresence() : new VllmCopies(this.#table, { pageSize: options.pageSize, maxNames: this.#maxPages });
  }

  /** Applies one event of the engine; returns what changed in blocks, in the order in which it must be told. */
  apply(event: EngineEvent): KvEvent[] {
    switch (event.kind) {
      case 'stored':
        this.#store(event);
        return this.#published.take();
      case 'removed':
        this.#remove(event);
        return this.#published.take();
      case 'cleared':
        return this.#clear();
      default:
        return assertNever(event, 'engine event');
    }
  }

  /** Blocks that are published, in any tier. */
  held(): number {
    return this.#published.size;
  }

  get pageSize(): number {
    return this.#shape.pageSize;
  }

  /** Pages that are known: those held, and those missing that known ones hang on. */
  get pages(): number {
    return this.#table.size;
  }

  /** Refused stores by reason, in pages. */
  get refusals(): ReadonlyMap<string, number> {
    return this.#refusals;
  }

  /** All that is held, as runs that rebuild it when applied in order to an empty rank: parents first. */
  snapshotRuns(): readonly Extract<KvEvent, { kind: 'stored' }>[] {
    const runs = new BlockChanges();
    const stack = [...this.#table.roots()];
    for (let slot = stack.pop(); slot !== undefined; slot = stack.pop()) {
      if (!this.#table.isRoot(slot) && this.#table.endsBlock(slot)) addToRuns(runs, this.#table, slot, { shape: this.#shape, mask: this.#heldAt(slot) });
      for (let child = this.#table.firstChildOf(slot); child !== noSlot; child = this.#table.nextSiblingOf(child)) stack.push(child);
    }
    return runs.take().filter((event) => event.kind === 'stored');
  }

  /**
   * Leading blocks of a prompt that the engine would reuse from these tiers, judged page by page. With a sliding group
   * that can be more than what is published: how much a prefix is worth depends on where it ends, and one published run
   * can't say that, so only what every end allows is.
   */
  hit(hashes: SequenceHashes, tiers: readonly StorageTier[] = ['device']): number {
    const mask = tiers.reduce((bits, tier) => bits | (1 << tierNumber(tier)), 0);
    return findHit({ table: this.#table, presence: this.#presence, shape: this.#shape, mask }, hashes);
  }

  #store(event: StoredEvent): void {
    if (this.#presence.meet(event)) this.#refreshAll();
    const refusal = storeRefusal(event, this.#options);
    if (refusal !== null) return this.#refuse(refusal, event.hashes.length);
    if (event.group !== null && event.group.slidingWindow !== null) return this.#storeByName(event);
    const start = this.#placeOfRun(event);
    if (start === null) {
      this.counters.orphanedStores += event.hashes.length;
      return;
    }
    this.#storeRun(event, start);
  }

  /** A sliding group names only the pages that it keeps: the full group's event of the same batch places them. */
  #storeByName(event: StoredEvent): void {
    for (const name of event.hashes) {
      const slot = this.#table.find(name);
      this.#presence.store(name, slot ?? null, event);
      if (slot !== undefined) this.#refresh(slot);
    }
  }

  #storeRun(event: StoredEvent, start: PageSlot): void {
    const tokens = this.#options.bigram ? secondsOf(event.tokens) : event.tokens;
    let parent = start;
    for (const [index, name] of event.hashes.entries()) {
      const known = this.#table.find(name);
      if (known !== undefined && this.#table.parentOf(known) !== parent) {
        this.#refuse('other-parent', event.hashes.length - index);
        break;
      }
      if (known === undefined && this.#table.size >= this.#maxPages) {
        this.counters.overflowed += event.hashes.length - index;
        break;
      }
      const slot = known ?? this.#add(name, parent, { tokens, start: index * this.#shape.pageSize });
      this.#presence.store(name, slot, event);
      this.#refresh(slot);
      parent = slot;
    }
    this.#dropIfGone(start);
  }

  #add(name: EngineHash, parent: PageSlot, run: { readonly tokens: Int32Array; readonly start: number }): PageSlot {
    const slot = this.#table.add(name, parent, run.tokens, run.start);
    while (slot >= this.#held.length) this.#held = grown(this.#held, new Uint8Array(2 * this.#held.length));
    this.#held[slot] = 0;
    return slot;
  }

  /** Where the run goes on from; null below a page that is not known. */
  #placeOfRun(event: StoredEvent): PageSlot | null {
    if (event.parent !== null) return this.#table.find(event.parent) ?? null;
    const isolation: Isolation = { lora: event.lora, salt: event.salt };
    const first = this.#options.bigram ? (event.tokens[0] ?? 0) : null;
    const key = JSON.stringify([event.lora, event.salt === '' ? null : event.salt, first]);
    return this.#table.rootOf(key, (): ChainSeed => {
      const seed = chainSeed(this.#options.pool, isolation);
      return first === null ? seed : bigramSeed(seed, first);
    });
  }

  #remove(event: RemovedEvent): void {
    for (const name of event.hashes) {
      const slot = this.#table.find(name);
      if (!this.#presence.remove(name, slot ?? null, event)) this.counters.unknownRemovals++;
      else if (slot !== undefined) {
        this.#refresh(slot);
        this.#dropIfGone(slot);
      }
    }
  }

  #clear(): KvEvent[] {
    const hadBlocks = this.#published.size > 0;
    this.#table.clear();
    this.#presence.clear();
    this.#published.clear();
    this.#held.fill(0);
    return hadBlocks ? [{ kind: 'cleared' }] : [];
  }

  #refuse(reason: StoreRefusal, pages: number): void {
    this.counters.refused += pages;
    this.#refusals.set(reason, (this.#refusals.get(reason) ?? 0) + pages);
  }

  /** A page without copies stays while pages hang on it; then it goes, and those above it that waited for that. */
  #dropIfGone(from: PageSlot): void {
    let slot = from;
    while (slot !== noSlot && this.#table.firstChildOf(slot) === noSlot && (this.#table.isRoot(slot) || this.#presence.isGone(slot))) {
      const parent = this.#table.parentOf(slot);
      this.#table.remove(slot);
      slot = parent;
    }
  }

  #refreshAll(): void {
    for (const root of this.#table.roots()) this.#refreshFrom(root, Number.MAX_SAFE_INTEGER);
  }

  #refresh(slot: PageSlot): void {
    this.#refreshFrom(slot, this.#presence.reach);
  }

  /** Judges a page anew, those below it as far as `reach`, and all below one whose answer changed. */
  #refreshFrom(from: PageSlot, reach: number): void {
    const changed = this.#judge(from);
    // Most pages are new ones, with nothing below: they must not cost a stack.
    if (this.#table.firstChildOf(from) === noSlot || !(changed || reach > 0)) return;
    const above = [{ slot: from, reach }];
    for (let at = above.pop(); at !== undefined; at = above.pop()) {
      for (let child = this.#table.firstChildOf(at.slot); child !== noSlot; child = this.#table.nextSiblingOf(child)) {
        if (this.#judge(child) || at.reach > 1) above.push({ slot: child, reach: at.reach - 1 });
      }
    }
  }

  /** True where what is held up to this page changed. */
  #judge(slot: PageSlot): boolean {
    if (this.#table.isRoot(slot)) return false;
    const before = this.#heldAt(slot);
    const above = this.#heldAt(this.#table.parentOf(slot));
    const open = this.#table.beginsBlock(slot) && above !== 0 ? everyTier : above;
    const now = open === 0 ? 0 : open & this.#presence.usable(slot);
    if (now === before) return false;
    this.#held[slot] = now;
    if (this.#table.endsBlock(slot)) this.#published.change(slot, { gained: now & ~before, lost: before & ~now });
    return true;
  }

  #heldAt(slot: PageSlot): number {
    return this.#table.isRoot(slot) ? everyTier : (this.#held[slot] ?? 0);
  }
}

/** Of flat pairs (a, b, b, c, c, d) the second of each: the plain tokens, without the prompt's first. */
function secondsOf(pairs: Int32Array): Int32Array {
  const seconds = new Int32Array(pairs.length >> 1);
  for (let i = 0; i < seconds.length; i++) seconds[i] = pairs[2 * i + 1] ?? 0;
  return seconds;
}
