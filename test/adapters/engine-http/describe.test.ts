import { afterEach, describe, expect, it } from 'vitest';
import type { EngineClientOptions } from '../../../src/adapters/engine-http/http-engine-client.ts';
import { HttpEngineClient } from '../../../src/adapters/engine-http/http-engine-client.ts';
import { parseTcpEndpoint } from '../../../src/adapters/engine-http/event-endpoints.ts';
import { parseJsonObject } from '../../../src/adapters/engine-http/json-fields.ts';
import type { EngineDescription } from '../../../src/ports/engine.ts';
import { codeOf, never } from '../../support/nats-requests.ts';
import { haveShared, sharedPath } from '../../support/shared-data.ts';
import { silentLog } from '../../support/silent-log.ts';
import { answerFrom, answeringServer } from './answering-server.ts';
import type { RecordedExchange } from './recorded-exchange.ts';
import { recordedExchange } from './recorded-exchange.ts';

const plain = 'sglang/0.5.23/server-plain/http';
const twoRanks = 'sglang/0.5.23/server-two-ranks/http';
const old = 'sglang/0.5.9/server-page-1/http';
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function clientOf(exchanges: readonly RecordedExchange[], options: Partial<EngineClientOptions> = {}): Promise<HttpEngineClient> {
  const server = await answeringServer(answerFrom(exchanges));
  const overrides = { pageSize: null, vocabSize: null, kvEndpoint: null, replayEndpoint: null };
  const client = new HttpEngineClient({ url: server.url, apiKey: null, kind: null, keepExtraKey: false, overrides, ...options }, silentLog);
  closing.push(() => client.close(), () => server.close());
  return client;
}

const describeWith = async (exchanges: readonly RecordedExchange[], options: Partial<EngineClientOptions> = {}): Promise<EngineDescription> => (await clientOf(exchanges, options)).describe(never);

/** A recorded `/server_info` with some fields changed. */
function changed(exchange: RecordedExchange, change: Readonly<Record<string, unknown>>): RecordedExchange {
  const body = Buffer.from(JSON.stringify({ ...parseJsonObject(exchange.body.toString('utf8')), ...change }));
  const headers = exchange.headers.map(([name, value]): [string, string] => [name, name.toLowerCase() === 'content-length' ? String(body.length) : value]);
  return { ...exchange, headers, body, chunks: [body] };
}

const vllmExchanges = (): RecordedExchange[] => ['02-models', '03-version', '04-kv-event-sources'].map((name) => recordedExchange('vllm/http', name));

