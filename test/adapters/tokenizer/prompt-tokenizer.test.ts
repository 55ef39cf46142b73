import { describe, expect, it } from 'vitest';
import { EngineTokenizer } from '../../../src/adapters/tokenizer/engine-tokenizer.ts';
import { KeptTokens } from '../../../src/adapters/tokenizer/kept-tokens.ts';
import { RequestTokenizer } from '../../../src/adapters/tokenizer/prompt-tokenizer.ts';
import { TokenCache } from '../../../src/adapters/tokenizer/token-cache.ts';
import { parsePoolId, parseWorkerId } from '../../../src/core/identity/ids.ts';
import { RouterError } from '../../../src/core/router-error.ts';
import type { ControlClient } from '../../../src/ports/kv-bus.ts';
import type { PromptTokens } from '../../../src/ports/prompt-tokens.ts';
import { silentLog } from '../../support/silent-log.ts';

const pool = parsePoolId('llama');
const workers = [parseWorkerId('w1'), parseWorkerId('w2')];

/** Agents whose engines make a token of each character of what they are asked. */
class FakeControl implements ControlClient {
  readonly asked: { readonly worker: string; readonly body: Record<string, unknown> }[] = [];
  fails = false;

  tokenize(_pool: string, worker: string, body: Uint8Array): Promise<Uint8Array> {
    const fields = JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>;
    this.asked.push({ worker, body: fields });
    if (this.fails) return Promise.reject(new RouterError('worker-silent', 'nothing came'));
    const text = typeof fields['prompt'] === 'string' ? fields['prompt'] : JSON.stringify(fields['messages']);
    return Promise.resolve(new TextEncoder().encode(JSON.stringify({ tokens: Array.from(text, (letter) => letter.charCodeAt(0)), count: text.length })));
  }

  drain(): Promise<void> {
    return Promise.reject(new Error('unused'));
  }
}

interface Around {
  readonly control: FakeControl;
  readonly ask: (path: string, body: Readonly<Record<string, unknown>>) => Promise<PromptTokens>;
}

function tokenizer(kind: 'sglang' | 'vllm' = 'sglang'): Around {
  const control = new FakeControl();
  const text = new KeptTokens(new EngineTokenizer({ control, workersOf: () => workers }), 10_000);
  const request = new RequestTokenizer({ text, poolOf: () => ({ kind, models: ['llama', 'llama:7b'], workers }), counted: () => undefined, log: silentLog }, { patienceMs: 1_000 });
  return { control, ask: (path, body) => request.tokensOf({ pool, path, body }, new AbortController().signal) };
}

const tokensOf = (answer: PromptTokens): readonly number[] | string => (answer.kind === 'known' ? Array.from(answer.tokens) : answer.why);

describe('tokens in the request itself', () => {
  it('are taken as they are, and nobody is asked', async () => {
    const { control, ask } = tokenizer();
    expect(tokensOf(await ask('/generate', { input_ids: [1, 2] }))).toEqual([1, 2]);
    expect(tokensOf(await ask('/generate', { input_ids: [[1, 2]] }))).toEqual([1, 2]);
    expect(tokensOf(await ask('/v1/completions', { prompt: [3] }))).toEqual([3]);
    expect(tokensOf(await ask('/v1/chat/completions?x', { input_ids: [4], messages: [] }))).toEqual([4]);
    expect(control.asked).toEqual([]);
  });

  it('of several prompts, of images, and of other endpoints are not known, and why is said', async () => {
    const { ask } = tokenizer();
    expect(tokensOf(await ask('/generate', { input_ids: [[1], [2]] }))).toBe('several-prompts');
    expect(tokensOf(await ask('/v1/completions', { prompt: ['a', 'b'] }))).toBe('several-prompts');
    expect(tokensOf(await ask('/generate', { input_ids: [1], image_data: 'x' }))).toBe('images');
    expect(tokensOf(await ask('/v1/chat/completions', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }))).toBe('images');
    expect(tokensOf(await ask('/v1/chat/completions', {}))).toBe('no-prompt');
    expect(tokensOf(await ask('/v1/embeddings', { input: 'a' }))).toBe('no-tokens-here');
  });
});

