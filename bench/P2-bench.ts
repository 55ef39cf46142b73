import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Bench, BenchCell } from './bench.ts';
import { median, oursAlone } from './bench.ts';
import { benchCache, buildFloor, buildKvPeer, makeWorkloads } from './compilers.ts';

const rounds = 3;
const workloads = ['small32', 'g_64_1024', 'g_512_4096', 'small_fork', 'small_hole'] as const;
const dynamoDesigns = ['radix', 'crtc', 'pos32'] as const;

/** What every design prints, one line of JSON. */
interface Line {
  readonly design: string;
  readonly nsPerBlk: number;
  readonly find2: Find;
  readonly remove?: { readonly nsPer: number };
  readonly findAfterRm?: Find;
}

interface Find {
  readonly n: number;
  readonly usMean: number;
  readonly p50us: number;
  readonly chk: number;
}

type Design = readonly [name: string, command: string, ...args: string[]];

function designs(progress: (line: string) => void): readonly Design[] {
  const floor = buildFloor('index-floor');
  const peer = buildKvPeer();
  if (floor === null) progress('no gcc: without the C floor');
  if (peer === null) progress('no cargo: without Dynamo');
  const all: Design[] = [['ours', process.execPath, '--import', 'tsx', fileURLToPath(new URL('index-cell.ts', import.meta.url))]];
  if (floor !== null) all.push(['C floor', floor]);
  if (peer !== null) for (const design of dynamoDesigns) all.push([`dynamo ${design}`, peer, design]);
  return all;
}

function play([name, command, ...args]: Design, workload: string): Line {
  const more = name === 'C floor' ? [workload, '1200000', '0'] : [...args, workload];
  const { stdout, status } = spawnSync(command, more, { encoding: 'utf8', env: { ...process.env, DATA: benchCache } });
  if (status !== 0) throw new Error(`${name} on ${workload} ended with ${status}`);
  return JSON.parse(stdout) as Line;
}

const figures = {
  'store, ns a block': (line) => line.nsPerBlk,
  'find, us p50': (line) => line.find2.p50us,
  'find, us mean': (line) => line.find2.usMean,
  'remove, ns a block': (line) => line.remove?.nsPer ?? null,
} as const satisfies Record<string, (line: Line) => number | null>;

function cellsOf(workload: string, lines: ReadonlyMap<string, readonly Line[]>): BenchCell[] {
  const cells: BenchCell[] = [];
  for (const [what, figure] of Object.entries(figures)) {
    const [unit = ''] = what.split(', ').slice(1);
    const middle = (name: string): number | null => {
      const values = (lines.get(name) ?? []).flatMap((line) => figure(line) ?? []);
      return values.length === 0 ? null : median(values);
    };
    const ours = middle('ours');
    if (ours === null) continue;
    if (lines.size === 1) cells.push(oursAlone(`${workload}: ${what}`, ours, unit));
    for (const name of [...lines.keys()].slice(1)) {
      const reference = middle(name);
      if (reference !== null) cells.push({ name: `${workload}: ${what}, ${name}`, ours, reference, ratio: ours / reference, unit });
    }
  }
  return cells;
}

/** 1 where both answered all alike, before the removals and after. */
function checkOf(workload: string, lines: ReadonlyMap<string, readonly Line[]>): BenchCell[] {
  const ours = lines.get('ours')?.[0];
  const floor = lines.get('C floor')?.[0];
  if (ours === undefined || floor === undefined) return [];
  const equal = ours.find2.n === floor.find2.n && ours.find2.chk === floor.find2.chk && ours.findAfterRm?.chk === floor.findAfterRm?.chk;
  return [{ name: `${workload}: answers equal to the C floor's, also after removals`, ours: equal ? 1 : 0, reference: 1, ratio: equal ? 1 : 0, unit: 'true' }];
}

export const bench: Bench = {
  about: `prefix index: store, find, remove on ${workloads.length} workloads, beside a C floor and Dynamo 1.6.1`,
  run(progress): Promise<readonly BenchCell[]> {
    if (!makeWorkloads('small')) throw new Error('the workloads are made by ../shared/floor/workload.mjs, which is not there');
    const all = designs(progress);
    const cells = workloads.flatMap((workload) => {
      const lines = new Map<string, Line[]>(all.map(([name]) => [name, []]));
      for (let round = 0; round < rounds; round++) {
        progress(`${workload}, round ${round + 1} of ${rounds}`);
        for (const design of round % 2 === 0 ? all : [...all].reverse()) lines.get(design[0])?.push(play(design, workload));
      }
      return [...cellsOf(workload, lines), ...checkOf(workload, lines)];
    });
    return Promise.resolve(cells);
  },
};
