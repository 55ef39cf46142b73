import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { Log } from '../../ports/log.ts';
import { bringByPackageManager } from './nats-server-package.ts';
import { fetchRelease, pinnedVersion, releaseFor, type FetchBytes, type RunProgram } from './nats-server-release.ts';
import { isNewEnough, natsServerVersion, oldestNatsServer } from './nats-server-version.ts';

/** The outside as the search sees it. */
export interface SearchTools {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
  readonly arch: string;
  readonly isRoot: boolean;
  /** Looked at after PATH. */
  readonly usualPlaces: readonly string[];
  readonly cacheDir: string;
  readonly run: RunProgram;
  readonly fetch: FetchBytes;
  /** Progress, for a person. */
  readonly say: (text: string) => void;
}

const here: SearchTools = {
  env: process.env,
  platform: process.platform,
  arch: process.arch,
  isRoot: process.getuid?.() === 0,
  // Where packages put it: a user's PATH often lacks Debian's.
  usualPlaces: process.platform === 'win32' ? [] : ['/usr/sbin/nats-server', '/usr/local/bin/nats-server', '/opt/homebrew/bin/nats-server'],
  cacheDir: resolve(fileURLToPath(new URL('../../../.cache/nats-server', import.meta.url))),
  run: runProgram,
  fetch: (url) => fetch(url),
  say: (text) => void process.stderr.write(`kinroute: ${text}\n`),
};

/**
 * The path of a nats-server of at least 2.9: `NATS_SERVER_BIN`, else PATH, else what was brought before, else the system's
 * packages, else the pinned release. Throws `nats-server-missing` with what to do.
 */
export async function findNatsServer(log: Log, tools: SearchTools = here): Promise<string> {
  const named = tools.env['NATS_SERVER_BIN'];
  if (named !== undefined && named !== '') return mustBeUsable(named);
  const release = releaseFor(tools.platform, tools.arch);
  const found = await firstUsable(presentPaths(tools, release?.folder ?? null));
  const binary = found ?? (await bring(tools));
  log.debug({ binary }, 'nats-server-found');
  return binary;
}

async function mustBeUsable(binary: string): Promise<string> {
  const version = await natsServerVersion(binary);
  if (version === null) throw new RouterError('nats-server-missing', `NATS_SERVER_BIN is ${binary}, which is no nats-server that runs here: correct or unset it`);
  if (!isNewEnough(version)) throw new RouterError('nats-server-missing', `NATS_SERVER_BIN is nats-server ${version}: at least ${oldestNatsServer} is needed`);
  return binary;
}

function presentPaths(tools: SearchTools, releaseFolder: string | null): string[] {
  const inPath = (tools.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '').map((folder) => join(folder, 'nats-server'));
  const cached = [join('apt', 'usr', 'sbin', 'nats-server'), ...(releaseFolder === null ? [] : [join(releaseFolder, 'nats-server')])];
  return [...inPath, ...tools.usualPlaces, ...cached.map((path) => join(tools.cacheDir, path))];
}

async function firstUsable(paths: readonly string[]): Promise<string | null> {
  for (const path of new Set(paths)) {
    const version = await natsServerVersion(path);
    if (version !== null && isNewEnough(version)) return path;
  }
  return null;
}

async function bring(tools: SearchTools): Promise<string> {
  tools.say(`no nats-server ${oldestNatsServer} or newer is here: bringing one`);
  await mkdir(tools.cacheDir, { recursive: true }).catch((error: unknown) => {
    throw missing(`${tools.cacheDir} can't be made to keep it in (${messageOf(error)})`, error);
  });
  const packaged = await firstUsable(await bringByPackageManager(tools));
  if (packaged !== null) return packaged;
  const release = releaseFor(tools.platform, tools.arch);
  if (release === null) throw missing(`there is no pinned release for ${tools.platform} ${tools.arch}`);
  tools.say(`nats-server: downloading the release ${pinnedVersion} (${release.url})`);
  const binary = await fetchRelease(release, tools.cacheDir, tools).catch((error: unknown) => {
    throw missing(messageOf(error), error);
  });
  if ((await natsServerVersion(binary)) !== null) return binary;
  throw missing(`the release ${pinnedVersion} does not run on ${tools.platform} ${tools.arch}`);
}

function missing(why: string, cause?: unknown): RouterError {
  const todo = `install nats-server ${oldestNatsServer} or newer (package nats-server of your system, or https://nats.io/download) or set NATS_SERVER_BIN to one`;
  return new RouterError('nats-server-missing', `no nats-server was found or could be brought: ${why}; ${todo}`, { cause });
}

/** Runs a program quietly to its end; what can't be started counts as failed. */
function runProgram(program: string, args: readonly string[], cwd: string): Promise<number> {
  return new Promise((done) => {
    const child = spawn(program, [...args], { cwd, stdio: 'ignore' });
    child.once('error', () => done(127));
    child.once('exit', (code) => done(code ?? 1));
  });
}
