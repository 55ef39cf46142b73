import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SequenceHashes } from '../../../src/core/identity/sequence-hash.ts';
import { BlockCounts } from '../../../src/core/load/block-counts.ts';

/** A chain of a tree: hash words made of the path, with low words that collide in the table. */
function chain(path: readonly number[]): SequenceHashes {
  const words = new Int32Array(2 * path.length);
  path.forEach((step, depth) => {
    words[2 * depth] = step * 64 + (depth % 3);
    words[2 * depth + 1] = path.slice(0, depth + 1).reduce((hash, at) => Math.imul(hash, 31) + at + 1, 7);
  });
  return words as SequenceHashes;
}

const key = (hashes: SequenceHashes, index: number): string => `${hashes[2 * index]}:${hashes[2 * index + 1]}`;
const keys = (hashes: SequenceHashes): string[] => Array.from({ length: hashes.length / 2 }, (_, index) => key(hashes, index));

function heldBy(chains: readonly SequenceHashes[]): Set<string> {
  return new Set(chains.flatMap(keys));
}

function leading(held: ReadonlySet<string>, hashes: SequenceHashes): number {
  const missing = keys(hashes).findIndex((name) => !held.has(name));
  return missing === -1 ? hashes.length / 2 : missing;
}

const paths = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 9 });
const steps = fc.array(fc.record({ add: fc.boolean(), path: paths, pick: fc.nat() }), { maxLength: 50, size: 'max' });

describe('BlockCounts', () => {
  it('holds what a plain list of chains holds, after any adding and removing', () => {
    fc.assert(
      fc.property(steps, paths, (moves, query) => {
        const counts = new BlockCounts();
        const chains: SequenceHashes[] = [];
        for (const { add, path, pick } of moves) {
          if (add || chains.length === 0) {
            chains.push(chain(path));
            counts.addChain(chain(path));
          } else {
            const [gone] = chains.splice(pick % chains.length, 1);
            if (gone !== undefined) counts.removeChain(gone);
          }
          const held = heldBy(chains);
          expect(counts.size).toBe(held.size);
          expect(counts.leadingHeld(chain(query))).toBe(leading(held, chain(query)));
        }
      }),
      { numRuns: 150 },
    );
  });

  it('keeps thousands of blocks apart whose low words are equal', () => {
    const words = new Int32Array(2 * 3000);
    for (let block = 0; block < 3000; block++) words[2 * block + 1] = block;
    const counts = new BlockCounts();
    counts.addChain(words as SequenceHashes);
    expect(counts.size).toBe(3000);
    counts.removeChain(words.subarray(0, 2000) as SequenceHashes);
    expect(counts.size).toBe(2000);
  });

  it('holds a hash of two zero words only once it was added', () => {
    const zero = new Int32Array(2) as SequenceHashes;
    const counts = new BlockCounts();
    expect(counts.leadingHeld(zero)).toBe(0);
    counts.addChain(zero);
    expect(counts.leadingHeld(zero)).toBe(1);
  });
});
