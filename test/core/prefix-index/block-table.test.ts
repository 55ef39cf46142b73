import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockSlots, noSlot } from '../../../src/core/prefix-index/block-slots.ts';
import { BlockTable, inserted } from '../../../src/core/prefix-index/block-table.ts';

/** Table and slots together, as the index uses them. */
class Blocks {
  readonly slots = new BlockSlots();
  readonly table = new BlockTable(this.slots);

  add(low: number, high: number): boolean {
    const offered = this.slots.slotAfter(noSlot);
    if (this.table.findOrInsert(low, high, offered) !== inserted) return false;
    this.slots.occupy(offered, noSlot, low, high, 1);
    return true;
  }

  has(low: number, high: number): boolean {
    return this.table.find(low, high) !== noSlot;
  }

  drop(low: number, high: number): void {
    const slot = this.table.find(low, high);
    this.table.remove(low, slot);
    this.slots.free(slot);
  }
}

// Few homes, on both sides of a segment's end, so that entries push each other about.
const crowded = fc.record({ low: fc.constantFrom(0, 1, 2, 3, 254, 255, 256, 511), high: fc.nat(3), add: fc.boolean() });

describe('the block table', () => {
  it('finds exactly what was added and not removed, however crowded a place is', () => {
    fc.assert(
      fc.property(fc.array(crowded, { maxLength: 200 }), (steps) => {
        const blocks = new Blocks();
        const reference = new Set<string>();
        for (const { low, high, add } of steps) {
          const name = `${low} ${high}`;
          if (add && !reference.has(name)) blocks.add(low, high);
          if (!add && reference.has(name)) blocks.drop(low, high);
          if (add) reference.add(name);
          else reference.delete(name);
        }
        for (const low of [0, 1, 2, 3, 254, 255, 256, 511]) for (let high = 0; high < 4; high++) expect(blocks.has(low, high)).toBe(reference.has(`${low} ${high}`));
      }),
      { numRuns: 300 },
    );
  });

  it('keeps every entry as it grows, and none of what was removed on the way', () => {
    const blocks = new Blocks();
    const low = (number: number): number => Math.imul(number, 0x9e3779b1);
    for (let number = 1; number <= 60_000; number++) {
      blocks.add(low(number), number);
      if (number % 3 === 0) blocks.drop(low(number), number);
    }
    const wrong = Array.from({ length: 60_000 }, (_, at) => at + 1).filter((number) => blocks.has(low(number), number) !== (number % 3 !== 0));
    expect(wrong).toEqual([]);
  });

  it('refuses what hashes made to collide leave no room for, and goes on finding the rest', () => {
    const blocks = new Blocks();
    const taken = Array.from({ length: 2_100 }, (_, high) => blocks.add(7, high));
    expect(taken.filter((each) => each)).toHaveLength(1_024);
    expect(blocks.has(7, 1_023)).toBe(true);
    expect(blocks.has(7, 1_024)).toBe(false);
    expect(blocks.add(-1, 5)).toBe(true);
    blocks.drop(7, 0);
    expect(blocks.add(7, 5_000)).toBe(true);
  });
});
