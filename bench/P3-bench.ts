import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { seededRandom } from '../src/core/evidence/seeded-random.ts';
import type { RankId } from '../src/core/identity/ids.ts';
import { parseDpRank, parseWorkerId } from '../src/core/identity/ids.ts';
import type { SequenceHashes } from '../src/core/identity/sequence-hash.ts';
import { hashCount, sliceHashes } from '../src/core/identity/sequence-hash.ts';
import { RadixIndex } from '../src/core/prefix-index/radix-index.ts';
import type { Bench, BenchCell } from './bench.ts';
import { median, oursAlone } from './bench.ts';

/*
 * Stalls come again at the same event of the same seeded workload, other work on the machine does not: of each event
 * the shortest of all rounds counts, and the longest of those is the stall that the index causes.
 */
const rounds = 3;
const entries = 5_000_000;
const ranks = 512;
const prefixes = 64;
const prefixBlocks = 32;
const blocksAnEvent = 32;
const removedRanks = 16;
const unitsASlice = 4_096;

interface Round {
  readonly took: readonly number[];
  readonly bytesAnEntry: number;
  readonly longestGcMs: number;
}

const ids = Array.from({ length: ranks }, (_, number): RankId => ({ worker: parseWorkerId(`w${number}`), rank: parseDpRank(0) }));

/** Conversations of 64 to 448 blocks under one of the prefixes, seven of ten on one rank, others on two or four. */
function* conversations(): Generator<{ readonly id: RankId; readonly hashes: SequenceHashes }> {
  const random = seededRandom('P3');
  const below = (limit: number): number => Math.floor(random() * limit);
  const fill = (words: Int32Array, from: number): void => {
    for (let word = from; word < words.length; word++) words[word] = below(2 ** 32);
  };
  const shared = new Int32Array(2 * prefixBlocks * prefixes);
  fill(shared, 0);
  // One buffer for all: the garbage to be seen is the index's.
  const longest = new Int32Array(2 * 448) as SequenceHashes;
  for (let stored = 0; stored < entries; ) {
    const length = 64 + below(385);
    const hashes = sliceHashes(longest, 0, length);
    const prefix = below(prefixes);
    hashes.set(shared.subarray(2 * prefixBlocks * prefix, 2 * prefixBlocks * (prefix + 1)));
    fill(hashes, 2 * prefixBlocks);
    const kind = below(10);
    for (let holder = kind < 7 ? 1 : kind < 9 ? 2 : 4; holder > 0 && stored < entries; holder--) {
      const id = ids[below(ranks)];
      if (id !== undefined) yield { id, hashes };
      stored += length;
    }
  }
}

/** Bytes of all buffers that are still in use. */
async function usedBuffers(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // Buffers are freed in the background after a collection.
  for (let turn = 0; turn < 3; turn++) {
    collect();
    await setTimeout(20);
  }
  return process.memoryUsage().arrayBuffers;
}

async function round(): Promise<Round> {
  const before = await usedBuffers();
  // What was collected to measure is not counted.
  await setImmediate();
  await setImmediate();
  let longestGcMs = 0;
  const watcher = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) longestGcMs = Math.max(longestGcMs, entry.duration);
  });
  watcher.observe({ entryTypes: ['gc'] });
  const took: number[] = [];
  const timed = (work: () => void): void => {
    const before = performance.now();
    work();
    took.push(performance.now() - before);
  };
  const index = new RadixIndex();
  let held = 0;
  const tails: { readonly id: RankId; readonly hashes: SequenceHashes }[] = [];
  for (const { id, hashes } of conversations()) {
    const count = hashCount(hashes);
    for (let from = 0; from < count; from += blocksAnEvent) {
      const parent = from === 0 ? null : sliceHashes(hashes, from - 1, from);
      timed(() => (held += index.apply(id, { kind: 'stored', parent, hashes: sliceHashes(hashes, from, from + blocksAnEvent), tier: 'device' }).storedBlocks));
    }
    if (tails.length < 2_000) tails.push({ id, hashes: sliceHashes(hashes, count - 16, count).slice() as SequenceHashes });
  }
  await setImmediate();
  await setImmediate();
  const storingGcMs = longestGcMs;
  const bytesAnEntry = ((await usedBuffers()) - before) / held;
  for (const { id, hashes } of tails) timed(() => index.apply(id, { kind: 'removed', hashes, tier: 'device' }));
  for (const id of ids.slice(0, removedRanks)) timed(() => index.removeRank(id));
  for (let pending = true; pending; ) timed(() => (pending = index.sweep(unitsASlice)));
  watcher.disconnect();
  return { took, bytesAnEntry, longestGcMs: storingGcMs };
}

export const bench: Bench = {
  about: `prefix index: memory and stalls at ${entries / 1e6} M entries on ${ranks} ranks, ${removedRanks} of which leave`,
  async run(progress): Promise<readonly BenchCell[]> {
    const results: Round[] = [];
    for (let number = 1; number <= rounds; number++) {
      progress(`round ${number} of ${rounds}`);
      results.push(await round());
    }
    const [first] = results;
    const shortest = (first?.took ?? []).map((_, at) => Math.min(...results.map(({ took }) => took[at] ?? Number.POSITIVE_INFINITY)));
    const longest = shortest.reduce((most, each) => Math.max(most, each), 0);
    return [
      oursAlone('memory, buffers', median(results.map((result) => result.bytesAnEntry)), 'bytes an entry'),
      oursAlone('longest stall of one event, removal or slice', longest, 'ms'),
      oursAlone('longest garbage collection', Math.min(...results.map((result) => result.longestGcMs)), 'ms'),
    ];
  },
};
