import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chainSeed } from '../../../src/core/identity/chain-seed.ts';
import { hashBlocks } from '../../../src/core/identity/hash-blocks.ts';
import { parsePoolId } from '../../../src/core/identity/ids.ts';
import type { EngineEvent } from '../../../src/core/kv-stream/engine-event.ts';
import type { StorageTier } from '../../../src/core/kv-stream/kv-event.ts';
import { PageTree } from '../../../src/core/kv-stream/page-tree.ts';
import { HeldBlocks } from '../../support/held-blocks.ts';

const pool = parsePoolId('p');
const salts = [null, 's'] as const;
const tiers = ['device', 'host'] as const;
type Kind = 'sglang' | 'vllm';

interface Sizes {
  readonly pageSize: number;
  readonly blockSize: number;
}

interface Step {
  readonly op: 'store' | 'store-tail' | 'evict-leaf' | 'evict-any' | 'clear';
  /** The prompt, in pages: each page is one token repeated. */
  readonly path: readonly number[];
  readonly salt: (typeof salts)[number];
  readonly tier: (typeof tiers)[number];
  /** The engine's name for it has a part that no event says, as with an adapter that was loaded again. */
  readonly twin: boolean;
  readonly pick: number;
}

interface Page {
  readonly name: string;
  readonly parent: string | null;
  readonly path: readonly number[];
  readonly salt: string | null;
  readonly copies: Map<StorageTier, number>;
}

/** A plain engine that says what it does in events, and knows what it has. */
class PlainEngine {
  readonly #pages = new Map<string, Page>();
  readonly #kind: Kind;
  readonly #pageSize: number;

  constructor(kind: Kind, pageSize: number) {
    this.#kind = kind;
    this.#pageSize = pageSize;
  }

  run(step: Step): readonly EngineEvent[] {
    switch (step.op) {
      case 'store':
        return this.#store(step, 0);
      case 'store-tail':
        return this.#store(step, this.#heldPages(step));
      case 'evict-leaf':
        return this.#evict(step, [...this.#pages.values()].filter((page) => ![...this.#pages.values()].some((other) => other.parent === page.name)));
      case 'evict-any':
        return this.#evict(step, [...this.#pages.values()]);
      case 'clear':
        this.#pages.clear();
        return [{ kind: 'cleared' }];
    }
  }

