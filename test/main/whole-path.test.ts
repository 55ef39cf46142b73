import { connect } from 'nats';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PlacementEvent } from '../../src/core/placement/placement-event.ts';
import { engineDefaults } from '../../src/main/start-engine.ts';
import { startWorker } from '../../src/main/start-worker.ts';
import { silentLog } from '../support/silent-log.ts';
import type { Listed } from './whole-path-parts.ts';
import { busyAt, Deployment, placementsUntil, post, promptOf, ranksOf, startRecorder, until, untilTrusted } from './whole-path-parts.ts';

const generate = (seed: number, length: number, more: object = {}): object => ({ input_ids: promptOf(seed, length), sampling_params: { max_new_tokens: 4, temperature: 0, ignore_eos: true }, ...more });

describe('two engines, two agents, one router', () => {
  let parts: Deployment;
  let url: string;

  beforeAll(async () => {
    parts = await (await Deployment.start()).addWorkers(2);
    ({ url } = await parts.addRouter());
    await untilTrusted(url, 2);
  });
  afterAll(() => parts.close());

  it('a stream, and an answer that is none, reach the client byte for byte as the engine sent them', async () => {
    const recorder = await startRecorder(parts.engines[0]?.url ?? '');
    const worker = await startWorker({ engineUrl: recorder.url, nats: { servers: parts.nats.url }, name: 'recorded', drainMs: 0 }, silentLog);
    try {
      await until(() => ranksOf(url), (ranks) => ranks.length === 3);
      const got: Buffer[] = [];
      for (const stream of [true, false]) {
        const answer = await post(`${url}/generate`, generate(1, 100, { stream }), { 'x-kinroute-worker': 'recorded' });
        got.push(Buffer.from(await answer.arrayBuffer()));
      }
      await until(() => Promise.resolve(recorder.answers), (answers) => answers.length === 2);
      expect(got.map(String)).toEqual(recorder.answers.map(String));
      expect(String(got[0]).endsWith('data: [DONE]\n\n')).toBe(true);
    } finally {
      await worker.close();
      await until(() => ranksOf(url), (ranks) => ranks.length === 2);
      await recorder.close();
    }
  });

  it('R5, R12: an engine that dies in mid-stream ends the stream with an error event; dead, its work goes elsewhere', async () => {
    const recorder = await startRecorder(parts.engines[0]?.url ?? '');
    const worker = await startWorker({ engineUrl: recorder.url, nats: { servers: parts.nats.url }, name: 'dying', drainMs: 0 }, silentLog);
    try {
      await until(() => ranksOf(url), (ranks) => ranks.length === 3);
      const long = { ...generate(9, 100, { stream: true }), sampling_params: { max_new_tokens: 100_000, ignore_eos: true } };
      const reader = (await post(`${url}/generate`, long, { 'x-kinroute-worker': 'dying' })).body?.pipeThrough(new TextDecoderStream()).getReader();
      let text = (await reader?.read())?.value ?? '';
      await recorder.close();
      for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) text += read.value;
      expect(text).toMatch(/data: \{"error":\{"message":"[^"]+","type":"server_error","code":"worker-failed"\}\}\n\n$/);
      await fetch(`${url}/mode`, { method: 'PUT', body: '{"mode":"round-robin"}' });
      const answers = await Promise.all([1, 2, 3].map((seed) => post(`${url}/generate`, generate(seed, 10))));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      await Promise.all(answers.map((answer) => answer.text()));
    } finally {
      await fetch(`${url}/mode`, { method: 'PUT', body: '{"mode":"event"}' });
      await worker.close();
      await until(() => ranksOf(url), (ranks) => ranks.length === 2);
    }
  });

  it('a prompt sent again is placed with the overlap that the engine then confirms', async () => {
    await (await post(`${url}/generate`, generate(2, 640))).json();
    const held = await until(() => ranksOf(url), (ranks) => ranks.some(({ heldBlocks }) => heldBlocks >= 10));
    expect(held.length).toBe(2);
    const again = await post(`${url}/generate`, generate(2, 640));
    const { meta_info } = (await again.json()) as { readonly meta_info: { readonly cached_tokens: number } };
    // 640 tokens are ten blocks; the last token is always computed, so nine blocks count.
    expect([again.headers.get('x-kinroute-overlap-blocks'), meta_info.cached_tokens]).toEqual(['9', 639]);
  });

  it('every answer says where it was placed and why', async () => {
    const answer = await post(`${url}/generate`, generate(3, 10), { 'x-kinroute-worker': 'w1' });
    const said = ['worker', 'rank', 'mode', 'reason', 'overlap-blocks'].map((name) => answer.headers.get(`x-kinroute-${name}`));
    expect(said).toEqual(['w1', '0', 'event', 'explicit-target', '0']);
    expect(answer.headers.get('x-kinroute-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    await answer.text();
  });

  it("OpenAI's client gets a chat completion, whole and streamed", async () => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 });
    const asked = { model: 'kinroute-sim', messages: [{ role: 'user' as const, content: 'What is the capital of France?' }], max_tokens: 6, temperature: 0 };
    const whole = await client.chat.completions.create(asked);
    const stream = await client.chat.completions.create({ ...asked, stream: true, stream_options: { include_usage: true } });
    let text = '';
    let promptTokens: number | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      promptTokens = chunk.usage?.prompt_tokens ?? promptTokens;
    }
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(text.length).toBeGreaterThan(0);
    expect(promptTokens).toBe(whole.usage?.prompt_tokens);
  });

  it("OpenAI's client that aborts frees the engine", async () => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 });
    const stream = await client.chat.completions.create({ model: 'kinroute-sim', messages: [{ role: 'user', content: 'Tell me all' }], max_tokens: 100_000, stream: true, ...{ ignore_eos: true } });
    for await (const _chunk of stream) break;
    stream.controller.abort();
    const busy = async (): Promise<number> => (await Promise.all(parts.engines.map((engine) => busyAt(engine.url)))).reduce((sum, each) => sum + each, 0);
    expect(await until(busy, (running) => running === 0)).toBe(0);
    const claims = await until(() => ranksOf(url), (ranks) => ranks.every(({ claimed }) => claimed.requests === 0));
    expect(claims.length).toBe(2);
  });

  it('any NATS client reads one JSON record for each placement', async () => {
    const plain = await connect({ servers: parts.nats.url });
    const subscription = plain.subscribe('kin.v1.placement.>', { max: 2 });
    await plain.flush();
    const answer = await post(`${url}/generate`, generate(4, 200), { 'x-kinroute-session-id': 'seen' });
    await answer.text();
    const records: { readonly subject: string; readonly event: PlacementEvent }[] = [];
    for await (const message of subscription) records.push({ subject: message.subject, event: message.json() });
    const id = answer.headers.get('x-kinroute-request-id');
    const worker = answer.headers.get('x-kinroute-worker');
    expect(records.map(({ subject }) => subject)).toEqual([`kin.v1.placement.kinroute-sim.${worker}.placed`, `kin.v1.placement.kinroute-sim.${worker}.finished`]);
    expect(records[0]?.event).toMatchObject({ v: 1, event: 'placed', router: 'r1', requestId: id, worker, session: 'seen', promptTokens: 200, requestBlocks: 3 });
    expect(records[1]?.event).toMatchObject({ event: 'finished', requestId: id, promptTokens: 200 });
    await plain.close();
  });

  it('placement events are followed over HTTP, filtered, and resumed by Last-Event-ID', async () => {
    const live = await fetch(`${url}/placements?session=mine`);
    await (await post(`${url}/generate`, generate(5, 20), { 'x-kinroute-session-id': 'other' })).text();
    await (await post(`${url}/generate`, generate(5, 20), { 'x-kinroute-session-id': 'mine' })).text();
    const seen = await placementsUntil(live, (events) => events.length === 2);
    expect(seen.map(({ event }) => event)).toEqual(['placed', 'finished']);
    const resumed = await fetch(`${url}/placements?event=placed`, { headers: { 'last-event-id': '0' } });
    const from = await placementsUntil(resumed, (events) => events.some((event) => event.event === 'placed' && event.session === 'mine'));
    expect(from.length).toBeGreaterThan(2);
    expect(from.every(({ event }) => event === 'placed')).toBe(true);
  });

  it('what the client gets wrong is a 4xx that says what to do, and nothing is placed', async () => {
    const refused = async (body: string, headers: Record<string, string> = {}): Promise<[number, string, boolean]> => {
      const answer = await fetch(`${url}/generate`, { method: 'POST', headers, body });
      const { error } = (await answer.json()) as { readonly error: { readonly code: string; readonly message: string } };
      return [answer.status, error.code, answer.headers.has('x-kinroute-worker')];
    };
    expect(await refused('no json')).toEqual([400, 'bad-json', false]);
    expect(await refused('{"model":"gpt-4","input_ids":[1]}')).toEqual([404, 'unknown-model', false]);
    expect(await refused(JSON.stringify({ input_ids: promptOf(1, 262_144) }))).toEqual([400, 'prompt-too-long', false]);
    expect(await refused('{"input_ids":[1]}', { 'x-kinroute-session-id': 's'.repeat(300) })).toEqual([400, 'session-id-too-long', false]);
    expect(await refused('{"input_ids":[1]}', { 'x-kinroute-worker': 'w7' })).toEqual([400, 'unknown-target', false]);
  });

  it('models, metrics and readiness are served', async () => {
    const models = (await (await fetch(`${url}/v1/models`)).json()) as { readonly data: readonly { readonly id: string }[] };
    expect(models.data.map(({ id }) => id)).toEqual(['kinroute-sim']);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/kinroute_placements_total\{mode="event",reason="lowest-cost"\} \d+/);
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  });
});

