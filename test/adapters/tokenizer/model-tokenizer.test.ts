import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadModelTokenizer } from '../../../src/adapters/tokenizer/model-tokenizer.ts';
import { parsePoolId } from '../../../src/core/identity/ids.ts';
import { haveShared, sharedPath } from '../../support/shared-data.ts';
import { saying } from '../../support/saying.ts';

interface Golden {
  readonly texts: readonly { readonly text: string; readonly tokens: readonly number[] }[];
  readonly chats: readonly { readonly label: string; readonly messages: readonly unknown[]; readonly options: Readonly<Record<string, unknown>>; readonly tokens: readonly number[] }[];
}

const model = sharedPath('fixtures', 'tiny-model');
const golden = (): Golden => JSON.parse(readFileSync(join(model, 'golden.json'), 'utf8')) as Golden;
const pool = parsePoolId('tiny');
const never = new AbortController().signal;

describe.skipIf(!haveShared)("the model's own tokenizer, against what vLLM made of the same (skipped without the recorded data)", () => {
  it('makes the same tokens of every text', async () => {
    const tokenizer = await loadModelTokenizer(model, () => 'vllm');
    for (const { text, tokens } of golden().texts) expect(Array.from(await tokenizer.ofText(pool, text, {}, never)), text).toEqual(tokens);
  });

  it('makes the same tokens of every chat', async () => {
    const tokenizer = await loadModelTokenizer(model, () => 'vllm');
    for (const { label, messages, options, tokens } of golden().chats) expect(Array.from(await tokenizer.ofChat(pool, { messages, ...options }, never)), label).toEqual(tokens);
  });

  it('joins text parts as the engine at hand does: SGLang with a space', async () => {
    const tokenizer = await loadModelTokenizer(model, () => 'sglang');
    const parts = [{ type: 'text', text: 'first' }, { type: 'text', text: 'second' }];
    const [inParts, joined] = await Promise.all([parts, 'first second'].map((content) => tokenizer.ofChat(pool, { messages: [{ role: 'user', content }] }, never)));
    expect(inParts).toEqual(joined);
  });
});

describe('a folder without a tokenizer', () => {
  it('is refused with what it lacks', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kinroute-tokenizer-'));
    try {
      await expect(loadModelTokenizer(folder, () => 'sglang')).rejects.toMatchObject({ code: 'bad-config', message: saying('tokenizer.json') });
      await writeFile(join(folder, 'tokenizer.json'), 'no json');
      await expect(loadModelTokenizer(folder, () => 'sglang')).rejects.toMatchObject({ code: 'bad-config' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
