import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { UndiciLoadClient } from '../../../src/adapters/load-client/undici-load-client.ts';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import type { RequestOutcome } from '../../../src/core/evidence/request-outcome.ts';

const open: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function listen(handler: RequestListener): Promise<string> {
  const server: Server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => new Promise((resolve) => server.close(() => resolve())));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

async function generate(url: string, family: { readonly session: string | null; readonly parent: string | null } = { session: null, parent: null }): Promise<RequestOutcome> {
  const client = new UndiciLoadClient([url], systemClock);
  open.unshift(() => client.close());
  return client.generate({ body: new TextEncoder().encode('{"input_ids":[1]}'), ...family }, new AbortController().signal);
}

const event = (completed: number): string => `data: ${JSON.stringify({ text: 'x', meta_info: { prompt_tokens: 10, cached_tokens: 6, completion_tokens: completed } })}\n\n`;

describe('a generated answer', () => {
  it('has the engine\'s tokens from the last event and the placement from the headers', async () => {
    const url = await listen((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-kinroute-worker': 'w3', 'x-kinroute-rank': '1', 'x-kinroute-reason': 'parent', 'x-kinroute-request-id': 'q7' });
      response.end(`${event(1)}${event(2)}data: [DONE]\n\n`);
    });
    const outcome = await generate(url);
    expect(outcome).toMatchObject({ status: 200, error: null, promptTokens: 10, cachedTokens: 6, completionTokens: 2, worker: 'w3', rank: 1, reason: 'parent', requestId: 'q7' });
    expect(outcome.ttftMs).not.toBeNull();
  });

  it('is asked for with the session and its parent, made safe for a header', async () => {
    let seen: IncomingMessage['headers'] = {};
    const url = await listen((request, response) => {
      seen = request.headers;
      response.end('{"meta_info":{}}');
    });
    await generate(url, { session: 'a b/é', parent: 'root' });
    expect(seen['x-kinroute-session-id']).toBe('a%20b%2F%C3%A9');
    expect(seen['x-kinroute-parent-session-id']).toBe('root');
  });

  it('with an error event inside a 200 stream has failed', async () => {
    const url = await listen((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${event(1)}data: {"error":{"message":"engine died","code":"worker-failed"}}\n\ndata: [DONE]\n\n`);
    });
    expect((await generate(url)).error).toBe('worker-failed: engine died');
  });

  it('that is refused has the message and no time to first token', async () => {
    const url = await listen((_, response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"too long","code":"prompt-too-long","type":"invalid_request_error"}}');
    });
    expect(await generate(url)).toMatchObject({ status: 400, error: 'prompt-too-long: too long', ttftMs: null });
  });

  it('of a router that is not there is an outcome with status 0', async () => {
    const url = await listen(() => undefined);
    await open.pop()?.();
    expect(await generate(url)).toMatchObject({ status: 0, worker: null });
  });

  it('of a stream that breaks off has failed, and still says which worker it was', async () => {
    const url = await listen((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-kinroute-worker': 'w2' });
      response.write(event(1), () => response.destroy());
    });
    const outcome = await generate(url);
    expect(outcome.error).toMatch(/^the answer broke off/);
    expect(outcome.worker).toBe('w2');
  });
});
