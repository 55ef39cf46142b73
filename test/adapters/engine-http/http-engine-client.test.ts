import { readdirSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { EngineClientOptions } from '../../../src/adapters/engine-http/http-engine-client.ts';
import { HttpEngineClient } from '../../../src/adapters/engine-http/http-engine-client.ts';
import { requestId } from '../../../src/core/identity/ids.ts';
import type { EngineResponse } from '../../../src/ports/request-transport.ts';
import { awaited, bytesOf, codeOf, Collected, engineRequest, never } from '../../support/nats-requests.ts';
import { haveShared, sharedPath } from '../../support/shared-data.ts';
import { silentLog } from '../../support/silent-log.ts';
import type { Answer, AnsweringServer } from './answering-server.ts';
import { answeringServer, sayRecorded } from './answering-server.ts';
import type { RecordedExchange } from './recorded-exchange.ts';
import { recordedExchange } from './recorded-exchange.ts';

const plain = 'sglang/0.5.23/server-plain/http';
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function engineAt(answer: Answer, options: Partial<EngineClientOptions> = {}): Promise<{ readonly client: HttpEngineClient; readonly server: AnsweringServer }> {
  const server = await answeringServer(answer);
  const overrides = { pageSize: null, vocabSize: null, kvEndpoint: null, replayEndpoint: null };
  const client = new HttpEngineClient({ url: server.url, apiKey: null, kind: null, keepExtraKey: false, overrides, ...options }, silentLog);
  closing.push(() => client.close(), () => server.close());
  return { client, server };
}

async function bodyOf(response: EngineResponse): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body) pieces.push(piece);
  return Buffer.concat(pieces);
}

const namesOf = (folder: string): string[] => readdirSync(sharedPath('fixtures', ...folder.split('/'))).flatMap((file) => /^(.*)\.json$/.exec(file)?.[1] ?? []);

async function pass(exchange: RecordedExchange): Promise<{ readonly response: EngineResponse; readonly body: Buffer; readonly server: AnsweringServer }> {
  const { client, server } = await engineAt((_request, response) => sayRecorded(exchange, response));
  const { method, path, requestHeaders: headers, requestBody } = exchange;
  const response = await client.send(engineRequest({ method, path, headers, body: bytesOf(requestBody) }), never);
  return { response, body: await bodyOf(response), server };
}

describe.skipIf(!haveShared)('send, with what real servers answered (needs ../shared)', () => {
  it.each([plain, 'sglang/0.5.23/server-two-ranks/http', 'sglang/0.5.9/server-page-1/http'])('every exchange of %s passes byte for byte', async (folder) => {
    const exchanges = namesOf(folder).map((name) => recordedExchange(folder, name));
    const { client, server } = await engineAt((request, response) => {
      const exchange = exchanges[Number(request.rawHeaders[1 + request.rawHeaders.indexOf('x-exchange')])];
      if (exchange !== undefined) sayRecorded(exchange, response);
    });
    for (const [index, exchange] of exchanges.entries()) {
      const headers: [string, string][] = [...exchange.requestHeaders.map(([name, value]): [string, string] => [name.toLowerCase(), value]), ['x-exchange', String(index)]];
      const response = await client.send(engineRequest({ method: exchange.method, path: exchange.path, headers, body: bytesOf(exchange.requestBody) }), never);
      const told = exchange.headers.filter(([name]) => !['connection', 'transfer-encoding'].includes(name.toLowerCase())).map(([name, value]) => [name.toLowerCase(), value]);
      expect([exchange.name, response.status, [...response.headers].filter(([name]) => name !== 'keep-alive')]).toEqual([exchange.name, exchange.status, told]);
      expect((await bodyOf(response)).equals(exchange.body), exchange.name).toBe(true);
      const seen = server.seen.at(-1);
      expect([seen?.method, seen?.path]).toEqual([exchange.method, exchange.path]);
      if (!exchange.requestBody.includes('extra_key')) expect(seen?.body).toBe(exchange.requestBody);
    }
    expect(exchanges.length).toBeGreaterThan(20);
  });

  it('R3: a 400 passes as it is', async () => {
    const exchange = recordedExchange(plain, 'generate-bad-temperature');
    const { response, body } = await pass(exchange);
    expect(response.status).toBe(400);
    expect(body.toString()).toBe('{"error":{"message":"temperature must be a non-negative finite number, got -1."}}');
  });

  it('R10: the refusal of a stream keeps its content type and body', async () => {
    const exchange = recordedExchange(plain, 'chat-too-long-stream');
    const { response, body } = await pass(exchange);
    expect([response.status, new Map(response.headers).get('content-type')]).toEqual([400, 'application/json']);
    expect(body.equals(exchange.body)).toBe(true);
  });

  it('a salt takes the place of an extra key', async () => {
    const { server } = await pass(recordedExchange(plain, 'generate-extra-key'));
    const sent = JSON.parse(server.seen[0]?.body ?? '') as Record<string, unknown>;
    const recorded = JSON.parse(recordedExchange(plain, 'generate-extra-key').requestBody) as Record<string, unknown>;
    expect(sent).toEqual({ ...recorded, extra_key: null, cache_salt: recorded['extra_key'] });
  });
});

