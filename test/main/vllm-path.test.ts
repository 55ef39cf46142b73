import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Deployment, post, promptOf, ranksOf, until, untilTrusted } from './whole-path-parts.ts';

describe('two engines that speak as vLLM does, two agents, one router', () => {
  let parts: Deployment;
  let url: string;

  beforeAll(async () => {
    parts = await (await Deployment.start()).addWorkers(2, { wire: 'vllm', pageSize: 16 });
    ({ url } = await parts.addRouter());
    await untilTrusted(url, 2);
  });
  afterAll(() => parts.close());

  const cachedTokens = async (answer: Response): Promise<number> => ((await answer.json()) as { readonly usage: { readonly prompt_tokens_details: { readonly cached_tokens: number } } }).usage.prompt_tokens_details.cached_tokens;

  it('are known as vLLM', async () => {
    const { workers } = (await (await fetch(`${url}/workers`)).json()) as { readonly workers: readonly Readonly<Record<string, unknown>>[] };
    expect(workers.map(({ engineKind, engineVersion }) => [engineKind, engineVersion])).toEqual([['vllm', '0.32.0'], ['vllm', '0.32.0']]);
  });

  it('a prompt sent again is placed with the overlap that the engine then confirms', async () => {
    const request = { model: 'kinroute-sim', prompt: promptOf(2, 640), max_tokens: 2 };
    const first = await post(`${url}/v1/completions`, request);
    expect(await cachedTokens(first)).toBe(0);
    await until(() => ranksOf(url), (ranks) => ranks.some(({ heldBlocks }) => heldBlocks >= 10));
    const again = await post(`${url}/v1/completions`, request);
    expect([again.headers.get('x-kinroute-worker'), again.headers.get('x-kinroute-overlap-blocks')]).toEqual([first.headers.get('x-kinroute-worker'), '9']);
    // The last block of 16 is computed again, for its last token.
    expect(await cachedTokens(again)).toBe(624);
  });

  it('a chat is tokenized by its engine and streams to its end', async () => {
    const answer = await post(`${url}/v1/chat/completions`, { model: 'kinroute-sim', messages: [{ role: 'user', content: 'one two three' }], max_tokens: 3, stream: true });
    const text = await answer.text();
    expect(text).toContain('"system_fingerprint":"vllm-');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('a reset of its cache reaches the router with the next request', async () => {
    const [engine] = parts.engines;
    const held = (await ranksOf(url)).find(({ worker }) => worker === 'w1');
    await post(`${url}/v1/completions`, { model: 'kinroute-sim', prompt: promptOf(3, 640), max_tokens: 1 }, { 'x-kinroute-worker': 'w1' }).then((answer) => answer.text());
    await until(() => ranksOf(url), (ranks) => (ranks.find(({ worker }) => worker === 'w1')?.heldBlocks ?? 0) >= (held?.heldBlocks ?? 0) + 10);
    expect(await (await fetch(`${engine?.url ?? ''}/reset_prefix_cache`, { method: 'POST' })).json()).toEqual({ success: true });
    await post(`${url}/v1/completions`, { model: 'kinroute-sim', prompt: promptOf(4, 128), max_tokens: 1 }, { 'x-kinroute-worker': 'w1' }).then((answer) => answer.text());
    const after = await until(() => ranksOf(url), (ranks) => ranks.find(({ worker }) => worker === 'w1')?.heldBlocks === 2);
    expect(after.length).toBe(2);
  });
});
