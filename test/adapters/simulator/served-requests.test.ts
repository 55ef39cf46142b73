import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { startEngine, type EngineOptions, type RunningEngine } from '../../../src/main/start-engine.ts';
import { freed, loadsUntil, post, rawPost, tokens } from './engine-client.ts';
import { silentLog } from '../../support/silent-log.ts';

const running: RunningEngine[] = [];

async function engineOf(options: Partial<EngineOptions> = {}): Promise<RunningEngine> {
  const engine = await startEngine({ pageSize: 16, ...options }, silentLog);
  running.push(engine);
  return engine;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((engine) => engine.close()));
});

const long = { max_new_tokens: 100_000, ignore_eos: true };
const eventsOf = (text: string): unknown[] => text.split('\n\n').filter((event) => event !== '' && event !== 'data: [DONE]').map((event) => JSON.parse(event.slice(6)) as unknown);

describe('an abort', () => {
  it('by rid ends a running request with what it had, and frees the rank', async () => {
    const engine = await engineOf();
    const answer = post(engine, '/generate', { rid: 'one', input_ids: tokens(1, 100), sampling_params: long });
    await loadsUntil(engine, (loads) => loads.some((load) => load.num_running_reqs === 1));
    await post(engine, '/abort_request', { rid: 'one' });
    expect(await (await answer).json()).toMatchObject({ meta_info: { id: 'one', finish_reason: { type: 'abort', message: 'Aborted', status_code: null, err_type: null } } });
    await loadsUntil(engine, freed);
  });

  it('of a waiting request says so, without prompt_tokens', async () => {
    const engine = await engineOf({ maxRunning: 1 });
    const first = post(engine, '/generate', { rid: 'one', input_ids: tokens(1, 100), sampling_params: long });
    await loadsUntil(engine, (loads) => loads.some((load) => load.num_running_reqs === 1));
    const second = post(engine, '/generate', { rid: 'two', input_ids: tokens(2, 100), sampling_params: long, stream: true });
    await loadsUntil(engine, (loads) => loads.some((load) => load.num_waiting_reqs === 1));
    await post(engine, '/abort_request', { rid: 'two' });
    const [event] = eventsOf(await (await second).text()) as [{ text: string; output_ids: number[]; meta_info: object }];
    expect(event).toMatchObject({ text: '', output_ids: [], meta_info: { finish_reason: { type: 'abort', message: 'Abort in waiting queue' }, completion_tokens: 0 } });
    expect(Object.keys(event.meta_info)).toEqual(['id', 'finish_reason', 'weight_version', 'e2e_latency', 'weight_versions', 'completion_tokens', 'response_sent_to_client_ts']);
    await post(engine, '/abort_request', { rid: '', abort_all: true });
    await first;
    await loadsUntil(engine, freed);
  });

  it('of a streamed chat ends it with a reason and [DONE]', async () => {
    const engine = await engineOf();
    const answer = await post(engine, '/v1/chat/completions', { rid: 'chat', messages: [{ role: 'user', content: 'hi' }], max_tokens: 100_000, ignore_eos: true, stream: true });
    await post(engine, '/abort_request', { rid: 'chat' });
    const text = await answer.text();
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(eventsOf(text).at(-1)).toMatchObject({ choices: [{ finish_reason: 'abort' }] });
  });
});

describe('a client that hangs up', () => {
  it('on a stream frees the rank', async () => {
    const engine = await engineOf();
    const socket = rawPost(engine, '/generate', { input_ids: tokens(1, 100), sampling_params: long, stream: true });
    await once(socket, 'data');
    await loadsUntil(engine, (loads) => loads.some((load) => load.num_running_reqs === 1));
    socket.destroy();
    await loadsUntil(engine, freed);
  });

  it('before its answer came frees the rank', async () => {
    const engine = await engineOf();
    const socket = rawPost(engine, '/v1/completions', { prompt: tokens(1, 100), max_tokens: 100_000, ignore_eos: true });
    await loadsUntil(engine, (loads) => loads.some((load) => load.num_running_reqs === 1));
    socket.destroy();
    await loadsUntil(engine, freed);
  });
});

