import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunProgram } from './nats-server-release.ts';

export interface PackageTools {
  readonly run: RunProgram;
  readonly isRoot: boolean;
  /** Where something can be unpacked without touching the system. */
  readonly cacheDir: string;
  readonly say: (text: string) => void;
}

/**
 * Brings nats-server by the package manager that is here; resolves with paths to try. Debian's package is only unpacked,
 * not installed: installing it would start a service on port 4222.
 */
export async function bringByPackageManager(tools: PackageTools): Promise<readonly string[]> {
  const has = async (program: string): Promise<boolean> => (await tools.run(program, ['--version'], '.')) === 0;
  if (await has('apt-get')) return unpackDebian(tools);
  if (await has('brew')) return install(tools, 'brew', ['install', 'nats-server'], false);
  if (await has('apk')) return install(tools, 'apk', ['add', 'nats-server'], true);
  if (await has('dnf')) return install(tools, 'dnf', ['install', '-y', 'nats-server'], true);
  return [];
}

async function unpackDebian(tools: PackageTools): Promise<readonly string[]> {
  const home = join(tools.cacheDir, 'apt');
  await mkdir(home, { recursive: true });
  tools.say('nats-server: taking it from the system packages (apt-get download, unpacked into .cache)');
  const fetchPackage = (): Promise<number> => tools.run('apt-get', ['download', 'nats-server'], home);
  if ((await fetchPackage()) !== 0) {
    await asRoot(tools, 'apt-get', ['update']);
    if ((await fetchPackage()) !== 0) return [];
  }
  const archive = (await readdir(home)).find((name) => name.endsWith('.deb'));
  if (archive === undefined || (await tools.run('dpkg', ['-x', archive, '.'], home)) !== 0) return [];
  return [join(home, 'usr', 'sbin', 'nats-server'), join(home, 'usr', 'bin', 'nats-server')];
}

async function install(tools: PackageTools, program: string, args: readonly string[], needsRoot: boolean): Promise<readonly string[]> {
  tools.say(`nats-server: installing it (${program} ${args.join(' ')})`);
  const code = needsRoot ? await asRoot(tools, program, args) : await tools.run(program, args, '.');
  return code === 0 ? ['nats-server'] : [];
}

/** As root, or by a sudo that asks for no password; otherwise not at all. */
function asRoot(tools: PackageTools, program: string, args: readonly string[]): Promise<number> {
  return tools.isRoot ? tools.run(program, args, '.') : tools.run('sudo', ['-n', program, ...args], '.');
}
