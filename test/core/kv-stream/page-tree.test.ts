import { describe, expect, it } from 'vitest';
import { chainSeed, type Isolation, noIsolation } from '../../../src/core/identity/chain-seed.ts';
import { hashBlocks } from '../../../src/core/identity/hash-blocks.ts';
import { parsePoolId } from '../../../src/core/identity/ids.ts';
import { hashCount } from '../../../src/core/identity/sequence-hash.ts';
import { hashBigramBlocks } from '../../../src/core/kv-stream/bigram-chain.ts';
import type { EngineEvent, EngineGroup } from '../../../src/core/kv-stream/engine-event.ts';
import type { KvEvent, StorageTier } from '../../../src/core/kv-stream/kv-event.ts';
import { PageTree, type PageTreeOptions } from '../../../src/core/kv-stream/page-tree.ts';
import { RouterError } from '../../../src/core/router-error.ts';
import { HeldBlocks } from '../../support/held-blocks.ts';

type Stored = Extract<EngineEvent, { kind: 'stored' }>;
const pool = parsePoolId('p');

/** A tree with the plain reader of what it publishes. */
class Rank {
  readonly tree: PageTree;
  readonly reader = new HeldBlocks();
  readonly options: PageTreeOptions;

  constructor(options: Partial<PageTreeOptions> = {}) {
    this.options = { kind: 'sglang', pool, blockSize: 2, pageSize: 2, bigram: false, ...options };
    this.tree = new PageTree(this.options);
  }

  apply(...events: readonly EngineEvent[]): KvEvent[] {
    const changes = events.flatMap((event) => this.tree.apply(event));
    this.reader.apply(changes);
    expect(this.reader.faults).toEqual([]);
    return changes;
  }

  overlap(tokens: readonly number[], isolation: Isolation = noIsolation): number {
    return this.reader.overlap(hashBlocks(tokens, this.options.blockSize, chainSeed(pool, isolation)));
  }
}

const stored = (hashes: readonly string[], parent: string | null, tokens: readonly number[], more: Partial<Stored> = {}): Stored => ({
  kind: 'stored', hashes, parent, tokens: Int32Array.from(tokens), pageSize: 2, tier: 'device', lora: null, salt: null, group: null, bigram: false, ...more,
});
const removed = (hashes: readonly string[], more: { readonly tier?: StorageTier; readonly group?: number } = {}): EngineEvent => ({ kind: 'removed', hashes, tier: more.tier ?? 'device', group: more.group ?? null });
const cleared: EngineEvent = { kind: 'cleared' };
const abc = [1, 2, 3, 4, 5, 6];
const storeAbc = stored(['a', 'b', 'c'], null, abc);

