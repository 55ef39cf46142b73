import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** Where benches build and put their workloads; not in the repository. */
export const benchCache = path('../.cache/bench/');
const shared = path('../../shared/');

function runs(command: string, args: readonly string[], cwd?: string): boolean {
  return spawnSync(command, args, { stdio: 'ignore', ...(cwd === undefined ? {} : { cwd }) }).status === 0;
}

/** Builds a floor in C from the shared data; null where that or gcc is not there. */
export function buildFloor(name: string): string | null {
  mkdirSync(benchCache, { recursive: true });
  const binary = `${benchCache}${name}`;
  if (existsSync(binary)) return binary;
  return runs('gcc', ['-O3', '-march=native', '-o', binary, `${shared}floor/${name}.c`]) ? binary : null;
}

/** Builds the driver of Dynamo's index (minutes, once); null where the shared data or cargo is not there. */
export function buildKvPeer(): string | null {
  const folder = `${benchCache}kvpeer/`;
  const binary = `${folder}target/release/kvpeer`;
  if (existsSync(binary)) return binary;
  if (!existsSync(`${shared}peer-rig/index/kvpeer`) || !runs('cp', ['-r', `${shared}peer-rig/index/kvpeer`, benchCache])) return null;
  return runs('cargo', ['build', '--release'], folder) ? binary : null;
}

/** Writes the workloads that P2 plays; false where the shared data is not there. */
export function makeWorkloads(what: 'small' | 'all'): boolean {
  mkdirSync(benchCache, { recursive: true });
  const last = what === 'small' ? 'small_hole.q' : 'real32.q';
  if (existsSync(`${benchCache}${last}`)) return true;
  const env = { ...process.env, DATA: benchCache };
  const scripts = what === 'small' ? [[`${shared}floor/workload.mjs`, 'small'], [`${shared}peer-rig/index/extra-workload.mjs`]] : [[`${shared}floor/workload.mjs`, 'all']];
  return scripts.every((args) => spawnSync(process.execPath, args, { env, stdio: 'ignore' }).status === 0);
}
