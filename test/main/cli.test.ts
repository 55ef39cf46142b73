import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the CLI from source to its end. */
function kinroute(...args: readonly string[]): Promise<Ended> {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, ['--import', 'tsx', join('src', 'main', 'cli.ts'), ...args], { cwd: root });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    child.on('error', failed);
    child.on('close', (code) => done({ code, out, err }));
  });
}

describe('the command line', () => {
  it('names an unknown flag and the one that was meant, with exit code 2', async () => {
    const { code, out, err } = await kinroute('up', '--engins', '2');
    expect(code).toBe(2);
    expect(err).toContain("kinroute: unknown option '--engins'");
    expect(err).toContain('Did you mean --engines?');
    expect(out).toBe('');
  });

  it('names an unknown command and the one that was meant, with exit code 2', async () => {
    const { code, err } = await kinroute('comparé');
    expect(code).toBe(2);
    expect(err).toContain("unknown command 'comparé'");
    expect(err).toContain('Did you mean compare?');
  });

  it('names a value out of bounds and the bounds, with exit code 2', async () => {
    const { code, err } = await kinroute('compare', '--fan-out', '2,many');
    expect(code).toBe(2);
    expect(err).toContain('give a whole number from 1 to 256.');
  });

  it('refuses what is not built rather than leaving it out', async () => {
    const { code, err } = await kinroute('compare', '--background-load', '0.5');
    expect(code).toBe(2);
    expect(err).toContain('--background-load is not built yet: leave the flag away.');
  });

  it('prints help with examples and a version, with exit code 0', async () => {
    const help = await kinroute('replay', '--help');
    expect(help.code).toBe(0);
    expect(help.out).toContain('$ kinroute replay mooncake_trace.jsonl --mode event --json');
    const version = await kinroute('--version');
    expect(version).toMatchObject({ code: 0 });
    expect(version.out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('says which trace file cannot be read, with exit code 2', async () => {
    const { code, err } = await kinroute('replay', 'no-such-trace.jsonl');
    expect(code).toBe(2);
    expect(err).toContain("kinroute: trace file no-such-trace.jsonl can't be read");
  });

  it('says that a router does not answer, with exit code 3', async () => {
    const { code, err } = await kinroute('watch', '--router', 'http://127.0.0.1:1');
    expect(code).toBe(3);
    expect(err).toContain('kinroute: router http://127.0.0.1:1 shows no placements');
  });

  it('names a port in use and its flag, with exit code 2', async () => {
    const taken = createServer();
    await new Promise<void>((listening) => taken.listen(0, '127.0.0.1', listening));
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { code, out, err } = await kinroute('up', '--engines', '1', '--port', String(port));
    taken.close();
    expect(code).toBe(2);
    expect(err).toContain(`kinroute: port ${port} is in use (--port): give another --port`);
    expect(out).toBe('');
  });
});
