import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findNatsServer, type SearchTools } from '../../../src/adapters/system/nats-server-binary.ts';
import { fetchRelease, releaseFor, type FetchBytes, type RunProgram } from '../../../src/adapters/system/nats-server-release.ts';
import { isNewEnough, parseNatsServerVersion } from '../../../src/adapters/system/nats-server-version.ts';
import { withCode } from '../../support/nats-requests.ts';
import { saying } from '../../support/saying.ts';
import { silentLog } from '../../support/silent-log.ts';

const missing = withCode('nats-server-missing');

describe('finding nats-server', () => {
  let home: string;
  let said: string[];

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'kinroute-find-'));
    said = [];
  });

  afterEach(() => rmSync(home, { recursive: true, force: true }));

  /** A program that prints a version, as nats-server does. */
  function fakeServer(path: string, version: string): string {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, `#!/bin/sh\necho "nats-server: v${version}"\n`);
    chmodSync(path, 0o755);
    return path;
  }

  const nothingRuns: RunProgram = () => Promise.resolve(127);
  const noNetwork: FetchBytes = () => Promise.reject(new Error('no network'));
  const tools = (change: Partial<SearchTools> = {}): SearchTools => ({
    env: {},
    platform: 'linux',
    arch: 'x64',
    isRoot: false,
    usualPlaces: [],
    cacheDir: join(home, 'cache'),
    run: nothingRuns,
    fetch: noNetwork,
    say: (text) => said.push(text),
    ...change,
  });

  const runReally: RunProgram = (program, args, cwd) => {
    execFileSync(program, [...args], { cwd });
    return Promise.resolve(0);
  };

  /** An archive laid out as the project's releases are. */
  function archiveOf(folder: string): Uint8Array {
    fakeServer(join(home, 'pack', folder, 'nats-server'), '2.10.29');
    execFileSync('tar', ['-czf', 'a.tar.gz', folder], { cwd: join(home, 'pack') });
    return readFileSync(join(home, 'pack', 'a.tar.gz'));
  }

  const answering =
    (bytes: Uint8Array): FetchBytes =>
    () =>
      Promise.resolve({ ok: true, status: 200, arrayBuffer: () => Promise.resolve(new Uint8Array(bytes).buffer) });

  it('NATS_SERVER_BIN wins over PATH, and must be one that is new enough', async () => {
    const named = fakeServer(join(home, 'named'), '2.11.0');
    fakeServer(join(home, 'bin', 'nats-server'), '2.12.0');
    const env = { NATS_SERVER_BIN: named, PATH: join(home, 'bin') };
    expect(await findNatsServer(silentLog, tools({ env }))).toBe(named);
    fakeServer(named, '2.8.4');
    await expect(findNatsServer(silentLog, tools({ env }))).rejects.toMatchObject({ code: 'nats-server-missing', message: saying('2.8.4') });
    await expect(findNatsServer(silentLog, tools({ env: { ...env, NATS_SERVER_BIN: join(home, 'nothing') } }))).rejects.toThrow(missing);
  });

  it('one in PATH that is too old is passed over for the next', async () => {
    fakeServer(join(home, 'old', 'nats-server'), '2.8.4');
    const fine = fakeServer(join(home, 'new', 'nats-server'), '2.9.10');
    expect(await findNatsServer(silentLog, tools({ env: { PATH: `${join(home, 'old')}:${join(home, 'new')}` } }))).toBe(fine);
    expect(said).toEqual([]);
  });

  it("Debian's package is unpacked, not installed, and found again the next time", async () => {
    const ran: string[] = [];
    const run: RunProgram = (program, args, cwd) => {
      ran.push([program, ...args].join(' '));
      if (args[0] === 'download') writeFileSync(join(cwd, 'nats-server_1_amd64.deb'), '');
      if (program === 'dpkg') fakeServer(join(cwd, 'usr', 'sbin', 'nats-server'), '2.9.10');
      return Promise.resolve(0);
    };
    const found = await findNatsServer(silentLog, tools({ run }));
    expect(found).toBe(join(home, 'cache', 'apt', 'usr', 'sbin', 'nats-server'));
    expect(ran.some((line) => line.includes('install'))).toBe(false);
    expect(said.length).toBeGreaterThan(0);
    expect(await findNatsServer(silentLog, tools())).toBe(found);
  });

  it('without any way to get one, it says what was tried and what to do', async () => {
    const finding = findNatsServer(silentLog, tools());
    await expect(finding).rejects.toMatchObject({ code: 'nats-server-missing', message: saying(/nats-server-v2\.10\.29-linux-amd64\.tar\.gz could not be reached; install .* or set NATS_SERVER_BIN/) });
    expect(said).toHaveLength(2);
  });

  it('one in a usual place is found though PATH lacks it', async () => {
    const usual = fakeServer(join(home, 'sbin', 'nats-server'), '2.9.10');
    expect(await findNatsServer(silentLog, tools({ usualPlaces: [join(home, 'nowhere'), usual] }))).toBe(usual);
  });

  it('a folder that cannot be made to keep it in is named', async () => {
    const file = fakeServer(join(home, 'file'), '2.8.0');
    await expect(findNatsServer(silentLog, tools({ cacheDir: join(file, 'cache') }))).rejects.toMatchObject({ code: 'nats-server-missing', message: saying(join(file, 'cache')) });
  });

  it('a platform without a pinned release is told so', async () => {
    await expect(findNatsServer(silentLog, tools({ arch: 'mips' }))).rejects.toMatchObject({ code: 'nats-server-missing', message: saying('linux mips') });
  });

  it('a release whose checksum is right is unpacked', async () => {
    const folder = 'nats-server-v2.10.29-linux-amd64';
    const archive = archiveOf(folder);
    const release = { url: 'https://example.invalid/a.tar.gz', folder, sha256: createHash('sha256').update(archive).digest('hex') };
    mkdirSync(join(home, 'cache'));
    const binary = await fetchRelease(release, join(home, 'cache'), { fetch: answering(archive), run: runReally });
    expect(execFileSync(binary, ['--version']).toString()).toContain('2.10.29');
  });

  it('a release whose checksum is wrong is refused and leaves nothing', async () => {
    const release = releaseFor('linux', 'x64');
    if (release === null) throw new Error('no release for linux x64');
    const attempt = fetchRelease(release, join(home, 'cache'), { fetch: answering(archiveOf(release.folder)), run: runReally });
    await expect(attempt).rejects.toMatchObject({ code: 'nats-server-missing', message: saying(release.sha256) });
    expect(existsSync(join(home, 'cache', release.folder))).toBe(false);
  });

  it('an answer that is no file is refused', async () => {
    const release = releaseFor('linux', 'arm64');
    if (release === null) throw new Error('no release for linux arm64');
    const notFound: FetchBytes = () => Promise.resolve({ ok: false, status: 404, arrayBuffer: () => Promise.resolve(new ArrayBuffer(0)) });
    await expect(fetchRelease(release, home, { fetch: notFound, run: runReally })).rejects.toMatchObject({ message: saying('404') });
  });

  it('versions are read and compared as numbers', () => {
    expect(parseNatsServerVersion('nats-server: v2.10.29-RC.1\n')).toBe('2.10.29-RC.1');
    expect(parseNatsServerVersion('something else v2.10')).toBeNull();
    expect(['2.8.9', '2.9.0', '2.10.1', '3.0.0', '1.99.0'].map(isNewEnough)).toEqual([false, true, true, true, false]);
  });
});
