import { createHash } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RouterError } from '../../core/router-error.ts';

/** How programs are run, so that tests can bring their own: resolves with the exit code. */
export type RunProgram = (program: string, args: readonly string[], cwd: string) => Promise<number>;
/** As the global `fetch`, as far as it is used. */
export type FetchBytes = (url: string) => Promise<{ readonly ok: boolean; readonly status: number; arrayBuffer(): Promise<ArrayBuffer> }>;

export const pinnedVersion = '2.10.29';

/** SHA-256 of the upstream project's archives, as its container images' build files give them. */
const checksums: Readonly<Record<string, string>> = {
  'linux-amd64': 'e314da74a83a1d3876db8814c27eb990fe729640fd6452025b441bcede8390da',
  'linux-arm64': 'da4b27942ecfb4c5f0c54553d2e7f470ddda9d7581cfe8131b351a0e223ed401',
};

export interface Release {
  readonly url: string;
  readonly sha256: string;
  /** The folder inside the archive. */
  readonly folder: string;
}

/** The pinned release for a platform and architecture as Node names them; null where we have no checksum. */
export function releaseFor(platform: string, arch: string): Release | null {
  const target = `${platform}-${arch === 'x64' ? 'amd64' : arch}`;
  const sha256 = checksums[target];
  if (sha256 === undefined) return null;
  const folder = `nats-server-v${pinnedVersion}-${target}`;
  return { url: `https://github.com/nats-io/nats-server/releases/download/v${pinnedVersion}/${folder}.tar.gz`, sha256, folder };
}

/** Downloads, checks and unpacks into `cacheDir`; resolves with the program's path. Throws `nats-server-missing`. */
export async function fetchRelease(release: Release, cacheDir: string, tools: { readonly fetch: FetchBytes; readonly run: RunProgram }): Promise<string> {
  const archive = await download(release, tools.fetch);
  const staging = join(cacheDir, `${release.folder}.${process.pid}`);
  const home = join(cacheDir, release.folder);
  await mkdir(staging, { recursive: true });
  try {
    await writeFile(join(staging, 'archive.tar.gz'), archive);
    const code = await tools.run('tar', ['-xzf', 'archive.tar.gz'], staging);
    if (code !== 0) throw new RouterError('nats-server-missing', `the archive ${release.url} could not be unpacked: is tar installed?`);
    await rm(home, { recursive: true, force: true });
    await rename(join(staging, release.folder), home);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return join(home, 'nats-server');
}

async function download(release: Release, fetch: FetchBytes): Promise<Uint8Array> {
  const response = await fetch(release.url).catch((error: unknown) => {
    throw new RouterError('nats-server-missing', `${release.url} could not be reached`, { cause: error });
  });
  if (!response.ok) throw new RouterError('nats-server-missing', `${release.url} answered ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found === release.sha256) return bytes;
  throw new RouterError('nats-server-missing', `${release.url} has SHA-256 ${found}, expected ${release.sha256}: it was not used`);
}