describe('engines too slow to be done with anything', () => {
  it("L3: eight prompts at once are shared by claims alone, by OpenAI's own client", async () => {
    const parts = await (await Deployment.start()).addWorkers(2, { rates: { ...engineDefaults.rates, prefillTokenMs: 400 } });
    try {
      const { url } = await parts.addRouter();
      await untilTrusted(url, 2);
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 });
      const leaving = new AbortController();
      const asked = Array.from({ length: 8 }, (_, index) => client.completions.create({ model: 'kinroute-sim', prompt: promptOf(100 + index, 2_000), max_tokens: 2 }, { signal: leaving.signal }).catch(() => null));
      const claimed = (ranks: readonly Listed[]): number[] => ranks.map((rank) => rank.claimed.requests);
      const busy = await until(() => ranksOf(url), (ranks) => claimed(ranks).reduce((sum, requests) => sum + requests, 0) === 8);
      expect(claimed(busy)).toEqual([4, 4]);
      leaving.abort();
      await Promise.all(asked);
    } finally {
      await parts.close();
    }
  });
});

describe('what changes while routers run', () => {
  it('a mode set at one router holds at the other, at once and for requests after it', async () => {
    const parts = await (await Deployment.start()).addWorkers(1);
    try {
      const [first, second] = [await parts.addRouter(), await parts.addRouter({ mode: 'random' })];
      await untilTrusted(second.url, 1);
      const changed = await fetch(`${first.url}/mode`, { method: 'PUT', body: '{"mode":"affinity","parentAffinity":"parent"}' });
      expect(await changed.json()).toEqual({ mode: 'affinity', parentAffinity: 'parent' });
      await until(async () => (await fetch(`${second.url}/mode`)).json(), (mode) => (mode as { readonly mode: string }).mode === 'affinity');
      const placed = await Promise.all([first, second].map(async ({ url }) => (await post(`${url}/generate`, generate(1, 10))).headers.get('x-kinroute-mode')));
      expect(placed).toEqual(['affinity', 'affinity']);
    } finally {
      await parts.close();
    }
  });

  it('a router sees the claims of the other before any load report', async () => {
    const parts = await (await Deployment.start()).addWorkers(2, { speed: 1 });
    try {
      const [first, second] = [await parts.addRouter({ mode: 'least-loaded' }), await parts.addRouter({ mode: 'least-loaded' })];
      await untilTrusted(second.url, 2);
      const client = new AbortController();
      const running = await post(`${first.url}/generate`, { ...generate(1, 100, { stream: true }), sampling_params: { max_new_tokens: 100_000, ignore_eos: true } }, {}, client.signal);
      const busy = running.headers.get('x-kinroute-worker');
      const heard = await until(() => ranksOf(second.url), (ranks) => ranks.some(({ claimed }) => claimed.requests === 1));
      expect(heard.find(({ claimed }) => claimed.requests === 1)?.worker).toBe(busy);
      client.abort();
      await until(() => ranksOf(second.url), (ranks) => ranks.every(({ claimed }) => claimed.requests === 0));
    } finally {
      await parts.close();
    }
  });

  it('S10: the worker of a session goes; the session is placed anew and bound anew', async () => {
    const parts = await (await Deployment.start()).addWorkers(2);
    try {
      const { url } = await parts.addRouter({ mode: 'affinity' });
      await untilTrusted(url, 2);
      const turn = async (): Promise<readonly (string | null)[]> => {
        const answer = await post(`${url}/generate`, generate(1, 10), { 'x-kinroute-session-id': 's' });
        await answer.text();
        return [answer.headers.get('x-kinroute-worker'), answer.headers.get('x-kinroute-reason')];
      };
      const [gone] = await turn();
      expect(await turn()).toEqual([gone, 'bound-session']);
      await parts.workers.find(({ worker }) => worker === gone)?.close();
      await until(() => ranksOf(url), (ranks) => ranks.length === 1);
      const left = gone === 'w1' ? 'w2' : 'w1';
      expect([await turn(), await turn()]).toEqual([[left, 'new-session'], [left, 'bound-session']]);
    } finally {
      await parts.close();
    }
  });

  it('after a restart of nats-server requests, modes and placement events go on without restarting anything', async () => {
    const parts = await (await Deployment.start()).addWorkers(2);
    try {
      const { url } = await parts.addRouter();
      await untilTrusted(url, 2);
      const before = await fetch(`${url}/placements?event=placed`);
      await parts.nats.restart();
      await until(async () => (await fetch(`${url}/health/ready`)).status, (status) => status === 200);
      const answered = await until(() => post(`${url}/generate`, generate(1, 640)).then(async (answer) => [answer.status, await answer.text()]), ([status]) => status === 200);
      expect(answered[0]).toBe(200);
      const seen = await placementsUntil(before, (events) => events.length > 0);
      expect(seen[0]).toMatchObject({ event: 'placed', promptTokens: 640 });
      const held = await until(() => ranksOf(url), (ranks) => ranks.some(({ heldBlocks }) => heldBlocks >= 9));
      expect(held.length).toBe(2);
      const changed = await fetch(`${url}/mode`, { method: 'PUT', body: '{"mode":"random"}' });
      expect(await changed.json()).toMatchObject({ mode: 'random' });
    } finally {
      await parts.close();
    }
  });
});