describe.skipIf(!haveShared)('describe, by what real servers answered (needs ../shared)', () => {
  it('SGLang 0.5.23 with pages of 16 tells all of it', async () => {
    const description = await describeWith([recordedExchange(plain, 'server-info'), recordedExchange(plain, 'models')]);
    expect(description).toEqual({
      kind: 'sglang',
      version: '0.5.23',
      models: ['tiny'],
      tokenizerPath: 'tiny',
      ranks: [0],
      pageSize: 16,
      contextLength: 1024,
      vocabSize: null,
      maxRunningRequests: 8,
      capacityTokens: 2048,
      bigram: false,
      unnamedInEvents: [],
      events: { topic: 'kv-events', ranks: [{ rank: 0, endpoint: 'tcp://127.0.0.1:5557', bind: false, replayEndpoint: 'tcp://127.0.0.1:5657' }] },
    });
  });

  it('SGLang with two ranks has a port each for events and for replay', async () => {
    const description = await describeWith([recordedExchange(twoRanks, 'server-info')], { apiKey: 'fixture-key' });
    expect(description.ranks).toEqual([0, 1]);
    expect(description.pageSize).toBe(64);
    expect(description.models).toEqual(['tiny']);
    expect(description.events).toEqual({
      topic: '',
      ranks: [
        { rank: 0, endpoint: 'tcp://127.0.0.1:5557', bind: false, replayEndpoint: 'tcp://127.0.0.1:5559' },
        { rank: 1, endpoint: 'tcp://127.0.0.1:5558', bind: false, replayEndpoint: 'tcp://127.0.0.1:5560' },
      ],
    });
  });

  it('SGLang 0.5.9 has no kv_events block: the flag that it shows says where', async () => {
    const description = await describeWith([recordedExchange(old, 'server-info'), recordedExchange(old, 'models')]);
    expect(description).toMatchObject({ version: '0.5.9', pageSize: 1, ranks: [0], contextLength: 1024 });
    expect(description.events).toEqual({ topic: '', ranks: [{ rank: 0, endpoint: 'tcp://127.0.0.1:5557', bind: false, replayEndpoint: 'tcp://127.0.0.1:5657' }] });
  });

  it('an older server is found by /get_server_info', async () => {
    const description = await describeWith([recordedExchange(old, 'get-server-info')]);
    expect(description.version).toBe('0.5.9');
  });

  it('E38: an SGLang before 0.5.9 publishes events that are not followed, and why', async () => {
    const description = await describeWith([changed(recordedExchange(old, 'server-info'), { version: '0.5.5.post3' })]);
    expect(description.events).toEqual({ why: 'the KV events of SGLang 0.5.5.post3 name no prefix: use 0.5.9 or newer' });
  });

  it('E15: what keeps prompts apart and is not in the events is told, by version and flag', async () => {
    const unnamed = async (version: string, keepExtraKey = false): Promise<readonly string[]> =>
      (await describeWith([changed(recordedExchange(plain, 'server-info'), { version })], { keepExtraKey })).unnamedInEvents;
    expect(await unnamed('0.5.17')).toEqual(['salt', 'extra-key', 'lora']);
    expect(await unnamed('0.5.18')).toEqual(['lora']);
    expect(await unnamed('0.5.22')).toEqual([]);
    expect(await unnamed('0.5.17', true)).toEqual(['salt', 'extra-key', 'lora']);
    expect(await unnamed('0.5.22', true)).toEqual(['extra-key']);
  });

  it('replicas of one old SGLang share a port, so their events are not followed', async () => {
    const description = await describeWith([changed(recordedExchange(old, 'server-info'), { dp_size: 2 })]);
    expect(description.ranks).toEqual([0, 1]);
    expect(description.events).toMatchObject({ why: expect.stringContaining('on one port') as string });
  });

  it('an SGLang without events says what to start it with', async () => {
    const description = await describeWith([changed(recordedExchange(plain, 'server-info'), { kv_events: null, kv_events_config: null })]);
    expect(description.events).toMatchObject({ why: expect.stringContaining('--kv-events-config') as string });
  });

  it('E39: a publisher at a concrete address connects, so the agent binds', async () => {
    const description = await describeWith([changed(recordedExchange(plain, 'server-info'), { kv_events: null, kv_events_config: '{"publisher":"zmq","endpoint":"tcp://127.0.0.1:6000"}' })]);
    expect(description.events).toEqual({ topic: '', ranks: [{ rank: 0, endpoint: 'tcp://127.0.0.1:6000', bind: true, replayEndpoint: null }] });
  });

  it('E39: a flag says that the agent binds', async () => {
    const overrides = { pageSize: null, vocabSize: null, kvEndpoint: parseTcpEndpoint('tcp://*:7000'), replayEndpoint: parseTcpEndpoint('tcp://10.0.0.7:7100') };
    const description = await describeWith([recordedExchange(twoRanks, 'server-info')], { overrides });
    expect(description.events).toMatchObject({
      ranks: [
        { rank: 0, endpoint: 'tcp://*:7000', bind: true, replayEndpoint: 'tcp://10.0.0.7:7100' },
        { rank: 1, endpoint: 'tcp://*:7001', bind: true, replayEndpoint: 'tcp://10.0.0.7:7101' },
      ],
    });
  });

  it('the size of the vocabulary is in no answer: it comes by flag, or from the model’s folder', async () => {
    const folder = sharedPath('fixtures', 'tiny-model');
    const answers = [changed(recordedExchange(plain, 'server-info'), { model_path: folder })];
    expect((await describeWith(answers)).vocabSize).toBe(815);
    const overrides = { pageSize: null, vocabSize: 512, kvEndpoint: null, replayEndpoint: null };
    expect((await describeWith(answers, { overrides })).vocabSize).toBe(512);
  });

  it('EAGLE pages are over pairs of tokens', async () => {
    const description = await describeWith([changed(recordedExchange(plain, 'server-info'), { speculative_algorithm: 'EAGLE3' })]);
    expect(description.bigram).toBe(true);
  });

  it('vLLM 0.32 tells its sockets, its block size only in /metrics', async () => {
    const cache = 'vllm:cache_config_info{block_size="32",kv_cache_size_tokens="2048",num_gpu_blocks="64"} 1.0\n';
    const metrics: RecordedExchange = { ...recordedExchange('vllm/http', '03-version'), path: '/metrics', headers: [['content-type', 'text/plain']], body: Buffer.from(cache), chunks: [Buffer.from(cache)] };
    const description = await describeWith([...vllmExchanges(), metrics]);
    expect(description).toMatchObject({ kind: 'vllm', version: '0.32.0', models: ['tiny'], ranks: [0], pageSize: 32, contextLength: 1024, capacityTokens: 2048, bigram: false });
    expect(description.events).toEqual({ topic: 'kv-events', ranks: [{ rank: 0, endpoint: 'tcp://127.0.0.1:18210', bind: true, replayEndpoint: 'tcp://127.0.0.1:18220' }] });
  });

  it('vLLM without metrics takes its block size by flag, or is refused with the flag named', async () => {
    const overrides = { pageSize: 32, vocabSize: null, kvEndpoint: null, replayEndpoint: null };
    expect((await describeWith(vllmExchanges(), { overrides })).pageSize).toBe(32);
    await expect(describeWith(vllmExchanges())).rejects.toThrow('--page-size');
  });

  it('a missing API key is told, and how to give it', async () => {
    const refused = { ...recordedExchange(twoRanks, 'no-key-server-info'), path: '/server_info' };
    await expect(describeWith([refused])).rejects.toThrow('--api-key-file');
  });

  it.each([
    ['a negative page size', { page_size: -1, kv_events: null }],
    ['a page size that is a text', { page_size: '16', kv_events: { block_size: 'x', publisher: 'zmq' } }],
    ['more ranks than there can be', { kv_events: { block_size: 16, dp_size: 1e308, publisher: 'zmq' } }],
    ['half a rank', { kv_events: { block_size: 16, dp_size: 1.5, publisher: 'zmq' } }],
    ['an endpoint that is none', { kv_events: null, kv_events_config: '{"publisher":"zmq","endpoint":"tcp://*:99999"}' }],
  ])('%s is refused, not believed', async (_what, change) => {
    expect(await codeOf(describeWith([changed(recordedExchange(plain, 'server-info'), change)]))).toBe('bad-config');
  });
});

describe('describe, where there is no engine', () => {
  it('a server that is something else is refused', async () => {
    expect(await codeOf(describeWith([]))).toBe('bad-config');
  });

  it('a port where nothing listens is engine-unreachable, and named', async () => {
    const server = await answeringServer(() => undefined);
    await server.close();
    const overrides = { pageSize: null, vocabSize: null, kvEndpoint: null, replayEndpoint: null };
    const client = new HttpEngineClient({ url: server.url, apiKey: null, kind: null, keepExtraKey: false, overrides }, silentLog);
    closing.push(() => client.close());
    expect(await codeOf(client.describe(never))).toBe('engine-unreachable');
    await expect(client.describe(never)).rejects.toThrow(server.url);
  });

  it('an address with a path is refused', () => {
    const overrides = { pageSize: null, vocabSize: null, kvEndpoint: null, replayEndpoint: null };
    expect(() => new HttpEngineClient({ url: 'http://x/v1', apiKey: null, kind: null, keepExtraKey: false, overrides }, silentLog)).toThrow('http://host:port');
  });
});
