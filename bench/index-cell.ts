import { readFileSync } from 'node:fs';
import type { RankId } from '../src/core/identity/ids.ts';
import { parseDpRank, parseWorkerId } from '../src/core/identity/ids.ts';
import type { SequenceHashes } from '../src/core/identity/sequence-hash.ts';
import type { KvEvent } from '../src/core/kv-stream/kv-event.ts';
import { RadixIndex } from '../src/core/prefix-index/radix-index.ts';

/*
 * One cell of bench P2 or P3 in a process of its own: `DATA=folder node --import tsx bench/index-cell.ts NAME` plays a
 * workload of `shared/floor/workload.mjs` on our index and prints one line of JSON with the fields of the C floor.
 * Events are made before the clock starts, as they are for Dynamo's index. A router runs for days, so the code is
 * compiled before the clock starts, on an index that is thrown away.
 */
const rounds = { find: 1, find2: 2 } as const;

interface Applied {
  readonly id: RankId;
  readonly event: KvEvent;
  readonly blocks: number;
}

const rankIds = new Map<number, RankId>();

function rankOf(number: number): RankId {
  const id = rankIds.get(number) ?? { worker: parseWorkerId('w'), rank: parseDpRank(number) };
  rankIds.set(number, id);
  return id;
}

function read(path: string): Int32Array | null {
  try {
    const bytes = readFileSync(path);
    return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
  } catch {
    // Not every cell has removals.
    return null;
  }
}

/** `op, rank, n, parent low, parent high, n hashes`, until an op of 0. Op 1 stores, 2 removes. */
function eventsOf(words: Int32Array): Applied[] {
  const events: Applied[] = [];
  for (let at = 0; words[at] !== 0; ) {
    const [op = 0, rank = 0, blocks = 0, low = 0, high = 0] = words.subarray(at, at + 5);
    const hashes = words.subarray(at + 5, at + 5 + 2 * blocks) as SequenceHashes;
    const parent = low === 0 && high === 0 ? null : (words.subarray(at + 3, at + 5) as SequenceHashes);
    const event: KvEvent = op === 1 ? { kind: 'stored', parent, hashes, tier: 'device' } : { kind: 'removed', hashes, tier: 'device' };
    events.push({ id: rankOf(rank), event, blocks });
    at += 5 + 2 * blocks;
  }
  return events;
}

function queriesOf(words: Int32Array): SequenceHashes[] {
  const queries: SequenceHashes[] = [];
  for (let at = 0; words[at] !== 0; ) {
    const end = at + 1 + 2 * (words[at] ?? 0);
    queries.push(words.subarray(at + 1, end) as SequenceHashes);
    at = end;
  }
  return queries;
}

/** Nanoseconds a block. */
function play(index: RadixIndex, events: readonly Applied[]): { readonly nsPer: number; readonly longestMs: number; readonly cpuNsPer: number } {
  const blocks = events.reduce((sum, { blocks }) => sum + blocks, 0);
  let longest = 0;
  let before = performance.now();
  const start = before;
  const cpu = process.cpuUsage();
  for (const { id, event } of events) {
    index.apply(id, event);
    if (!timeEach) continue;
    const now = performance.now();
    longest = Math.max(longest, now - before);
    before = now;
  }
  const { user, system } = process.cpuUsage(cpu);
  return { nsPer: ((performance.now() - start) * 1e6) / blocks, longestMs: longest, cpuNsPer: ((user + system) * 1e3) / blocks };
}

let sum = 0;
const visit = (id: RankId, blocks: number): void => {
  sum = (sum + Math.imul(id.rank + 1, blocks)) | 0;
};

/** At most 4 s of it, as the floor has it. A chain is copied first: a router has just made it, and the peers copy too. */
function ask(index: RadixIndex, queries: readonly SequenceHashes[]): object {
  const took = new Float64Array(queries.length);
  const started = performance.now();
  let asked = 0;
  sum = 0;
  const copy = new Int32Array(Math.max(...queries.map((query) => query.length)));
  for (const source of queries) {
    copy.set(source);
    const query = copy.subarray(0, source.length) as SequenceHashes;
    const before = performance.now();
    index.visitOverlaps(query, visit);
    const now = performance.now();
    took[asked++] = (now - before) * 1e3;
    if (now - started > 4_000 && asked > 100) break;
  }
  const all = took.subarray(0, asked).sort();
  const mean = all.reduce((total, each) => total + each, 0) / asked;
  return { n: asked, usMean: mean, p50us: all[asked >> 1], p99us: all[Math.floor(asked * 0.99)], chk: sum >>> 0 };
}

const name = process.argv[2] ?? '';
const timeEach = process.argv.includes('--each');
const folder = process.env['DATA'] ?? '.';
const stored = read(`${folder}/${name}.ev`);
const asked = read(`${folder}/${name}.q`);
if (stored === null || asked === null) throw new Error(`there is no workload ${name} in ${folder}`);
const events = eventsOf(stored);
const queries = queriesOf(asked);
const removals = eventsOf(read(`${folder}/${name}.rm`) ?? new Int32Array(1));
for (let turn = 0; turn < 2; turn++) {
  const warm = new RadixIndex();
  play(warm, events);
  ask(warm, queries);
  play(warm, removals);
  // Some cells have few removals: all of one part of what was stored is taken out too.
  play(warm, events.slice(0, 2_000).map(({ id, event, blocks }) => (event.kind === 'stored' ? { id, event: { kind: 'removed', hashes: event.hashes, tier: 'device' }, blocks } : { id, event, blocks })));
}
const index = new RadixIndex();
const store = play(index, events);
const find = Object.fromEntries(Object.keys(rounds).map((round) => [round, ask(index, queries)]));
const remove = removals.length === 0 ? {} : { remove: play(index, removals), findAfterRm: ask(index, queries) };
process.stdout.write(`${JSON.stringify({ design: 'ours', scen: name, nsPerBlk: store.nsPer, longestMs: store.longestMs, cpuNsPerBlk: store.cpuNsPer, ...find, ...remove })}\n`);