describe('tokens of text, by way of the engines', () => {
  it('are asked of one worker after another, and kept for when the text comes again', async () => {
    const { control, ask } = tokenizer();
    for (const text of ['ab', 'cd', 'ab']) await ask('/generate', { text });
    expect(control.asked).toEqual([
      { worker: 'w1', body: { prompt: 'ab' } },
      { worker: 'w2', body: { prompt: 'cd' } },
    ]);
  });

  it('of a chat go with all that its template reads', async () => {
    const { control, ask } = tokenizer();
    const chat = { model: 'llama', messages: [{ role: 'user', content: 'hi' }], tools: [{}], tool_choice: 'none', chat_template_kwargs: { think: true }, reasoning_effort: 'low', temperature: 1 };
    await ask('/v1/chat/completions', chat);
    const { temperature: _temperature, ...asked } = chat;
    expect(control.asked[0]?.body).toEqual(asked);
    await ask('/v1/chat/completions', { ...chat, temperature: 2 });
    await ask('/v1/chat/completions', { ...chat, tools: [] });
    expect(control.asked.length).toBe(2);
  });

  it('are unknown when the engine does not say, and asked again the next time', async () => {
    const { control, ask } = tokenizer();
    control.fails = true;
    expect(tokensOf(await ask('/generate', { text: 'a' }))).toBe('tokenizer-failed');
    control.fails = false;
    expect(tokensOf(await ask('/generate', { text: 'a' }))).toEqual([97]);
  });
});

describe('what keeps two prompts of equal tokens apart', () => {
  const isolationOf = async (body: object, kind: 'sglang' | 'vllm' = 'sglang'): Promise<unknown> => {
    const answer = await tokenizer(kind).ask('/generate', { input_ids: [1], ...body });
    return answer.kind === 'known' ? answer.isolation : answer.why;
  };

  it('is the adapter, by its own field or behind the model, and never a model of that name', async () => {
    expect(await isolationOf({ lora_path: 'x' })).toEqual({ lora: 'x', salt: null });
    expect(await isolationOf({ model: 'llama:x' })).toEqual({ lora: 'x', salt: null });
    expect(await isolationOf({ model: 'llama:7b' })).toEqual({ lora: null, salt: null });
  });

  it('is the salt, and for SGLang the extra key that its agent sends on as one', async () => {
    expect(await isolationOf({ cache_salt: 's' })).toEqual({ lora: null, salt: 's' });
    expect(await isolationOf({ extra_key: 'k' })).toEqual({ lora: null, salt: 'k' });
    expect(await isolationOf({ extra_key: 'k', cache_salt: 's' })).toEqual({ lora: null, salt: '1:sk' });
    expect(await isolationOf({ extra_key: 'k', cache_salt: 's' }, 'vllm')).toEqual({ lora: null, salt: 's' });
    expect(await isolationOf({ cache_salt: '' })).toEqual({ lora: null, salt: null });
  });

  it('given as a list is for several prompts', async () => {
    expect(await isolationOf({ cache_salt: ['a', 'b'] })).toBe('several-prompts');
  });
});

describe('the cache of tokens', () => {
  it('holds no more bytes than it may, and what was used last stays', () => {
    const cache = new TokenCache(100);
    cache.put('aaaa', new Int32Array(8));
    cache.put('bbbb', new Int32Array(8));
    cache.take('aaaa');
    cache.put('cccc', new Int32Array(8));
    expect([cache.take('aaaa')?.length, cache.take('bbbb'), cache.bytes]).toEqual([8, null, 80]);
  });

  it('does not keep what is larger than itself, nor drives anything out for it', () => {
    const cache = new TokenCache(100);
    cache.put('aaaa', new Int32Array(8));
    cache.put('x'.repeat(60), new Int32Array(0));
    expect([cache.take('aaaa')?.length, cache.take('x'.repeat(60)), cache.bytes]).toEqual([8, null, 40]);
  });
});
