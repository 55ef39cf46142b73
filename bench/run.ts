import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { cpus, release, totalmem } from 'node:os';
import Table from 'cli-table3';
import type { Bench, BenchCell } from './bench.ts';

const suffix = '-bench.ts';

async function benches(): Promise<ReadonlyMap<string, Bench>> {
  const files = (await readdir(new URL('.', import.meta.url))).filter((file) => file.endsWith(suffix)).sort();
  const found = new Map<string, Bench>();
  for (const file of files) {
    const { bench } = (await import(new URL(file, import.meta.url).href)) as { readonly bench: Bench };
    found.set(file.slice(0, -suffix.length), bench);
  }
  return found;
}

const machine = () => ({ cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30), os: `${process.platform} ${release()}` });

const figure = (value: number | null): string => (value === null ? '-' : value.toPrecision(4));

function tableOf(cells: readonly BenchCell[]): string {
  const table = new Table({ head: ['cell', 'ours', 'reference', 'ratio', 'unit'], style: { head: [], border: [] } });
  for (const cell of cells) table.push([cell.name, figure(cell.ours), figure(cell.reference), figure(cell.ratio), cell.unit]);
  return table.toString();
}

async function save(name: string, cells: readonly BenchCell[]): Promise<void> {
  const folder = new URL('results/', import.meta.url);
  await mkdir(folder, { recursive: true });
  const result = { machine: machine(), versions: { node: process.versions.node, v8: process.versions.v8 }, cells };
  await writeFile(new URL(`${name}.json`, folder), `${JSON.stringify(result, null, 2)}\n`);
}

async function main(): Promise<void> {
  const all = await benches();
  const name = process.argv[2];
  const bench = name === undefined ? undefined : all.get(name);
  if (name === undefined || bench === undefined) {
    const list = [...all].map(([each, { about }]) => `  ${each.padEnd(10)} ${about}`).join('\n');
    process.stderr.write(`${name === undefined ? 'name one bench' : `there is no bench ${JSON.stringify(name)}`}: npm run -s bench -- NAME\n${list}\n`);
    process.exitCode = 2;
    return;
  }
  const cells = await bench.run((line) => process.stderr.write(`${line}\n`));
  await save(name, cells);
  process.stdout.write(`${tableOf(cells)}\n`);
}

await main();
