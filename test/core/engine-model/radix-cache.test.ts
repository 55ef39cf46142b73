import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CacheEvent, CacheNamespace } from '../../../src/core/engine-model/cache-event.ts';
import { RadixCache, type CachePath } from '../../../src/core/engine-model/radix-cache.ts';
import { cheapHasher, digestNames } from './cheap-hasher.ts';

const plain: CacheNamespace = { salt: null, extraKey: null };
const salted: CacheNamespace = { salt: 'tenant-a', extraKey: null };

const cacheOf = (pageSize: number, capacityTokens = 1000): RadixCache => new RadixCache({ pageSize, capacityTokens, hasher: cheapHasher });
const span = (tokens: readonly number[], length = tokens.length): { tokens: Int32Array; length: number } => ({ tokens: Int32Array.from(tokens), length });

/** Makes room as a request does, and leaves the pages to the tree. */
function store(cache: RadixCache, tokens: readonly number[], space = plain): boolean {
  if (!cache.hold(tokens.length)) return false;
  cache.release(tokens.length);
  cache.insert(space, span(tokens), null);
  return true;
}

/** What a follower of the events believes to be held: each page under its digest's name. */
class Follower {
  readonly held = new Set<string>();

  apply(events: readonly CacheEvent[]): void {
    for (const event of events) {
      if (event.kind === 'cleared') this.held.clear();
      else if (event.kind === 'stored') digestNames(event.digests).forEach((name) => this.held.add(name));
      else event.runs.flatMap((run) => digestNames(run)).forEach((name) => this.held.delete(name));
    }
  }

  /** Leading pages of the prompt that it believes are held, in tokens. */
  overlap(tokens: readonly number[], pageSize: number, salt: string | null): number {
    const pages = Math.floor(tokens.length / pageSize);
    const names = digestNames(cheapHasher.hashRun({ tokens: Int32Array.from(tokens), from: 0, pages, pageSize, parent: cheapHasher.seed(salt) }));
    const missing = names.findIndex((name) => !this.held.has(name));
    return (missing < 0 ? pages : missing) * pageSize;
  }
}

describe('the radix cache', () => {
  it('counts both parts of a run as locked that is split while a request stands on it', () => {
    const cache = cacheOf(2);
    store(cache, [1, 2, 3, 4]);
    const whole = cache.match(plain, span([1, 2, 3, 4]));
    cache.lock(whole.node);
    const half = cache.match(plain, span([1, 2, 9, 9]));
    cache.lock(half.node);
    expect(cache.usage.lockedTokens).toBe(4);
    cache.unlock(whole.node);
    expect(cache.usage.lockedTokens).toBe(2);
    cache.unlock(half.node);
    expect(cache.usage.lockedTokens).toBe(0);
  });

  it('tells a clear when it is made, and each page once', () => {
    const cache = cacheOf(2);
    store(cache, [1, 2, 3, 4]);
    store(cache, [1, 2, 3, 4, 5, 6]);
    const events = cache.drainEvents();
    expect(events.map(({ kind }) => kind)).toEqual(['cleared', 'stored']);
    expect(events[1]).toMatchObject({ parent: null, tokens: Int32Array.of(1, 2, 3, 4, 5, 6) });
  });

  it('splits a run silently, and stores the other branch under the page before', () => {
    const cache = cacheOf(2);
    store(cache, [1, 2, 3, 4, 5, 6]);
    const [, first] = cache.drainEvents();
    store(cache, [1, 2, 9, 9]);
    const events = cache.drainEvents();
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ kind: 'stored', tokens: Int32Array.of(9, 9), parent: first?.kind === 'stored' ? first.digests.slice(0, 8) : null });
    expect(cache.peek(plain, span([1, 2, 3, 4, 5, 6]))).toBe(6);
  });

  it('matches whole pages only', () => {
    const cache = cacheOf(4);
    store(cache, [1, 2, 3, 4, 5, 6, 7, 8]);
    expect(cache.match(plain, span([1, 2, 3, 4, 5, 6, 7, 9])).tokens).toBe(4);
    expect(cache.match(plain, span([1, 2, 3, 9])).tokens).toBe(0);
    expect(cache.match(plain, span([1, 2, 3, 4, 5, 6, 7, 8], 7)).tokens).toBe(4);
  });

  it('keeps prompts of different salts apart', () => {
    const cache = cacheOf(1);
    store(cache, [1, 2, 3]);
    expect(cache.match(salted, span([1, 2, 3])).tokens).toBe(0);
    store(cache, [1, 2, 3], salted);
    const stores = cache.drainEvents().filter(({ kind }) => kind === 'stored');
    expect(stores).toHaveLength(2);
    expect(stores[1]).toMatchObject({ salt: 'tenant-a', parent: null });
  });

  it('evicts the least recently used leaf first, and a parent only after its children', () => {
    const cache = cacheOf(1, 5);
    store(cache, [1, 2]);
    store(cache, [1, 3]);
    store(cache, [4, 5]);
    cache.match(plain, span([1, 2]));
    cache.hold(1);
    expect([cache.peek(plain, span([1, 3])), cache.peek(plain, span([4, 5])), cache.peek(plain, span([1, 2]))]).toEqual([1, 2, 2]);
    expect(cache.evictedTokens).toBe(1);
  });

  it('gives no room where everything is locked, and changes nothing', () => {
    const cache = cacheOf(1, 4);
    store(cache, [1, 2, 3]);
    cache.lock(cache.match(plain, span([1, 2, 3])).node);
    expect(cache.hold(2)).toBe(false);
    expect(cache.usage).toEqual({ treeTokens: 3, lockedTokens: 3, heldTokens: 0 });
  });
});