describe('PageTree', () => {
  it('E3: after a store and a clear nothing is held', () => {
    const rank = new Rank();
    rank.apply(storeAbc);
    expect(rank.apply(cleared)).toEqual([{ kind: 'cleared' }]);
    expect([rank.overlap(abc), rank.tree.held(), rank.tree.pages]).toEqual([0, 0, 0]);
  });

  it('a clear of nothing says nothing', () => {
    expect(new Rank().apply(cleared)).toEqual([]);
  });

  it('E5: the hashes of one store are a chain below its parent', () => {
    const rank = new Rank();
    rank.apply(stored(['p'], null, [9, 9]), stored(['h1', 'h2', 'h3'], 'p', abc));
    expect(rank.overlap([9, 9, ...abc])).toBe(4);
    expect(rank.overlap([9, 9, 3, 4])).toBe(1);
    expect(rank.overlap([9, 9, 5, 6])).toBe(1);
  });

  it('tells consecutive blocks of one chain in one run', () => {
    const changes = new Rank().apply(storeAbc);
    expect(changes.map((event) => [event.kind, event.kind === 'cleared' ? 0 : hashCount(event.hashes)])).toEqual([['stored', 3]]);
  });

  it('E6: a removal with an unknown page in it removes the others and counts that one', () => {
    const rank = new Rank();
    rank.apply(storeAbc, removed(['c', 'unknown', 'b']));
    expect(rank.overlap(abc)).toBe(1);
    expect(rank.tree.counters.unknownRemovals).toBe(1);
  });

  it('E8: a store under a parent never seen is not credited, and counted', () => {
    const rank = new Rank();
    expect(rank.apply(stored(['b', 'c'], 'a', [3, 4, 5, 6]))).toEqual([]);
    expect(rank.tree.counters.orphanedStores).toBe(2);
    expect(rank.tree.pages).toBe(0);
  });

  it('E9: a page that is its own parent is refused, and nothing else lost', () => {
    const rank = new Rank();
    rank.apply(storeAbc, stored(['d'], 'd', [7, 8]), stored(['c'], 'c', [5, 6]), stored(['e', 'f'], 'f', [7, 8, 9, 9]));
    expect(rank.overlap(abc)).toBe(3);
    expect(rank.tree.counters.refused).toBe(4);
    expect(rank.tree.refusals).toEqual(new Map([['own-parent', 4]]));
  });

  it('E9: a page that comes again inside its own chain is refused', () => {
    const rank = new Rank();
    rank.apply(stored(['a', 'b', 'a'], null, abc));
    expect(rank.overlap(abc)).toBe(2);
    expect(rank.tree.refusals).toEqual(new Map([['other-parent', 1]]));
  });

  it('E10: of a-b-c without c two are held', () => {
    const rank = new Rank();
    rank.apply(storeAbc, removed(['c']));
    expect(rank.overlap(abc)).toBe(2);
  });

  it('E10: a page missing in the middle takes what hangs on it along, and brings it back', () => {
    const rank = new Rank();
    rank.apply(storeAbc, removed(['b']));
    expect([rank.overlap(abc), rank.tree.held()]).toEqual([1, 1]);
    rank.apply(stored(['b'], 'a', [3, 4]));
    expect([rank.overlap(abc), rank.tree.held()]).toEqual([3, 3]);
  });

  it('forgets a missing page once nothing hangs on it', () => {
    const rank = new Rank();
    rank.apply(storeAbc, removed(['a', 'b']));
    expect(rank.tree.pages).toBe(3);
    rank.apply(removed(['c']));
    expect(rank.tree.pages).toBe(0);
  });

  it('E13: stored twice by SGLang, a page is gone after one removal', () => {
    const rank = new Rank();
    rank.apply(storeAbc, storeAbc, removed(['a', 'b', 'c']));
    expect([rank.overlap(abc), rank.tree.held()]).toEqual([0, 0]);
    expect(rank.tree.counters.unknownRemovals).toBe(0);
  });

  it('E20: a page of 48 tokens and a block of 64 are refused with both numbers', () => {
    const make = (): PageTree => new PageTree({ kind: 'sglang', pool, blockSize: 64, pageSize: 48, bigram: false });
    expect(make).toThrow(RouterError);
    expect(make).toThrow(/48.*64/);
  });

  it('E21: a page of 768 tokens is twelve blocks of 64', () => {
    const rank = new Rank({ blockSize: 64, pageSize: 768 });
    const tokens = Array.from({ length: 1_536 }, (_, index) => index);
    const changes = rank.apply(stored(['a', 'b'], null, tokens, { pageSize: 768 }));
    expect([changes.length, rank.overlap(tokens), rank.tree.held()]).toEqual([1, 24, 24]);
    rank.apply(removed(['b']));
    expect([rank.overlap(tokens), rank.tree.held()]).toEqual([12, 12]);
  });

  it('a block of several pages is held while all of them are', () => {
    const rank = new Rank({ blockSize: 6 });
    rank.apply(stored(['a', 'b'], null, [1, 2, 3, 4]));
    expect(rank.overlap(abc)).toBe(0);
    rank.apply(stored(['c', 'd'], 'b', [5, 6, 7, 8]));
    expect(rank.overlap(abc)).toBe(1);
    rank.apply(removed(['a']));
    expect(rank.overlap(abc)).toBe(0);
  });

  it('chains that part inside a block share its first pages', () => {
    const rank = new Rank({ blockSize: 4 });
    rank.apply(stored(['a', 'b'], null, [1, 2, 3, 4]), stored(['x'], 'a', [5, 6]));
    expect([rank.overlap([1, 2, 3, 4]), rank.overlap([1, 2, 5, 6])]).toEqual([1, 1]);
    rank.apply(removed(['a']));
    expect(rank.tree.held()).toBe(0);
  });

  it('E28: a store repeated when all of it is held changes nothing and grows nothing', () => {
    const rank = new Rank();
    rank.apply(storeAbc);
    expect(rank.apply(storeAbc)).toEqual([]);
    expect([rank.tree.held(), rank.tree.pages]).toEqual([3, 3]);
  });

  it('E29: stored twice by vLLM, a page is held until the second removal', () => {
    const rank = new Rank({ kind: 'vllm' });
    rank.apply(storeAbc, storeAbc, removed(['c']));
    expect(rank.overlap(abc)).toBe(3);
    rank.apply(removed(['c']));
    expect(rank.overlap(abc)).toBe(2);
  });

  it('E31: store, clear, store ends with the last store', () => {
    const rank = new Rank();
    rank.apply(storeAbc, cleared, stored(['a'], null, [1, 2]));
    expect([rank.overlap(abc), rank.tree.held()]).toEqual([1, 1]);
  });

  it('E31: remove and store of one page ends with it held', () => {
    const rank = new Rank();
    rank.apply(storeAbc, removed(['c']), stored(['c'], 'b', [5, 6]));
    expect(rank.overlap(abc)).toBe(3);
  });

  it('E32: one removal that lists a child before its parent removes both and nothing else', () => {
    const rank = new Rank();
    rank.apply(storeAbc, stored(['x'], 'a', [7, 8]), removed(['c', 'b']));
    expect([rank.overlap(abc), rank.overlap([1, 2, 7, 8])]).toEqual([1, 2]);
    expect(rank.tree.counters.unknownRemovals).toBe(0);
  });

  it('E33: a salt named where the prompt begins holds for the whole chain', () => {
    const rank = new Rank();
    rank.apply(stored(['a'], null, [1, 2], { salt: 's' }), stored(['b', 'c'], 'a', [3, 4, 5, 6]));
    expect(rank.overlap(abc)).toBe(0);
    expect(rank.overlap(abc, { lora: null, salt: 's' })).toBe(3);
    expect(rank.overlap(abc, { lora: 's', salt: null })).toBe(0);
  });

  it('an empty salt is none', () => {
    const rank = new Rank();
    rank.apply(stored(['a'], null, [1, 2], { salt: '' }));
    expect(rank.overlap([1, 2])).toBe(1);
  });

  it('adapters and the base model share nothing', () => {
    const rank = new Rank();
    rank.apply(stored(['a'], null, [1, 2], { lora: 'x' }));
    expect([rank.overlap([1, 2]), rank.overlap([1, 2], { lora: 'x', salt: null })]).toEqual([0, 1]);
  });

  it('E35: a hit needs the full group and the window before its end; only what every end allows is published', () => {
    const sliding: EngineGroup = { index: 0, kind: 'sliding_window', slidingWindow: 4 };
    const full: EngineGroup = { index: 1, kind: 'full_attention', slidingWindow: null };
    const rank = new Rank({ kind: 'vllm' });
    const hashes = hashBlocks([...abc, 7, 8], 2, chainSeed(pool));
    rank.apply(stored(['a', 'c', 'd'], null, [...abc, 7, 8], { group: sliding }), stored(['a', 'b', 'c', 'd'], null, [...abc, 7, 8], { group: full }));
    expect(rank.tree.hit(hashes)).toBe(4);
    expect(rank.tree.hit(hashes.subarray(0, 6) as typeof hashes)).toBe(1);
    expect(rank.overlap([...abc, 7, 8])).toBe(1);
    rank.apply(removed(['d'], { group: 0 }));
    expect(rank.tree.hit(hashes)).toBe(1);
    rank.apply(stored(['b'], 'a', [3, 4], { group: sliding }));
    expect(rank.overlap(abc)).toBe(3);
    rank.apply(removed(['a'], { group: 1 }));
    expect([rank.tree.hit(hashes), rank.tree.held()]).toEqual([0, 0]);
  });

  it('with two full groups a block needs both', () => {
    const group = (index: number): EngineGroup => ({ index, kind: 'full_attention', slidingWindow: null });
    const rank = new Rank({ kind: 'vllm' });
    rank.apply(stored(['a', 'b'], null, [1, 2, 3, 4], { group: group(0) }), stored(['a'], null, [1, 2], { group: group(1) }));
    expect(rank.overlap([1, 2, 3, 4])).toBe(1);
    rank.apply(removed(['a'], { group: 0 }));
    expect(rank.tree.held()).toBe(0);
  });

  it('a copy on the host outlives the one on the device, and a prefix may lie in both', () => {
    const rank = new Rank();
    rank.apply(storeAbc, stored(['b', 'c'], 'a', [3, 4, 5, 6], { tier: 'host' }), removed(['b', 'c']));
    const hashes = hashBlocks(abc, 2, chainSeed(pool));
    expect([rank.reader.overlap(hashes), rank.tree.held()]).toEqual([1, 3]);
    expect([rank.tree.hit(hashes), rank.tree.hit(hashes, ['device', 'host'])]).toEqual([1, 3]);
    rank.apply(removed(['a']));
    expect(rank.tree.held()).toBe(0);
  });

  it('a block with two names at the engine is held until both are gone', () => {
    const rank = new Rank();
    rank.apply(stored(['a'], null, [1, 2], { lora: 'x' }), stored(['a2'], null, [1, 2], { lora: 'x' }), removed(['a']));
    expect(rank.overlap([1, 2], { lora: 'x', salt: null })).toBe(1);
    rank.apply(removed(['a2']));
    expect(rank.tree.held()).toBe(0);
  });

  it('bigram pages hold a block only for a prompt whose next token is theirs', () => {
    const rank = new Rank({ bigram: true });
    const pairs = (tokens: readonly number[]): number[] => tokens.slice(1).flatMap((token, index) => [tokens[index] ?? 0, token]);
    rank.apply(stored(['a', 'b'], null, pairs([1, 2, 3, 4, 5]), { bigram: true }));
    const overlap = (...tokens: readonly number[]): number => rank.reader.overlap(hashBigramBlocks(Int32Array.from(tokens), 2, chainSeed(pool)));
    expect(overlap(1, 2, 3, 4, 5)).toBe(2);
    expect(overlap(1, 2, 3, 4)).toBe(1);
    expect(overlap(1, 2, 3, 4, 9)).toBe(1);
    expect(overlap(9, 2, 3, 4, 5)).toBe(0);
  });

  it('stores that contradict the engine described at start are refused by reason', () => {
    const rank = new Rank();
    rank.apply(stored(['a'], null, [1, 2, 3, 4], { pageSize: 4 }), stored(['a'], null, [1, 2, 3]), stored(['a'], null, [1, 2, 2, 3], { bigram: true }));
    expect(rank.tree.refusals).toEqual(new Map([['page-size', 1], ['token-count', 1], ['tokens-in-pairs', 1]]));
    expect(rank.tree.pages).toBe(0);
  });

  it('follows no more pages than its bound, and counts the rest', () => {
    const rank = new Rank({ maxPages: 2 });
    rank.apply(storeAbc, stored(['x'], null, [7, 8]));
    expect([rank.overlap(abc), rank.tree.pages, rank.tree.counters.overflowed]).toEqual([2, 2, 2]);
    rank.apply(removed(['b', 'a']));
    rank.apply(stored(['x'], null, [7, 8]));
    expect(rank.overlap([7, 8])).toBe(1);
  });

  it('a snapshot applied to an empty rank gives what is held, parents first', () => {
    const rank = new Rank();
    rank.apply(storeAbc, stored(['x', 'y'], 'a', [7, 8, 9, 9]), stored(['s'], null, [1, 2], { salt: 's' }), stored(['c', 'd'], 'b', [5, 6, 0, 0], { tier: 'host' }), removed(['y']));
    const copy = new HeldBlocks();
    copy.apply(rank.tree.snapshotRuns());
    expect(copy.faults).toEqual([]);
    expect(copy.held).toEqual(rank.reader.held);
  });
});
