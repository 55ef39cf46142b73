import { describe, expect, it } from 'vitest';
import { ModelPrompts } from '../../../src/adapters/tokenizer/model-prompts.ts';
import { promptOfRequest } from '../../../src/adapters/tokenizer/prompt-of-request.ts';
import { haveShared, sharedPath } from '../../support/shared-data.ts';
import { sglangPrompts, sglangTiny, vllmGoldens } from './recorded-prompts.ts';
import type { RecordedPrompt } from './recorded-prompts.ts';

const cacheBytes = 1_000_000;

describe.skipIf(!haveShared)('tokens made here, beside what vLLM 0.32.0 made (skipped without the recorded data)', () => {
  const model = sharedPath('fixtures', 'tiny-model');

  it('are those of every text', async () => {
    const prompts = await ModelPrompts.load(model, cacheBytes);
    expect(prompts.wholeBecause).toBeNull();
    for (const { text, tokens } of vllmGoldens().texts) expect(Array.from(await prompts.ofText(text)), text).toEqual(tokens);
  });

  it('are those of every chat', async () => {
    const prompts = await ModelPrompts.load(model, cacheBytes);
    for (const { label, messages, options, tokens } of vllmGoldens().chats) expect(Array.from(await prompts.ofChat({ messages, ...options }, 'vllm')), label).toEqual(tokens);
  });
});

describe.skipIf(!haveShared)('tokens made here, beside what SGLang 0.5.23 counted (skipped without the recorded data)', () => {
  async function tokensOf(prompts: ModelPrompts, { path, body }: RecordedPrompt): Promise<readonly number[] | null> {
    if (path.endsWith('tokenize')) return Array.from(await (Array.isArray(body['messages']) ? prompts.ofChat(body, 'sglang') : prompts.ofText(String(body['prompt']))));
    const prompt = promptOfRequest(path, body);
    if (prompt.kind === 'unknown') return null;
    return prompt.kind === 'ids' ? prompt.ids : Array.from(await (prompt.kind === 'text' ? prompts.ofText(prompt.text) : prompts.ofChat(prompt.fields, 'sglang')));
  }

  it('are as many for every request that one prompt is known of, and the same ones where it tells them', async () => {
    const prompts = await ModelPrompts.load(sglangTiny, cacheBytes);
    let told = 0;
    let counted = 0;
    for (const recorded of sglangPrompts()) {
      const tokens = await tokensOf(prompts, recorded);
      if (tokens === null) continue;
      expect(tokens.length, recorded.name).toBe(recorded.count);
      counted++;
      if (recorded.tokens === null) continue;
      expect(tokens, recorded.name).toEqual(recorded.tokens);
      told++;
    }
    expect({ told, counted }).toEqual({ told: 5, counted: 46 });
  });
});