describe('the simulated server', () => {
  it('refuses to flush while a request runs', async () => {
    const engine = await engineOf();
    const answer = post(engine, '/generate', { rid: 'one', input_ids: tokens(1, 100), sampling_params: long });
    await loadsUntil(engine, (loads) => loads.some((load) => load.num_running_reqs === 1));
    const flush = await post(engine, '/flush_cache', {});
    expect([flush.status, await flush.text()]).toEqual([400, 'Flush cache failed.\n']);
    await post(engine, '/abort_request', { abort_all: true });
    await answer;
  });

  it('takes a prompt of several megabytes', async () => {
    const engine = await engineOf({ speed: 10_000, contextLength: 1_000_000, kvTokens: 1_000_000 });
    const answer = (await (await post(engine, '/generate', { input_ids: tokens(1, 600_000), sampling_params: { max_new_tokens: 1 } })).json()) as { meta_info: object };
    expect(answer.meta_info).toMatchObject({ prompt_tokens: 600_000, cached_tokens: 0 });
  });

  it('says 400 to a token outside of its vocabulary, and lives', async () => {
    const engine = await engineOf({ vocabSize: 1000, speed: 100 });
    expect((await post(engine, '/generate', { input_ids: [1, 1000] })).status).toBe(400);
    expect((await post(engine, '/generate', { input_ids: [1, -1] })).status).toBe(400);
    expect((await post(engine, '/generate', { input_ids: [1, 999], sampling_params: { max_new_tokens: 1 } })).status).toBe(200);
  });

  it('refuses a rid that is at work', async () => {
    const engine = await engineOf();
    const first = post(engine, '/generate', { rid: 'one', input_ids: tokens(1, 100), sampling_params: long });
    await loadsUntil(engine, (loads) => loads.some((load) => load.num_running_reqs === 1));
    expect(await (await post(engine, '/generate', { rid: 'one', input_ids: tokens(2, 20) })).json()).toEqual({ error: { message: 'Duplicate request ID detected: one' } });
    await post(engine, '/abort_request', { rid: 'one' });
    await first;
  });

  it('streams only what is new where it was told to', async () => {
    const engine = await engineOf({ incrementalStreaming: true, speed: 100 });
    const events = eventsOf(await (await post(engine, '/generate', { input_ids: tokens(1, 30), sampling_params: { max_new_tokens: 4 }, stream: true })).text()) as { output_ids: number[] }[];
    expect(events.flatMap(({ output_ids }) => output_ids)).toHaveLength(4);
  });

  it('ends an answer before a stop text', async () => {
    const engine = await engineOf({ speed: 100 });
    const ask = async (more: object): Promise<{ text: string; meta_info: object }> =>
      (await (await post(engine, '/generate', { input_ids: tokens(1, 30), sampling_params: { max_new_tokens: 5, ...more } })).json()) as { text: string; meta_info: object };
    const whole = await ask({});
    const stop = whole.text.split(' ')[3] ?? '';
    const cut = await ask({ stop: [stop] });
    expect(cut.text).toBe(whole.text.slice(0, whole.text.indexOf(stop)));
    expect(cut.meta_info).toMatchObject({ finish_reason: { type: 'stop', matched: stop } });
  });

  it('reads what it wrote as the tokens that it wrote, so that an answer sent back is a hit', async () => {
    const engine = await engineOf({ pageSize: 1, speed: 100 });
    const messages: { role: string; content: string }[] = [{ role: 'user', content: 'hello world' }];
    const chat = async (): Promise<{ choices: { message: { role: string; content: string } }[]; usage: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details: { cached_tokens: number } } }> =>
      (await (await post(engine, '/v1/chat/completions', { messages, max_tokens: 10, ignore_eos: true })).json()) as never;
    const first = await chat();
    messages.push(first.choices[0]?.message ?? { role: 'assistant', content: '' }, { role: 'user', content: 'go on' });
    const second = await chat();
    expect(second.usage.prompt_tokens_details.cached_tokens).toBe(first.usage.prompt_tokens + first.usage.completion_tokens - 1);
  });

  it('asks for its key everywhere but where a probe looks', async () => {
    const engine = await engineOf({ apiKey: 'secret', speed: 100 });
    expect((await fetch(`${engine.url}/health`)).status).toBe(200);
    const refused = await fetch(`${engine.url}/server_info`);
    expect([refused.status, await refused.json()]).toEqual([401, { error: 'Unauthorized' }]);
    expect((await fetch(`${engine.url}/server_info`, { headers: { authorization: 'Bearer secret' } })).status).toBe(200);
  });

  it('names a port that is in use, and leaves nothing behind', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(startEngine({ port }, silentLog)).rejects.toMatchObject({ code: 'port-in-use', message: expect.stringContaining(`port ${port} of 127.0.0.1 is in use`) as string });
    await expect(startEngine({ kvPort: port }, silentLog)).rejects.toMatchObject({ code: 'port-in-use', message: expect.stringContaining('--kv-port') as string });
    await new Promise((resolve) => taken.close(resolve));
    const engine = await engineOf({ port, speed: 100 });
    expect((await fetch(`${engine.url}/health`)).status).toBe(200);
  });
});
