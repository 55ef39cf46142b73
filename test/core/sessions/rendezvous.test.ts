import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RankId } from '../../../src/core/identity/ids.ts';
import { rankKey } from '../../../src/core/identity/ids.ts';
import { rendezvous } from '../../../src/core/sessions/rendezvous.ts';
import { rank } from '../placement/placement-builders.ts';

type Some = readonly [RankId, ...RankId[]];
const eight: Some = [rank('w1'), ...[2, 3, 4, 5, 6, 7, 8].map((at) => rank(`w${at}`))];
const named = (key: string, ids: Some): string => rankKey(rendezvous(key, ids, (id) => id));

describe('rendezvous', () => {
  it('names the same rank whatever the order', () => {
    fc.assert(
      fc.property(fc.string(), fc.shuffledSubarray([...eight], { minLength: 8 }), (key, [head = eight[0], ...tail]) => {
        expect(named(key, [head, ...tail])).toBe(named(key, eight));
      }),
    );
  });

  it('moves only the keys of a rank that goes', () => {
    const [gone, second = gone, ...rest] = eight;
    for (let at = 0; at < 200; at++) {
      const before = named(`s${at}`, eight);
      if (before !== rankKey(gone)) expect(named(`s${at}`, [second, ...rest])).toBe(before);
    }
  });

  it('spreads 800 keys that differ in their digits over 8 ranks, none far from its share', () => {
    const counts = new Map<string, number>();
    for (let at = 0; at < 800; at++) counts.set(named(`session-${at}`, eight), (counts.get(named(`session-${at}`, eight)) ?? 0) + 1);
    expect(counts.size).toBe(8);
    expect(Math.min(...counts.values())).toBeGreaterThan(60);
    expect(Math.max(...counts.values())).toBeLessThan(150);
  });
});
