import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockHolders } from '../../../src/core/kv-stream/block-holders.ts';

const word = fc.constantFrom(0, 1, 1_024, 2_048, -1, 0x7fff_ffff);
const change = fc.record({ add: fc.boolean(), low: word, high: fc.constantFrom(0, 5), tier: fc.nat({ max: 3 }) });

describe('BlockHolders', () => {
  it('counts as a map would, with hashes that fall on one place', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 120 }), (changes) => {
        const holders = new BlockHolders();
        const plain = new Map<string, number>();
        for (const { add, low, high, tier } of changes) {
          const key = JSON.stringify([low, high, tier]);
          const before = plain.get(key) ?? 0;
          const after = Math.max(0, before + (add ? 1 : -1));
          expect(add ? holders.add(low, high, tier) : holders.remove(low, high, tier)).toBe(add ? before === 0 : before === 1);
          if (after === 0) plain.delete(key);
          else plain.set(key, after);
          expect([holders.has(low, high, tier), holders.size]).toEqual([after > 0, plain.size]);
        }
        for (const each of changes) expect(holders.has(each.low, each.high, each.tier)).toBe(plain.has(JSON.stringify([each.low, each.high, each.tier])));
      }),
      { numRuns: 300 },
    );
  });

  it('grows past its first size and finds all again', () => {
    const holders = new BlockHolders();
    for (let i = 0; i < 5_000; i++) holders.add(Math.imul(i, 0x9e3779b1), i, i & 3);
    for (let i = 0; i < 5_000; i += 2) holders.remove(Math.imul(i, 0x9e3779b1), i, i & 3);
    const found = Array.from({ length: 5_000 }, (_, i) => holders.has(Math.imul(i, 0x9e3779b1), i, i & 3));
    expect(found.every((held, i) => held === (i % 2 === 1))).toBe(true);
    expect(holders.size).toBe(2_500);
  });
});
