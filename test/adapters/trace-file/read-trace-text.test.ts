import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTraceText } from '../../../src/adapters/trace-file/read-trace-text.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinroute-trace-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function written(name: string, bytes: Uint8Array | string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

describe('a trace file', () => {
  it('is read as it is, or unpacked when it is gzip, and is named without its endings', async () => {
    expect(await readTraceText(await written('one.jsonl', '{"a":1}\n'))).toEqual({ name: 'one', text: '{"a":1}\n' });
    expect(await readTraceText(await written('two.jsonl.gz', gzipSync('{"b":2}')))).toEqual({ name: 'two', text: '{"b":2}' });
  });

  it('that is not there, or is damaged, is refused with its path', async () => {
    await expect(readTraceText(join(folder, 'none.json'))).rejects.toThrow(/^trace file .*none\.json can't be read/);
    const path = await written('bad.gz', gzipSync('{"b":2}').subarray(0, 12));
    await expect(readTraceText(path)).rejects.toThrow(/^trace file .*bad\.gz is damaged gzip/);
  });
});
