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

// Whole processes, compiled as they start: the machine may be busy with all the other tests.
describe('the kinroute process', { timeout: 60_000 }, () => {
  it('ends with code 2 and a message for wrong usage, and prints no result', async () => {
    const { code, out, err } = await kinroute('replay', 'no-such-trace.jsonl', '--spead', '2');
    expect(code).toBe(2);
    expect(err).toContain("kinroute: unknown option '--spead'");
    expect(out).toBe('');
  });

  it('ends with code 2 for a trace file that cannot be read', async () => {
    const { code, err } = await kinroute('replay', 'no-such-trace.jsonl');
    expect(code).toBe(2);
    expect(err).toContain("kinroute: trace file no-such-trace.jsonl can't be read");
  });

  it('ends with code 3 where no router answers', async () => {
    const { code, err } = await kinroute('watch', '--router', 'http://127.0.0.1:1');
    expect(code).toBe(3);
    expect(err).toContain('kinroute: router http://127.0.0.1:1 shows no placements');
  });

  it('ends with code 2 and the flag for a port in use', async () => {
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
