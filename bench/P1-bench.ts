import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Bench, BenchCell } from './bench.ts';
import { median, oursAlone } from './bench.ts';
import { buildFloor } from './compilers.ts';

const rounds = 7;
const blockSizes = [16, 64] as const;

/** Microseconds a prompt at each block size, from lines such as `... bt=16 35.7 us ...`. */
function measured(command: string, args: readonly string[]): readonly number[] {
  const { stdout, status } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ended with ${status}`);
  return blockSizes.map((size) => Number(new RegExp(`bt=${size} ([0-9.]+) us`).exec(stdout)?.[1]));
}

export const bench: Bench = {
  about: 'hash of a 32,768-token prompt, beside XXH64 a block in C',
  run(progress): Promise<readonly BenchCell[]> {
    const floor = buildFloor('hash-floor');
    if (floor === null) progress('no gcc or no shared floor: ours alone');
    const ours: (readonly number[])[] = [];
    const reference: (readonly number[])[] = [];
    for (let round = 1; round <= rounds; round++) {
      progress(`round ${round} of ${rounds}`);
      ours.push(measured(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('hash-cell.ts', import.meta.url))]));
      if (floor !== null) reference.push(measured(floor, []));
    }
    const cells = blockSizes.map((size, at): BenchCell => {
      const name = `block ${size}`;
      const us = median(ours.map((each) => each[at] ?? Number.NaN));
      if (floor === null) return oursAlone(name, us, 'us');
      const floorUs = median(reference.map((each) => each[at] ?? Number.NaN));
      return { name, ours: us, reference: floorUs, ratio: us / floorUs, unit: 'us' };
    });
    return Promise.resolve(cells);
  },
};