describe('send', () => {
  it('passes a piece on before the next one is there', async () => {
    const more = awaited();
    const { client } = await engineAt((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      void more.promise.then(() => response.end('data: [DONE]\n\n'));
    });
    const response = await client.send(engineRequest(), never);
    const pieces = response.body[Symbol.asyncIterator]();
    const first = await pieces.next();
    more.fire();
    const second = await pieces.next();
    expect([first.value, second.value].map((piece: Uint8Array) => Buffer.from(piece).toString())).toEqual(['data: 1\n\n', 'data: [DONE]\n\n']);
    expect((await pieces.next()).done).toBe(true);
  });

  it('drops what belongs to one connection, and nothing else', async () => {
    const { client, server } = await engineAt((_request, response) => response.end('ok'));
    const headers: [string, string][] = [['x-custom', 'a'], ['connection', 'close'], ['te', 'trailers'], ['authorization', 'Bearer theirs'], ['content-length', '999'], ['host', 'elsewhere']];
    await bodyOf(await client.send(engineRequest({ headers }), never));
    const names = (server.seen[0]?.rawHeaders ?? []).filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    expect(names.sort()).toEqual(['authorization', 'connection', 'content-length', 'host', 'x-custom']);
    expect(server.seen[0]?.rawHeaders).toContain('Bearer theirs');
  });

  it("the agent's key for the engine replaces a client's", async () => {
    const { client, server } = await engineAt((_request, response) => response.end('ok'), { apiKey: 'secret' });
    await bodyOf(await client.send(engineRequest({ headers: [['authorization', 'Bearer theirs']] }), never));
    expect(server.seen[0]?.rawHeaders.filter((each) => each.startsWith('Bearer'))).toEqual(['Bearer secret']);
  });

  it('an answer that is compressed stays so', async () => {
    const zipped = Buffer.from('1f8b08000000000000034b4c020026e54d0203000000', 'hex');
    const { client } = await engineAt((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(zipped));
    const response = await client.send(engineRequest(), never);
    expect(new Map(response.headers).get('content-encoding')).toBe('gzip');
    expect((await bodyOf(response)).equals(zipped)).toBe(true);
  });

  it('an engine that is not there is engine-unreachable', async () => {
    const { client, server } = await engineAt(() => undefined);
    await server.close();
    closing.pop();
    expect(await codeOf(client.send(engineRequest(), never))).toBe('engine-unreachable');
  });

  it('an engine that closes before its head is engine-unreachable', async () => {
    const { client } = await engineAt((_request, response) => response.socket?.destroy());
    expect(await codeOf(client.send(engineRequest(), never))).toBe('engine-unreachable');
  });

  it('an engine that dies in mid-body is worker-failed', async () => {
    const { client } = await engineAt((_request, response) => {
      response.writeHead(200);
      response.write('data: 1\n\n', () => response.socket?.destroy());
    });
    const response = await client.send(engineRequest(), never);
    expect(await codeOf(bodyOf(response))).toBe('worker-failed');
  });
});

describe('cancelling', () => {
  /** Never ends an answer; says when its connection closed, and which ids were to be aborted. */
  async function silentEngine(firstPiece: string | null): ReturnType<typeof engineAt> {
    return engineAt((request, response) => {
      if (request.path === '/abort_request') {
        aborted.add(request.body);
        return void response.end();
      }
      response.on('close', () => left.add('closed'));
      arrived.add(request.path);
      if (firstPiece !== null) response.write(firstPiece);
    });
  }
  let aborted = new Collected<string>();
  let left = new Collected<string>();
  let arrived = new Collected<string>();
  afterEach(() => {
    aborted = new Collected();
    left = new Collected();
    arrived = new Collected();
  });

  it('R1: aborting while the engine is silent closes the connection and aborts by the rid of the body', async () => {
    const { client } = await silentEngine(null);
    const stop = new AbortController();
    const sent = codeOf(client.send(engineRequest({ body: bytesOf('{"rid":"client-rid","text":"x"}') }), stop.signal));
    await arrived.until((paths) => paths.length === 1);
    stop.abort();
    expect(await sent).toBe('cancelled');
    expect(await aborted.until((bodies) => bodies.length === 1)).toEqual(['{"rid":"client-rid"}']);
    await left.until((events) => events.length === 1);
  });

  it('aborting in mid-body throws the reason and aborts at the engine', async () => {
    const { client } = await silentEngine('data: 1\n\n');
    const stop = new AbortController();
    const response = await client.send(engineRequest({ id: requestId('r7') }), stop.signal);
    const pieces = response.body[Symbol.asyncIterator]();
    await pieces.next();
    stop.abort();
    expect(await codeOf(pieces.next())).toBe('cancelled');
    expect(await aborted.until((bodies) => bodies.length === 1)).toEqual(['{"rid":"r7"}']);
  });

  it('leaving the loop early aborts at the engine', async () => {
    const { client } = await silentEngine('data: 1\n\n');
    const response = await client.send(engineRequest({ id: requestId('r8') }), never);
    for await (const piece of response.body) {
      expect(Buffer.from(piece).toString()).toBe('data: 1\n\n');
      break;
    }
    expect(await aborted.until((bodies) => bodies.length === 1)).toEqual(['{"rid":"r8"}']);
    await left.until((events) => events.length === 1);
  });

  it('an answer that has ended is not aborted afterwards', async () => {
    const { client, server } = await engineAt((_request, response) => response.end('ok'));
    const stop = new AbortController();
    await bodyOf(await client.send(engineRequest(), stop.signal));
    stop.abort();
    await bodyOf(await client.send(engineRequest({ path: '/after' }), never));
    expect(server.seen.map((request) => request.path)).toEqual(['/generate?x=1', '/after']);
  });

  it('a request that was cancelled before it was sent is not sent', async () => {
    const { client, server } = await engineAt((_request, response) => response.end('ok'));
    expect(await codeOf(client.send(engineRequest(), AbortSignal.abort()))).toBe('cancelled');
    expect(server.seen).toEqual([]);
  });
});

describe('what vLLM must not be asked', () => {
  it('a request that makes it report reuse as stores is refused with what to change', async () => {
    const { client, server } = await engineAt((_request, response) => response.end('ok'), { kind: 'vllm' });
    const response = await client.send(engineRequest({ body: bytesOf('{"prompt":"x","vllm_xargs":{"kv_cache_report_mode":"full"}}') }), never);
    expect(response.status).toBe(400);
    expect((await bodyOf(response)).toString()).toContain('kv_cache_report_mode');
    expect(server.seen).toEqual([]);
  });
});
