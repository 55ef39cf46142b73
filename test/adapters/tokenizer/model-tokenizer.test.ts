import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { loadModelTokenizer } from '../../../src/adapters/tokenizer/model-tokenizer.ts';
import type { ModelTokenizer } from '../../../src/adapters/tokenizer/model-tokenizer.ts';
import { parsePoolId } from '../../../src/core/identity/ids.ts';
import { saying } from '../../support/saying.ts';
import { silentLog } from '../../support/silent-log.ts';
import { sglangTiny } from './recorded-prompts.ts';

const pool = parsePoolId('tiny');
const never = new AbortController().signal;
const opened: ModelTokenizer[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((tokenizer) => tokenizer.close()));
});

async function loaded(directory: string): Promise<ModelTokenizer> {
  const tokenizer = await loadModelTokenizer({ directory, kindOf: () => 'sglang', cacheBytes: 1_000_000 }, silentLog);
  opened.push(tokenizer);
  return tokenizer;
}

describe("a model's own tokenizer in its thread", () => {
  it('makes tokens of texts and of chats', async () => {
    const tokenizer = await loaded(sglangTiny);
    expect(Array.from(await tokenizer.ofText(pool, 'hello world', {}, never))).toEqual([262, 321, 332]);
    expect(Array.from(await tokenizer.ofChat(pool, { messages: [{ role: 'user', content: 'hello world' }], temperature: 1 }, never))).toEqual([3, 262, 321, 332, 204, 4]);
  });

  it('answers many at once, each its own', async () => {
    const tokenizer = await loaded(sglangTiny);
    const texts = Array.from({ length: 100 }, (_, number) => 'hello '.repeat(1 + (number % 7)).trim());
    const counts = await Promise.all(texts.map(async (text) => (await tokenizer.ofText(pool, text, {}, new AbortController().signal)).length));
    const alone = new Map(await Promise.all([...new Set(texts)].map(async (text) => [text, (await tokenizer.ofText(pool, text, {}, never)).length] as const)));
    expect(counts).toEqual(texts.map((text) => alone.get(text)));
  });

  it('says what a template refuses, and goes on', async () => {
    const tokenizer = await loaded(sglangTiny);
    const broken = { messages: [{ role: 'assistant', content: 'x', tool_calls: [{ function: { name: 'f', arguments: 'no json' } }] }] };
    await expect(tokenizer.ofChat(pool, broken, never)).rejects.toMatchObject({ code: 'bad-request' });
    expect((await tokenizer.ofText(pool, 'hello', {}, never)).length).toBe(2);
  });

  it('takes no question once it is closed', async () => {
    const tokenizer = await loaded(sglangTiny);
    await tokenizer.close();
    await expect(tokenizer.ofText(pool, 'hello', {}, never)).rejects.toMatchObject({ code: 'internal' });
  });

  it('leaves a caller that gives up, and answers the next', async () => {
    const tokenizer = await loaded(sglangTiny);
    const gaveUp = new AbortController();
    const asked = tokenizer.ofText(pool, 'hello world', {}, gaveUp.signal);
    gaveUp.abort(new Error('enough'));
    await expect(asked).rejects.toThrow();
    expect((await tokenizer.ofText(pool, 'hello', {}, never)).length).toBe(2);
  });
});

describe('a folder without a tokenizer', () => {
  it('is refused with what it lacks', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kinroute-tokenizer-'));
    try {
      await expect(loaded(folder)).rejects.toMatchObject({ code: 'bad-config', message: saying('tokenizer.json') });
      await writeFile(join(folder, 'tokenizer_config.json'), '{}');
      await writeFile(join(folder, 'tokenizer.json'), 'no json');
      await expect(loaded(folder)).rejects.toMatchObject({ code: 'bad-config' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
