import { describe, expect, it } from 'vitest';
import { chainSeed, noIsolation } from '../../../src/core/identity/chain-seed.ts';
import { hashBlocks } from '../../../src/core/identity/hash-blocks.ts';
import { parsePoolId } from '../../../src/core/identity/ids.ts';
import { concatHashes } from '../../../src/core/identity/sequence-hash.ts';
import { RadixIndex } from '../../../src/core/prefix-index/radix-index.ts';
import { chain, cleared, lastOf, rank, removed, sorted, stored } from './index-support.ts';

const w1 = rank('w1');
const w2 = rank('w2');

describe('the radix index', () => {
  it('E3: holds nothing of a rank that cleared', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([1]));
    expect(index.apply(w1, cleared).removedBlocks).toBe(1);
    expect(index.overlaps(chain(1)).size).toBe(0);
    expect(index.blocksHeld(w1)).toBe(0);
  });

  it('E4: leaves the other ranks of a worker alone when one clears', () => {
    const index = new RadixIndex();
    index.apply(rank('w1', 0), stored([1]));
    index.apply(rank('w1', 1), stored([1]));
    index.apply(rank('w1', 1), cleared);
    expect(sorted(index.overlaps(chain(1)))).toEqual([['w1/0', 1]]);
  });

  it('E5: a run stored under a parent is a chain', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([9]));
    expect(index.apply(w1, stored([9, 1, 2, 3], 1))).toMatchObject({ storedBlocks: 3, orphanedBlocks: 0 });
    expect(sorted(index.overlaps(chain(9, 1, 2, 3)))).toEqual([['w1/0', 4]]);
    expect(sorted(index.overlaps(chain(9, 2)))).toEqual([['w1/0', 1]]);
  });

  it('E6: a removal with one unknown block removes the others and counts it', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([1, 2]));
    const run = concatHashes([lastOf(1, 2, 3), lastOf(1, 2), lastOf(1)]);
    expect(index.apply(w1, removed(run))).toMatchObject({ removedBlocks: 2, unknownRemovals: 1 });
    expect(index.blocks).toBe(0);
  });

  it('E8: blocks under a parent that the rank lacks are counted and not credited until the gap closes', () => {
    const index = new RadixIndex();
    expect(index.apply(w1, stored([1, 2, 3], 1))).toMatchObject({ storedBlocks: 2, orphanedBlocks: 2 });
    expect(index.overlaps(chain(1, 2, 3)).size).toBe(0);
    index.apply(w1, stored([1]));
    expect(sorted(index.overlaps(chain(1, 2, 3)))).toEqual([['w1/0', 3]]);
  });

  it('E10: overlap ends before a removed block', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([1, 2, 3]));
    index.apply(w1, removed(lastOf(1, 2, 3)));
    expect(sorted(index.overlaps(chain(1, 2, 3)))).toEqual([['w1/0', 2]]);
  });

  it('counts no block behind a hole in the middle, and all again once it is filled', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([1, 2, 3, 4]));
    index.apply(w1, removed(lastOf(1, 2)));
    expect(sorted(index.overlaps(chain(1, 2, 3, 4)))).toEqual([['w1/0', 1]]);
    index.apply(w1, stored([1, 2], 1));
    expect(sorted(index.overlaps(chain(1, 2, 3, 4)))).toEqual([['w1/0', 4]]);
  });

  it('E11: chains that part after a shared prefix are told apart', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([1, 2, 3]));
    index.apply(w2, stored([1, 2, 3]));
    index.apply(w1, stored([1, 2, 3, 4, 5, 6], 3));
    index.apply(w2, stored([1, 2, 3, 7, 8], 3));
    expect(sorted(index.overlaps(chain(1, 2, 3, 7, 8)))).toEqual([['w1/0', 3], ['w2/0', 5]]);
  });

  it('E12: a prompt whose first block is not held matches nothing', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([1]));
    index.apply(w1, stored([2]));
    expect(index.overlaps(chain(999, 1, 2)).size).toBe(0);
  });

  it('E13: a block stored twice is gone after one removal', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([1]));
    index.apply(w1, stored([1]));
    expect(index.apply(w1, removed(chain(1))).removedBlocks).toBe(1);
    expect(index.overlaps(chain(1)).size).toBe(0);
  });

  it('E14: a removal for an unknown worker changes nothing and is counted', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([1]));
    expect(index.apply(rank('stranger'), removed(chain(1)))).toMatchObject({ removedBlocks: 0, unknownRemovals: 1 });
    expect(sorted(index.overlaps(chain(1)))).toEqual([['w1/0', 1]]);
    expect(() => index.removeRank(rank('stranger'))).not.toThrow();
  });

  it('E15: equal tokens under an adapter, under two salts and under none never meet', () => {
    const pool = parsePoolId('llama');
    const isolations = [noIsolation, { lora: 'x', salt: null }, { lora: null, salt: 'x' }, { lora: null, salt: 'y' }];
    const chains = isolations.map((isolation) => hashBlocks([1, 2, 3, 4], 2, chainSeed(pool, isolation)));
    chains.forEach((hashes, held) => {
      const index = new RadixIndex();
      index.apply(w1, { kind: 'stored', parent: null, hashes, tier: 'device' });
      chains.forEach((asked, which) => expect(index.overlaps(asked).size).toBe(which === held ? 1 : 0));
    });
  });

  it('E17: a removed rank leaves no block behind, and another may take its number', () => {
    const index = new RadixIndex();
    index.apply(rank('w1', 3), stored([1, 2]));
    index.apply(w2, stored([1]));
    index.removeRank(rank('w1', 3));
    expect(index.blocksHeld(rank('w1', 3))).toBe(0);
    index.apply(rank('w3'), stored([5]));
    expect(sorted(index.overlaps(chain(1, 2)))).toEqual([['w2/0', 1]]);
    expect(index.blocks).toBe(2);
  });

  it('E28: a chain stored again is no change and no growth', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([1, 2, 3]));
    expect(index.apply(w1, stored([1, 2, 3]))).toEqual({ storedBlocks: 0, removedBlocks: 0, unknownRemovals: 0, orphanedBlocks: 0, refusedBlocks: 0 });
    expect(index.blocks).toBe(3);
    expect(index.blocksHeld(w1)).toBe(3);
  });

  it('E32: one removal may list a child before its parent', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([1, 2, 3]));
    index.apply(w1, removed(concatHashes([lastOf(1, 2, 3), lastOf(1, 2)])));
    expect(sorted(index.overlaps(chain(1, 2, 3)))).toEqual([['w1/0', 1]]);
    expect(index.blocks).toBe(1);
  });

  it('a block in two tiers is held until it left both', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([1]));
    index.apply(w1, stored([1], 0, 'host'));
    expect(index.apply(w1, removed(chain(1)))).toMatchObject({ removedBlocks: 0, unknownRemovals: 0 });
    expect(index.overlaps(chain(1)).size).toBe(1);
    expect(index.apply(w1, removed(chain(1)))).toMatchObject({ removedBlocks: 0, unknownRemovals: 1 });
    expect(index.apply(w1, removed(chain(1), 'host')).removedBlocks).toBe(1);
    expect(index.blocks).toBe(0);
  });

  it('a rank whose blocks came and went many times is cleared of all and only its own', () => {
    const index = new RadixIndex();
    index.apply(w2, stored([5, 6, 7]));
    for (let turn = 0; turn < 400; turn++) {
      index.apply(w1, stored([turn, 1, 2]));
      index.apply(w1, stored([5, 6]));
      if (turn % 4 !== 0) index.apply(w1, removed(chain(turn, 1, 2)));
      index.apply(w1, removed(lastOf(5, 6)));
    }
    // A hundred chains of three blocks, and the first block of 5-6.
    expect(index.blocksHeld(w1)).toBe(301);
    index.removeRank(w1);
    while (index.sweep(1_000));
    expect([index.blocks, index.storedSets]).toEqual([3, 0]);
    expect(sorted(index.overlaps(chain(5, 6, 7)))).toEqual([['w2/0', 3]]);
  });

  it('a block that the 33rd rank stored first is still its own when an earlier rank stores it too', () => {
    const index = new RadixIndex();
    for (let number = 0; number < 33; number++) index.apply(rank('w', number), stored([number]));
    index.apply(rank('w', 0), stored([32]));
    expect(sorted(index.overlaps(chain(32)))).toEqual([['w/0', 1], ['w/32', 1]]);
    index.apply(rank('w', 0), removed(chain(32)));
    expect(sorted(index.overlaps(chain(32)))).toEqual([['w/32', 1]]);
  });

  it('a block that the ninth rank stored on its disk is held there when an earlier rank has it there too', () => {
    const index = new RadixIndex();
    for (let number = 0; number < 9; number++) index.apply(rank('w', number), stored([number], 0, 'disk'));
    index.apply(rank('w', 0), stored([8], 0, 'disk'));
    index.apply(rank('w', 0), removed(chain(8), 'disk'));
    expect(index.apply(rank('w', 8), removed(chain(8), 'disk')).removedBlocks).toBe(1);
    expect(index.overlaps(chain(8)).size).toBe(0);
  });

  it('an empty prompt overlaps with nothing', () => {
    const index = new RadixIndex();
    index.apply(w1, stored([1]));
    expect(index.overlaps(chain()).size).toBe(0);
  });

  it('when full refuses and counts new blocks, still adds ranks to those it has, and takes new ones once there is room', () => {
    const index = new RadixIndex({ maxBlocks: 3 });
    expect(index.apply(w1, stored([1, 2, 3, 4, 5]))).toMatchObject({ storedBlocks: 3, refusedBlocks: 2 });
    expect(index.apply(w2, stored([1, 2, 9]))).toMatchObject({ storedBlocks: 2, refusedBlocks: 1 });
    expect(sorted(index.overlaps(chain(1, 2, 3, 4, 5)))).toEqual([['w1/0', 3], ['w2/0', 2]]);
    expect(index.blocks).toBe(3);
    index.apply(w1, removed(lastOf(1, 2, 3)));
    expect(index.apply(w2, stored([1, 2, 9], 2))).toMatchObject({ storedBlocks: 1, refusedBlocks: 0 });
    expect(sorted(index.overlaps(chain(1, 2, 9)))).toEqual([['w1/0', 2], ['w2/0', 3]]);
  });

  it('a rank that held much is gone at once, and its blocks leave in slices while it may come back', () => {
    const index = new RadixIndex();
    const long = Array.from({ length: 2_000 }, (_, at) => at);
    index.apply(w1, stored(long));
    index.apply(w2, stored(long.slice(0, 100)));
    index.removeRank(w1);
    expect(sorted(index.overlaps(chain(...long)))).toEqual([['w2/0', 100]]);
    expect(index.blocksHeld(w1)).toBe(0);
    expect(index.blocks).toBeGreaterThan(100);
    index.apply(w1, stored([0, 1]));
    expect(sorted(index.overlaps(chain(...long)))).toEqual([['w1/0', 2], ['w2/0', 100]]);
    while (index.sweep(500));
    expect([index.blocks, index.blocksHeld(w1), index.blocksHeld(w2)]).toEqual([100, 2, 100]);
    expect(sorted(index.overlaps(chain(...long)))).toEqual([['w1/0', 2], ['w2/0', 100]]);
  });

  it('events alone sweep what a cleared rank left behind', () => {
    const index = new RadixIndex();
    index.apply(w1, stored(Array.from({ length: 2_000 }, (_, at) => at)));
    index.apply(w1, cleared);
    for (let turn = 0; turn < 40; turn++) index.apply(w2, stored([5]));
    expect(index.blocks).toBe(1);
  });

  it('a chain goes through slots that other chains left, and is told from what was there', () => {
    const index = new RadixIndex();
    const long = Array.from({ length: 40 }, (_, at) => at);
    index.apply(w1, stored(long));
    index.apply(w1, removed(lastOf(0, 1, 2, 3)));
    index.apply(w2, stored([0, 1, 2, 7, 8, 9]));
    index.apply(w1, stored([0, 1, 2, 7]));
    expect(sorted(index.overlaps(chain(...long)))).toEqual([['w1/0', 3], ['w2/0', 3]]);
    expect(sorted(index.overlaps(chain(0, 1, 2, 7, 8, 9)))).toEqual([['w1/0', 4], ['w2/0', 6]]);
    index.apply(w1, stored([0, 1, 2, 3], 3));
    expect(sorted(index.overlaps(chain(...long)))).toEqual([['w1/0', 40], ['w2/0', 3]]);
  });
});
