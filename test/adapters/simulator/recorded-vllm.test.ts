import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEngine, type RunningEngine } from '../../../src/main/start-engine.ts';
import { haveShared } from '../../support/shared-data.ts';
import { silentLog } from '../../support/silent-log.ts';
import { recordedExchange, type RecordedExchange } from '../engine-http/recorded-exchange.ts';
import { jsonShape, streamShape } from './json-shape.ts';

const recorded = (name: string): RecordedExchange => recordedExchange('vllm/http', name);
const typeOf = (exchange: RecordedExchange): string => exchange.headers.find(([key]) => key === 'content-type')?.[1] ?? '';

/** Content-length and the connection are the client's own business. */
const ownHeaders = ({ requestHeaders }: RecordedExchange): [string, string][] => requestHeaders.filter(([key]) => !['host', 'connection', 'content-length'].includes(key)).map(([key, value]) => [key, value]);

const answers = [
  ...['02-models', '03-version', '04-kv-event-sources', '06-completion-token-ids', '07-completion-token-ids-again-cached', '08-completion-text', '09-completion-two-prompts'],
  ...['10-completion-return-token-ids', '11-completion-stream-usage', '12-completion-stream', '13-completion-stream-continuous-usage', '14-completion-stream-token-ids'],
  ...['15-chat', '16-chat-stream-usage', '17-chat-stream', '25-tokenize-text', '26-tokenize-chat', '27-detokenize', '31-error-too-long-with-answer', '45-load-after'],
];
const refusals = ['29-error-bad-json', '30-error-too-long', '32-error-too-long-stream', '33-error-no-messages', '36-error-token-out-of-vocabulary', '37-error-empty-prompt', '38-error-model', '40-error-rank', '41-error-path', '42-error-method'];

describe.skipIf(!haveShared)('vLLM answers beside those of a real server (needs ../shared/fixtures)', () => {
  let engine: RunningEngine;
  beforeAll(async () => {
    engine = await startEngine({ wire: 'vllm', modelName: 'tiny', pageSize: 32, kvTokens: 2048, contextLength: 1024, vocabSize: 815, speed: 100 }, silentLog);
  });
  afterAll(() => engine.close());

  async function answerTo(exchange: RecordedExchange): Promise<{ readonly status: number; readonly type: string; readonly text: string }> {
    const { method, path, requestBody } = exchange;
    const response = await fetch(engine.url + path, { method, headers: ownHeaders(exchange), ...(requestBody === '' ? {} : { body: requestBody }) });
    return { status: response.status, type: response.headers.get('content-type') ?? '', text: await response.text() };
  }

  it.each(answers)('%s: status, type, keys in their order', async (name) => {
    const exchange = recorded(name);
    const { status, type, text } = await answerTo(exchange);
    expect([status, type.split(';')[0]]).toEqual([exchange.status, typeOf(exchange).split(';')[0]]);
    const shape = type.includes('event-stream') ? streamShape : (body: string): unknown => jsonShape(JSON.parse(body));
    expect(shape(text)).toEqual(shape(exchange.body.toString()));
  });

  it.each(refusals)('%s: status, and the keys of its error', async (name) => {
    const exchange = recorded(name);
    const { status, text } = await answerTo(exchange);
    const keysOf = (body: string): unknown => Object.entries(JSON.parse(body) as object).map(([key, value]: [string, unknown]) => [key, typeof value === 'object' && value !== null ? Object.keys(value) : value]);
    expect([status, keysOf(text)]).toEqual([exchange.status, keysOf(exchange.body.toString())]);
  });

  it('a prompt that comes again has its whole blocks cached, but for the last token', async () => {
    const body = (text: string): unknown => (JSON.parse(text) as { readonly usage: unknown }).usage;
    const exchange = recorded('07-completion-token-ids-again-cached');
    await answerTo(exchange);
    expect(body((await answerTo(exchange)).text)).toEqual(body(exchange.body.toString()));
  });

  it("has none of SGLang's own paths", async () => {
    for (const path of ['/server_info', '/get_server_info', '/v1/loads', '/model_info']) expect((await fetch(engine.url + path)).status).toBe(404);
  });
});
