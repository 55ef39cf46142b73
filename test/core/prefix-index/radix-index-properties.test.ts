import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RankId } from '../../../src/core/identity/ids.ts';
import type { KvEvent, StorageTier } from '../../../src/core/kv-stream/kv-event.ts';
import { RadixIndex } from '../../../src/core/prefix-index/radix-index.ts';
import { chain, cleared, names, named, rank, ReferenceIndex, removed, sorted, stored } from './index-support.ts';

const prompts = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 12 });
const tiers = fc.constantFrom<StorageTier>('device', 'device', 'device', 'host', 'disk');

/** Storing part of a chain and removing single blocks anywhere makes holes of every kind. */
const storing = fc.tuple(prompts, fc.nat(11), tiers).map(([tokens, from, tier]) => stored(tokens, Math.min(from, tokens.length - 1), tier));
const removing = fc.tuple(prompts, fc.array(fc.nat(11), { minLength: 1, maxLength: 4 }), tiers).map(([tokens, places, tier]) => {
  const all = names(chain(...tokens));
  return removed(named(places.map((place) => all[place % all.length] ?? '')), tier);
});

type Step = { readonly at: number; readonly event: KvEvent | null };
const step: fc.Arbitrary<Step> = fc.record({
  at: fc.nat(5),
  event: fc.oneof({ arbitrary: storing, weight: 8 }, { arbitrary: removing, weight: 5 }, { arbitrary: fc.constant(cleared), weight: 1 }, { arbitrary: fc.constant(null), weight: 1 }),
});

function play(ranks: readonly RankId[], steps: readonly Step[]): { index: RadixIndex; reference: ReferenceIndex } {
  const index = new RadixIndex();
  const reference = new ReferenceIndex();
  for (const { at, event } of steps) {
    const id = ranks[at % ranks.length] ?? rank('w1');
    for (const each of [index, reference]) {
      if (event === null) each.removeRank(id);
      else each.apply(id, event);
    }
  }
  return { index, reference };
}

const few = [rank('a', 0), rank('a', 1), rank('b', 0), rank('c', 0), rank('d', 0), rank('d', 7)];

/** A stem of 40 blocks with branches off it: rows of several extents, cut, forked and holed anywhere. */
const stem = Array.from({ length: 40 }, () => 0);
const longPrompts = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.array(fc.integer({ min: 1, max: 2 }), { maxLength: 20 })).map(([kept, tail]) => [...stem.slice(0, kept), ...tail]);
const longStep: fc.Arbitrary<Step> = fc.record({
  at: fc.nat(5),
  event: fc.oneof(
    { arbitrary: fc.tuple(longPrompts, fc.nat(39)).map(([tokens, from]) => stored(tokens, Math.min(from, tokens.length - 1))), weight: 5 },
    { arbitrary: longPrompts.map((tokens) => stored(tokens)), weight: 5 },
    { arbitrary: fc.tuple(longPrompts, fc.nat(59), fc.integer({ min: 1, max: 20 })).map(([tokens, end, count]) => removed(named(names(chain(...tokens)).slice(-end - 1).slice(0, count).reverse()))), weight: 5 },
    { arbitrary: fc.constant(null), weight: 1 },
  ),
});

describe('the radix index, against sets of blocks', () => {
  it('stays exact along chains of many extents, however they are cut, forked and holed', () => {
    fc.assert(
      fc.property(fc.array(longStep, { maxLength: 60 }), fc.array(longPrompts, { minLength: 1, maxLength: 6 }), (steps, asked) => {
        const { index, reference } = play(few, steps);
        for (const tokens of asked) expect(sorted(index.overlaps(chain(...tokens)))).toEqual(sorted(reference.overlaps(chain(...tokens))));
        for (const id of few) expect(index.blocksHeld(id)).toBe(reference.blocksHeld(id));
        while (index.sweep(1_000));
        expect(index.blocks).toBe(reference.blocks);
        for (const id of few) index.removeRank(id);
        while (index.sweep(1_000));
        expect([index.blocks, index.storedSets]).toEqual([0, 0]);
      }),
      { numRuns: 300 },
    );
  });

  it('credits each rank with exactly the leading blocks it holds', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.array(prompts, { minLength: 1, maxLength: 6 }), (steps, asked) => {
        const { index, reference } = play(few, steps);
        for (const tokens of asked) expect(sorted(index.overlaps(chain(...tokens)))).toEqual(sorted(reference.overlaps(chain(...tokens))));
        for (const id of few) expect(index.blocksHeld(id)).toBe(reference.blocksHeld(id));
        expect(index.blocks).toBe(reference.blocks);
      }),
      { numRuns: 500 },
    );
  });

  it('is empty when every rank is removed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { index } = play(few, steps);
        for (const id of few) index.removeRank(id);
        while (index.sweep(1_000));
        expect([index.blocks, index.storedSets]).toEqual([0, 0]);
      }),
    );
  });

  it('visits what it maps', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), prompts, (steps, asked) => {
        const { index } = play(few, steps);
        const visited = new Map<string, number>();
        index.visitOverlaps(chain(...asked), (id, blocks) => visited.set(`${id.worker}/${id.rank}`, blocks));
        expect(visited).toEqual(index.overlaps(chain(...asked)));
      }),
    );
  });

  it('stays exact with hundreds of ranks at one block, as they come and go', () => {
    const ranks = Array.from({ length: 600 }, (_, number) => rank(`w${number >> 2}`, number & 3));
    const wide = fc.record({ from: fc.nat(599), count: fc.integer({ min: 1, max: 600 }), stride: fc.constantFrom(1, 2, 7, 64), event: fc.oneof(storing, removing, fc.constant(null)) });
    fc.assert(
      fc.property(fc.array(wide, { minLength: 1, maxLength: 10 }), prompts, (waves, asked) => {
        const steps = waves.flatMap(({ from, count, stride, event }) => Array.from({ length: count }, (_, i) => ({ at: from + i * stride, event })));
        const { index, reference } = play(ranks, steps);
        expect(sorted(index.overlaps(chain(...asked)))).toEqual(sorted(reference.overlaps(chain(...asked))));
        expect(index.blocks).toBe(reference.blocks);
        for (const id of ranks) index.removeRank(id);
        while (index.sweep(1_000));
        expect([index.blocks, index.storedSets]).toEqual([0, 0]);
      }),
      { numRuns: 30 },
    );
  });
});