  /** Leading pages of a prompt that lie whole in the tier, of whichever of two names; blocks before may lie in another. */
  blocks(path: readonly number[], salt: string | null, { tier, sizes }: { readonly tier: StorageTier; readonly sizes: Sizes }): number {
    return Math.max(...[false, true].map((twin) => this.#blocksOf(path, { salt, twin, tier, sizes })));
  }

  #blocksOf(path: readonly number[], of: { readonly salt: string | null; readonly twin: boolean; readonly tier: StorageTier; readonly sizes: Sizes }): number {
    const names = path.map((_, index) => nameOf(path.slice(0, index + 1), of.salt, of.twin));
    const missing = names.findIndex((name) => !this.#pages.get(name)?.copies.has(of.tier));
    return Math.floor(((missing === -1 ? path.length : missing) * of.sizes.pageSize) / of.sizes.blockSize);
  }

  #heldPages({ path, salt, twin }: Step): number {
    const missing = path.findIndex((_, index) => !this.#pages.has(nameOf(path.slice(0, index + 1), salt, twin)));
    return missing === -1 ? path.length : missing;
  }

  #store({ path, salt, twin, tier }: Step, from: number): readonly EngineEvent[] {
    if (from === path.length) return [];
    const names = path.map((_, index) => nameOf(path.slice(0, index + 1), salt, twin));
    const parent = from === 0 ? null : (names[from - 1] ?? null);
    names.slice(from).forEach((name, index) => {
      const at = from + index;
      const page = this.#pages.get(name) ?? { name, parent: at === 0 ? null : (names[at - 1] ?? null), path: path.slice(0, at + 1), salt, copies: new Map<StorageTier, number>() };
      page.copies.set(tier, this.#kind === 'vllm' ? (page.copies.get(tier) ?? 0) + 1 : 1);
      this.#pages.set(name, page);
    });
    return [{ kind: 'stored', hashes: names.slice(from), parent, tokens: this.tokens(path.slice(from)), pageSize: this.#pageSize, tier, lora: null, salt, group: null, bigram: false }];
  }

  #evict({ pick, tier }: Step, pages: readonly Page[]): readonly EngineEvent[] {
    const page = pages[pick % Math.max(1, pages.length)];
    const copies = page?.copies.get(tier);
    if (page === undefined || copies === undefined) return [];
    if (copies > 1) page.copies.set(tier, copies - 1);
    else page.copies.delete(tier);
    if (page.copies.size === 0) this.#pages.delete(page.name);
    return [{ kind: 'removed', hashes: [page.name], tier, group: null }];
  }

  tokens(path: readonly number[]): Int32Array {
    return Int32Array.from(path.flatMap((page) => Array.from({ length: this.#pageSize }, () => page)));
  }
}

const nameOf = (path: readonly number[], salt: string | null, twin: boolean): string => `${salt ?? ''}${twin ? '+' : ''}/${path.join('')}`;

const paths = fc.array(fc.nat({ max: 1 }), { minLength: 1, maxLength: 5 });
const step: fc.Arbitrary<Step> = fc.record({
  op: fc.constantFrom('store', 'store', 'store-tail', 'store-tail', 'evict-leaf', 'evict-leaf', 'evict-any', 'clear'),
  path: paths,
  salt: fc.constantFrom(...salts),
  tier: fc.constantFrom('device', 'device', 'device', 'host'),
  twin: fc.constantFrom(false, false, true),
  pick: fc.nat({ max: 40 }),
});
/**
 * Either twins or tiers: of a block whose one name lies on the host and whose other on the device, an answer for the
 * device alone is not defined (the prompt does hit, by way of the host).
 */
const steps = fc.oneof(
  fc.array(step.map((any) => ({ ...any, tier: 'device' as const })), { maxLength: 30 }),
  fc.array(step.map((any) => ({ ...any, twin: false })), { maxLength: 30 }),
);
const sizes: fc.Arbitrary<Sizes> = fc.oneof(
  fc.record({ page: fc.integer({ min: 1, max: 4 }), times: fc.integer({ min: 1, max: 3 }) }).map(({ page, times }) => ({ pageSize: page, blockSize: page * times })),
  fc.record({ block: fc.integer({ min: 1, max: 3 }), times: fc.integer({ min: 2, max: 4 }) }).map(({ block, times }) => ({ pageSize: block * times, blockSize: block })),
);
const allPaths = [...everyPath(4)];

function* everyPath(pages: number): Generator<readonly number[]> {
  for (let length = 1; length <= pages; length++) {
    for (let bits = 0; bits < 2 ** length; bits++) yield Array.from({ length }, (_, place) => (bits >> place) & 1);
  }
}

function check(kind: Kind, size: Sizes, taken: readonly Step[]): void {
  const engine = new PlainEngine(kind, size.pageSize);
  const tree = new PageTree({ kind, pool, ...size, bigram: false });
  const reader = new HeldBlocks();
  for (const next of taken) {
    for (const event of engine.run(next)) reader.apply(tree.apply(event));
    expect(reader.faults).toEqual([]);
  }
  for (const salt of salts) {
    for (const path of allPaths) {
      const hashes = hashBlocks(engine.tokens(path), size.blockSize, chainSeed(pool, { lora: null, salt }));
      const wanted = tiers.map((tier) => engine.blocks(path, salt, { tier, sizes: size }));
      expect(tiers.map((tier) => reader.overlap(hashes, tier))).toEqual(wanted);
      expect(tiers.map((tier) => tree.hit(hashes, [tier]))).toEqual(wanted);
    }
  }
  const copy = new HeldBlocks();
  copy.apply(tree.snapshotRuns());
  expect(copy.held).toEqual(reader.held);
  expect(tree.held()).toBe(new Set([...reader.held].map((key) => key.split(' ')[1])).size);
  expect(tree.counters).toEqual({ unknownRemovals: 0, orphanedStores: 0, refused: 0, overflowed: 0 });
}

describe('PageTree, against a plain engine', () => {
  for (const kind of ['sglang', 'vllm'] as const) {
    it(`${kind}: never credits what the engine lacks, never forgets what it has, and a snapshot says the same`, () => {
      fc.assert(fc.property(sizes, steps, (size, taken) => check(kind, size, taken)), { numRuns: 100 });
    });
  }

  it('gives back everything once all is evicted', () => {
    fc.assert(
      fc.property(sizes, fc.array(paths, { maxLength: 12 }), (size, stored) => {
        const engine = new PlainEngine('sglang', size.pageSize);
        const tree = new PageTree({ kind: 'sglang', pool, ...size, bigram: false });
        for (const path of stored) engine.run({ op: 'store', path, salt: null, tier: 'device', twin: false, pick: 0 }).forEach((event) => tree.apply(event));
        for (;;) {
          const events = engine.run({ op: 'evict-any', path: [], salt: null, tier: 'device', twin: false, pick: 7 });
          if (events.length === 0) break;
          events.forEach((event) => tree.apply(event));
        }
        expect([tree.held(), tree.pages]).toEqual([0, 0]);
      }),
      { numRuns: 60 },
    );
  });
});
