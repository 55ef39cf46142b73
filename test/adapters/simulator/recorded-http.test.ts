import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEngine, type RunningEngine } from '../../../src/main/start-engine.ts';
import { haveShared, sharedPath } from '../../support/shared-data.ts';
import { jsonShape, streamShape } from './json-shape.ts';
import { silentLog } from '../../support/silent-log.ts';

interface Exchange {
  readonly request: { readonly method: string; readonly path: string; readonly headers: readonly [string, string][]; readonly body: string | null };
  readonly response: { readonly status: number; readonly headers: readonly [string, string][]; readonly bodyBase64: string };
}

const folder = sharedPath('fixtures', 'sglang', '0.5.23', 'server-plain', 'http');
const exchange = (name: string): Exchange => JSON.parse(readFileSync(`${folder}/${name}.json`, 'utf8')) as Exchange;
const bodyOf = ({ response }: Exchange): string => Buffer.from(response.bodyBase64, 'base64').toString();
const headerOf = (recorded: Exchange, name: string): string => recorded.response.headers.find(([key]) => key.toLowerCase() === name)?.[1] ?? '';

/** What needs another request beside it (below), and what the simulated engine does not offer. */
const elsewhere = new Set([
  ...['generate-aborted', 'generate-stream-aborted', 'chat-stream-aborted', 'flush-cache-busy', 'loads-after-hangup', 'loads-busy', 'loads-busy-later'],
  ...['server-info', 'get-server-info', 'model-info', 'get-model-info', 'metrics'],
  ...['messages', 'messages-stream', 'messages-count-tokens', 'responses', 'embeddings-not-a-model-for-it', 'generate-logprob', 'chat-logprobs'],
]);

/** Sessions must be opened before they are used and closed after. */
const inOrder = ['open-session', 'open-session-again', 'generate-in-session', 'close-session'];

const names = haveShared ? readdirSync(folder).map((file) => file.replace(/\.json$/, '')).filter((name) => !elsewhere.has(name) && !inOrder.includes(name)) : [];

describe.skipIf(!haveShared)('answers beside those of a real server (needs ../shared/fixtures)', () => {
  let engine: RunningEngine;
  beforeAll(async () => {
    engine = await startEngine({ modelName: 'tiny', pageSize: 16, kvTokens: 2048, contextLength: 1024, vocabSize: 512, maxRunning: 8, speed: 100 }, silentLog);
  });
  afterAll(() => engine.close());

  const send = async ({ request }: Exchange): Promise<Response> =>
    fetch(engine.url + request.path, { method: request.method, headers: request.headers.map(([key, value]): [string, string] => [key, value]), ...(request.body === null ? {} : { body: request.body }) });

  const compare = async (name: string): Promise<void> => {
    const recorded = exchange(name);
    const response = await send(recorded);
    const text = await response.text();
    expect(response.status).toBe(recorded.response.status);
    expect((response.headers.get('content-type') ?? '').replace(/; charset=utf-8$/, '')).toBe(headerOf(recorded, 'content-type').replace(/; charset=utf-8$/, ''));
    if (headerOf(recorded, 'content-type').includes('event-stream')) expect(streamShape(text)).toEqual(streamShape(bodyOf(recorded)));
    else if (headerOf(recorded, 'content-type').includes('json')) expect(jsonShape(JSON.parse(text))).toEqual(jsonShape(JSON.parse(bodyOf(recorded))));
    else if (!name.startsWith('loads-prometheus')) expect(text).toBe(bodyOf(recorded));
  };

  it.each(names)('%s: status, type, keys in their order', async (name) => compare(name));

  it('sessions: opened once, used, closed', async () => {
    for (const name of inOrder) await compare(name);
  });

  it('refusals say what the real server says', async () => {
    for (const name of ['generate-too-long', 'generate-too-many-new-tokens', 'generate-rank-7', 'generate-bad-temperature', 'generate-negative-new-tokens', 'generate-no-prompt', 'generate-empty-ids', 'generate-lora-off', 'generate-unknown-session', 'chat-rank-header-word', 'chat-empty-messages', 'model-unknown']) {
      expect(await (await send(exchange(name))).json()).toEqual(JSON.parse(bodyOf(exchange(name))));
    }
  });

  it.each(['server-info', 'get-server-info', 'model-info', 'get-model-info'])('%s: a part of the real one, of the same types', async (name) => {
    const ours = (await (await send(exchange(name))).json()) as Record<string, unknown>;
    const theirs = JSON.parse(bodyOf(exchange(name))) as Record<string, unknown>;
    for (const [key, value] of Object.entries(ours)) {
      if (key === 'internal_states') continue;
      expect([key, typeof value]).toEqual([key, typeof theirs[key]]);
    }
    if (name.includes('server')) expect(jsonShape(ours['kv_events'])).toEqual(jsonShape(theirs['kv_events']));
  });

  it('metrics: the names that routers read are those of the real server', async () => {
    const nameSet = (text: string): Set<string> => new Set([...text.matchAll(/^(sglang:\w+)/gm)].map((match) => match[1] ?? ''));
    const ours = nameSet(await (await send(exchange('metrics'))).text());
    const theirs = nameSet(bodyOf(exchange('metrics')));
    expect(ours.size).toBeGreaterThan(9);
    expect([...ours].filter((name) => !theirs.has(name))).toEqual(['sglang:num_retracted_requests_total']);
  });
});