type Act =
  | { readonly kind: 'store'; readonly tokens: readonly number[]; readonly salted: boolean }
  | { readonly kind: 'lock'; readonly tokens: readonly number[]; readonly salted: boolean }
  | { readonly kind: 'unlock'; readonly which: number }
  | { readonly kind: 'hold'; readonly tokens: number };

const promptArb = (pageSize: number): fc.Arbitrary<readonly number[]> =>
  fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 8 }).map((pages) => pages.flatMap((page) => Array.from({ length: pageSize }, (_, i) => (i === pageSize - 1 ? page : 0))));

const actArb = (pageSize: number): fc.Arbitrary<Act> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('store' as const), tokens: promptArb(pageSize), salted: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('lock' as const), tokens: promptArb(pageSize), salted: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('unlock' as const), which: fc.nat(5) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('hold' as const), tokens: fc.integer({ min: 1, max: 6 }).map((pages) => pages * pageSize) }) },
  );

interface Lock extends CachePath {
  readonly tokensHeld: readonly number[];
  readonly space: CacheNamespace;
}

/** Runs the acts and hands the cache to `check` after each of them. */
function play(pageSize: number, acts: readonly Act[], check: (cache: RadixCache, locks: readonly Lock[]) => void): void {
  const cache = cacheOf(pageSize, 16 * pageSize);
  const locks: Lock[] = [];
  for (const act of acts) {
    if (act.kind === 'store') store(cache, act.tokens, act.salted ? salted : plain);
    if (act.kind === 'lock') {
      const space = act.salted ? salted : plain;
      const path = cache.match(space, span(act.tokens));
      cache.lock(path.node);
      locks.push({ ...path, space, tokensHeld: act.tokens.slice(0, path.tokens) });
    }
    if (act.kind === 'unlock') locks.splice(act.which, 1).forEach((lock) => cache.unlock(lock.node));
    if (act.kind === 'hold' && cache.hold(act.tokens)) cache.release(act.tokens);
    check(cache, locks);
  }
  for (const lock of locks) cache.unlock(lock.node);
  expect(cache.usage.lockedTokens).toBe(0);
}

describe.each([1, 3])('with pages of %d, whatever is stored, locked and held', (pageSize) => {
  const anything = fc.array(actArb(pageSize), { maxLength: 60 });

  it('the cache never exceeds its capacity', () => {
    fc.assert(
      fc.property(anything, (acts) => {
        play(pageSize, acts, (cache) => {
          const { treeTokens, heldTokens, lockedTokens } = cache.usage;
          expect(treeTokens + heldTokens).toBeLessThanOrEqual(16 * pageSize);
          expect(lockedTokens).toBeLessThanOrEqual(treeTokens);
        });
      }),
    );
  });

  it('what is locked is never evicted', () => {
    fc.assert(
      fc.property(anything, (acts) => {
        play(pageSize, acts, (cache, locks) => {
          for (const { space, tokensHeld } of locks) expect(cache.peek(space, span(tokensHeld))).toBe(tokensHeld.length);
        });
      }),
    );
  });

  it('a follower of its events believes exactly what it holds', () => {
    fc.assert(
      fc.property(anything, fc.array(promptArb(pageSize), { minLength: 1, maxLength: 5 }), (acts, queries) => {
        const follower = new Follower();
        play(pageSize, acts, (cache) => {
          follower.apply(cache.drainEvents());
          expect(follower.held.size * pageSize).toBe(cache.usage.treeTokens);
          for (const query of queries) {
            expect(follower.overlap(query, pageSize, null)).toBe(cache.peek(plain, span(query)));
            expect(follower.overlap(query, pageSize, 'tenant-a')).toBe(cache.peek(salted, span(query)));
          }
        });
      }),
    );
  });
});
