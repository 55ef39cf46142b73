import { seededRandom } from '../src/core/evidence/seeded-random.ts';
import type { RankId } from '../src/core/identity/ids.ts';
import { parseDpRank, parseWorkerId } from '../src/core/identity/ids.ts';
import type { SequenceHashes } from '../src/core/identity/sequence-hash.ts';
import { hashCount, sliceHashes } from '../src/core/identity/sequence-hash.ts';
import { RadixIndex } from '../src/core/prefix-index/radix-index.ts';
import type { Bench, BenchCell } from './bench.ts';
import { median, oursAlone } from './bench.ts';

const rounds = 5;
const ranks = 64;
const entries = 500_000;
const blocksAnEvent = 32;

interface Held {
  readonly id: RankId;
  readonly hashes: SequenceHashes;
}

/** Chains as agents leave them: each forks off an earlier one at a random block and adds 4 to 40 of its own. */
function forkedChains(seed: string): readonly Held[] {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const ids = Array.from({ length: ranks }, (_, number) => ({ worker: parseWorkerId(`w${number}`), rank: parseDpRank(0) }));
  const chains: SequenceHashes[] = [];
  const held: Held[] = [];
  for (let blocks = 0; blocks < entries; ) {
    const from = chains.length < 32 ? undefined : chains[below(chains.length)];
    const shared = from === undefined ? 0 : 1 + below(hashCount(from));
    const hashes = new Int32Array(2 * (shared + 4 + below(37))) as SequenceHashes;
    if (from !== undefined) hashes.set(sliceHashes(from, 0, shared));
    for (let word = 2 * shared; word < hashes.length; word++) hashes[word] = below(2 ** 32);
    chains.push(hashes);
    const id = ids[below(ranks)];
    if (id !== undefined) held.push({ id, hashes });
    blocks += hashCount(hashes);
  }
  return held;
}

function store(index: RadixIndex, { id, hashes }: Held): void {
  for (let from = 0; from < hashCount(hashes); from += blocksAnEvent) {
    const parent = from === 0 ? null : sliceHashes(hashes, from - 1, from);
    index.apply(id, { kind: 'stored', parent, hashes: sliceHashes(hashes, from, from + blocksAnEvent), tier: 'device' });
  }
}

/** Nanoseconds a block. */
function timed(held: readonly Held[], each: (one: Held) => void): number {
  const blocks = held.reduce((sum, { hashes }) => sum + hashCount(hashes), 0);
  const startMs = performance.now();
  for (const one of held) each(one);
  return ((performance.now() - startMs) * 1e6) / blocks;
}

function round(seed: string): { readonly store: number; readonly find: number; readonly remove: number } {
  const held = forkedChains(seed);
  const index = new RadixIndex();
  const stored = timed(held, (one) => store(index, one));
  const found = timed(held, ({ hashes }) => index.visitOverlaps(hashes, () => undefined));
  const removed = timed(held, ({ id, hashes }) => void index.apply(id, { kind: 'removed', hashes, tier: 'device' }));
  if (index.blocks !== 0) throw new Error(`${index.blocks} blocks are left of what was removed`);
  return { store: stored, find: found, remove: removed };
}

export const bench: Bench = {
  about: `prefix index: store, find and remove ${entries} blocks of forked chains on ${ranks} ranks`,
  async run(progress): Promise<readonly BenchCell[]> {
    round('warm-up');
    const results = Array.from({ length: rounds }, (_, number) => {
      progress(`round ${number + 1} of ${rounds}`);
      return round(`index-${number}`);
    });
    return (['store', 'find', 'remove'] as const).map((what) => oursAlone(what, median(results.map((result) => result[what])), 'ns a block'));
  },
};
