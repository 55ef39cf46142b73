import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { startHttpFront } from '../../../src/adapters/http-front/http-front.ts';
import type { HttpFrontOptions, RunningFront } from '../../../src/adapters/http-front/http-front.ts';
import { PrometheusMetrics } from '../../../src/adapters/http-front/prometheus-metrics.ts';
import { RouterError } from '../../../src/core/router-error.ts';
import type { LivePolicy } from '../../../src/core/placement/placement.ts';
import type { PlacementEvent } from '../../../src/core/placement/placement-event.ts';
import type { ClientRequest, PlacedHead, RequestRouter, RoutedAnswer } from '../../../src/ports/request-router.ts';
import type { RouterView } from '../../../src/ports/router-view.ts';
import { parseDpRank, parsePoolId, parseWorkerId } from '../../../src/core/identity/ids.ts';
import { nothingClaimed } from '../../../src/core/load/claim.ts';
import { silentLog } from '../../support/silent-log.ts';
import { saying } from '../../support/saying.ts';

const placed: PlacedHead = { id: { worker: parseWorkerId('w1'), rank: parseDpRank(2) }, mode: 'affinity', reason: 'parent', overlapBlocks: 7 };

type Route = RequestRouter['route'];

/** A router that shows what it was asked, and answers as the test says. */
class FakeRouter implements RequestRouter {
  readonly asked: ClientRequest[] = [];
  answer: Route = (_request, onPlaced) => {
    onPlaced(placed);
    return Promise.resolve(answerOf(200, ['{}']));
  };

  route(...[request, onPlaced, signal]: Parameters<Route>): Promise<RoutedAnswer> {
    this.asked.push(request);
    return this.answer(request, onPlaced, signal);
  }
}

async function* pieces(parts: readonly (string | Uint8Array | Error)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    if (part instanceof Error) throw part;
    yield typeof part === 'string' ? new TextEncoder().encode(part) : part;
  }
}

const answerOf = (status: number, parts: readonly (string | Uint8Array | Error)[], headers: readonly (readonly [string, string])[] = [['content-type', 'application/json']]): RoutedAnswer => ({ status, headers, body: pieces(parts) });

class FakeView implements RouterView {
  current: LivePolicy = { mode: 'event', parentAffinity: 'siblings' };
  ready = true;
  readiness(): ReturnType<RouterView['readiness']> {
    return { ready: this.ready, why: this.ready ? null : 'no worker is registered', ranks: 1, trustedRanks: 1, untrustedRanks: 0 };
  }
  ranks(): ReturnType<RouterView['ranks']> {
    const { id } = placed;
    return [{ pool: parsePoolId('llama'), id, engineUrl: 'http://gpu1:30000', engineKind: 'sglang', engineVersion: '0.5.23', models: ['m'], draining: false, trust: 'trusted', heldBlocks: 5, reported: null, reportAgeMs: null, claimed: nothingClaimed }];
  }
  models(): ReturnType<RouterView['models']> {
    return [{ id: 'm', pool: parsePoolId('llama'), contextLength: 4_096 }];
  }
  policy(): LivePolicy {
    return this.current;
  }
  setPolicy(policy: LivePolicy): Promise<void> {
    this.current = policy;
    return Promise.resolve();
  }
  gauges(): ReturnType<RouterView['gauges']> {
    return { claims: 3, sessions: 2, predictions: 1 };
  }
  counters(): Readonly<Record<string, number>> {
    return { gaps: 4 };
  }
}

type OnEvent = (event: PlacementEvent, sequence: number) => void;

const opened: RunningFront[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((front) => front.close()));
});

interface Front {
  readonly url: string;
  readonly router: FakeRouter;
  readonly view: FakeView;
  readonly followed: { pool: string | null; after: number | null; onEvent: OnEvent; closed: boolean }[];
  readonly running: RunningFront;
}

async function start(more: Partial<HttpFrontOptions> = {}): Promise<Front> {
  const [router, view, followed] = [new FakeRouter(), new FakeView(), [] as Front['followed']];
  const placements = {
    follow: (options: { pool: string | null; after: number | null }, onEvent: OnEvent) => {
      const following = { ...options, onEvent, closed: false };
      followed.push(following);
      return Promise.resolve({ close: () => Promise.resolve(void (following.closed = true)) });
    },
  };
  const running = await startHttpFront({ host: '127.0.0.1', port: 0, bodyLimitBytes: 1_000, closeGraceMs: 3_000, ...more }, { router, view, placements, metrics: new PrometheusMetrics(), log: silentLog });
  opened.push(running);
  return { url: running.url, router, view, followed, running };
}

const post = (url: string, body: string, headers: Record<string, string> = {}): Promise<Response> => fetch(url, { method: 'POST', body, headers });

interface ErrorAnswer {
  readonly error: { readonly message: string; readonly type: string; readonly code: string };
}
const errorOf = async (response: Response): Promise<ErrorAnswer['error']> => ((await response.json()) as ErrorAnswer).error;

/** All that comes on a bare connection until it is closed. */
async function untilClosed(socket: Socket): Promise<string> {
  let text = '';
  for await (const piece of socket) text += String(piece);
  return text;
}

/** A bare connection, to see what is on the wire and to go away when we like. */
async function rawRequest(url: string, head: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(head);
  await once(socket, 'connect');
  return socket;
}

const rawPost = (body: string): string => `POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

describe('a request', () => {
  it('reaches the router with its bytes, its headers as they came, and a tenant by its key', async () => {
    const { url, router } = await start();
    const body = '{"big":9007199254740993,  "a":1}';
    await post(`${url}/v1/chat/completions?x=1`, body, { authorization: 'Bearer one', 'X-Custom': 'Yes' });
    await post(`${url}/generate`, '{}', { authorization: 'Bearer two' });
    await post(`${url}/generate`, '{}');
    const [first] = router.asked;
    expect(new TextDecoder().decode(first?.body)).toBe(body);
    expect(first).toMatchObject({ method: 'POST', path: '/v1/chat/completions?x=1', fields: { a: 1 } });
    expect(first?.headers).toContainEqual(['x-custom', 'Yes']);
    expect(new Set(router.asked.map(({ tenant }) => tenant)).size).toBe(3);
    expect(JSON.stringify(router.asked.map(({ tenant }) => tenant))).not.toContain('one');
  });

  it('is answered with where it was placed and why', async () => {
    const { url } = await start();
    const { headers } = await post(`${url}/generate`, '{}');
    expect(Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-kinroute-') && name !== 'x-kinroute-request-id'))).toEqual({
      'x-kinroute-worker': 'w1',
      'x-kinroute-rank': '2',
      'x-kinroute-mode': 'affinity',
      'x-kinroute-reason': 'parent',
      'x-kinroute-overlap-blocks': '7',
    });
    expect(headers.get('x-kinroute-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("passes on the engine's status, headers and bytes as they are", async () => {
    const { url, router } = await start();
    const bytes = new Uint8Array([0, 255, 10, 13, 200]);
    router.answer = () => Promise.resolve(answerOf(418, ['a', bytes, 'b'], [['content-type', 'text/x-odd'], ['x-twice', '1'], ['x-twice', '2']]));
    const answer = await post(`${url}/generate`, '{}');
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('x-twice')]).toEqual([418, 'text/x-odd', '1, 2']);
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(new Uint8Array([97, ...bytes, 98]));
  });

  it('R14: each piece is on the wire when the engine sent it, on a kept-alive connection too', async () => {
    const { url, router } = await start();
    let more: () => void = () => {};
    router.answer = () => {
      async function* body(): AsyncGenerator<Uint8Array> {
        yield new TextEncoder().encode('data: first\n\n');
        await new Promise<void>((resolve) => (more = resolve));
        yield new TextEncoder().encode('data: second\n\n');
      }
      return Promise.resolve({ status: 200, headers: [['content-type', 'text/event-stream']] as const, body: body() });
    };
    for (const _turn of [1, 2]) {
      const reader = (await post(`${url}/generate`, '{}')).body?.getReader();
      expect(new TextDecoder().decode((await reader?.read())?.value as Uint8Array)).toBe('data: first\n\n');
      more();
      expect(new TextDecoder().decode((await reader?.read())?.value as Uint8Array)).toBe('data: second\n\n');
      expect((await reader?.read())?.done).toBe(true);
    }
  });

  it('is cancelled when its client goes, while the engine is silent', async () => {
    const { url, router } = await start();
    let begun: (signal: AbortSignal) => void = () => {};
    const signalled = new Promise<AbortSignal>((resolve) => (begun = resolve));
    router.answer = (_request, _onPlaced, signal) => {
      begun(signal);
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new RouterError('cancelled', 'gone')), { once: true }));
    };
    const socket = await rawRequest(url, rawPost('{}'));
    const signal = await signalled;
    socket.destroy();
    if (!signal.aborted) await once(signal, 'abort');
    expect(signal.reason).toMatchObject({ code: 'cancelled' });
  });

  it('waits for a slow client: what it does not read is not taken from the engine', async () => {
    const { url, router } = await start();
    let given = 0;
    const chunk = new Uint8Array(256 * 1024);
    router.answer = () => {
      async function* body(): AsyncGenerator<Uint8Array> {
        for (; given < 4_000; given++) yield chunk;
      }
      return Promise.resolve({ status: 200, headers: [] as const, body: body() });
    };
    const socket = await rawRequest(url, rawPost('{}'));
    await once(socket, 'readable');
    let before = -1;
    // The buffers on the way fill up, and then nothing moves any more.
    while (given !== before) {
      before = given;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(given).toBeLessThan(400);
    socket.destroy();
  });

  it('is given up when its client takes nothing any more', async () => {
    const { url, router } = await start({ readPatienceMs: 50 });
    let left: () => void = () => {};
    const leaving = new Promise<void>((resolve) => (left = resolve));
    router.answer = () => {
      async function* body(): AsyncGenerator<Uint8Array> {
        try {
          for (;;) yield new Uint8Array(256 * 1024);
        } finally {
          left();
        }
      }
      return Promise.resolve({ status: 200, headers: [] as const, body: body() });
    };
    const socket = await rawRequest(url, rawPost('{}'));
    await leaving;
    socket.destroy();
  });

  it('that waits behind another on its connection is cancelled with it', async () => {
    const { url, router } = await start();
    const signals: AbortSignal[] = [];
    let both: () => void = () => {};
    const begun = new Promise<void>((resolve) => (both = resolve));
    router.answer = (_request, _onPlaced, signal) => {
      if (signals.push(signal) === 2) both();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new RouterError('cancelled', 'gone')), { once: true }));
    };
    const socket = await rawRequest(url, rawPost('{}') + rawPost('{}'));
    await begun;
    socket.destroy();
    for (const signal of signals) if (!signal.aborted) await once(signal, 'abort');
    expect(signals.map(({ reason }) => (reason as RouterError).code)).toEqual(['cancelled', 'cancelled']);
  });

  it('that breaks off without an end the client can read breaks the connection off', async () => {
    const { url, router } = await start();
    router.answer = () => Promise.resolve(answerOf(200, ['{"half":', new RouterError('worker-failed', 'killed')]));
    await expect(post(`${url}/generate`, '{}').then((answer) => answer.text())).rejects.toThrow();
  });

  it('goes by PUT to /generate too, and other engine paths are let through', async () => {
    const { url, router } = await start();
    await fetch(`${url}/generate`, { method: 'PUT', body: '{}' });
    await post(`${url}/v1/rerank`, '{}');
    expect(router.asked.map(({ method, path }) => `${method} ${path}`)).toEqual(['PUT /generate', 'POST /v1/rerank']);
    expect((await post(`${url}/flush_cache`, '{}')).status).toBe(404);
  });
});

describe('what is wrong with a request', () => {
  it('brackets nested by the thousand are a 400, before anything walks into them', async () => {
    const { url, router } = await start({ bodyLimitBytes: 1_000_000 });
    for (const body of [`{"model":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, '{"a":'.repeat(300)]) {
      const answer = await post(`${url}/generate`, body);
      expect([answer.status, await errorOf(answer)]).toEqual([400, { message: saying('256'), type: 'invalid_request_error', code: 'bad-json' }]);
    }
    expect(router.asked).toEqual([]);
  });

  it('what is no HTTP, and a path that can not be decoded, are a 400 in the same shape', async () => {
    const { url } = await start();
    expect(await untilClosed(await rawRequest(url, 'nonsense\r\n\r\n'))).toMatch(/^HTTP\/1\.1 400 [^]*\{"error":\{"message":"[^"]+","type":"invalid_request_error","code":"bad-request"\}\}$/);
    expect(await untilClosed(await rawRequest(url, `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`))).toMatch(/^HTTP\/1\.1 431 [^]*"code":"bad-request"/);
    const odd = await fetch(`${url}/%zz`);
    expect([odd.status, (await errorOf(odd)).code]).toEqual([400, 'bad-request']);
  });

  it('none of two thousand headers is dropped, so the body is still there', async () => {
    const { url, router } = await start();
    const headers = Array.from({ length: 2_000 }, (_, index) => `a${index}:1`).join('\r\n');
    const answer = await untilClosed(await rawRequest(url, `POST /generate HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\nContent-Length: 2\r\n\r\n{}`));
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(router.asked[0]?.headers.length).toBe(2_003);
  });

  it('a body that stops coming is given up with a 408', async () => {
    const { url } = await start({ uploadPatienceMs: 100 });
    const answer = await untilClosed(await rawRequest(url, 'POST /generate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a"'));
    expect(answer).toMatch(/^HTTP\/1\.1 408 [^]*"code":"bad-request"/);
  });

  it('a body that is no JSON object is a 400 that does not quote it', async () => {
    const { url, router } = await start();
    for (const body of ['', 'secret prompt', '[1]', '"x"', '{"a":']) {
      const answer = await post(`${url}/generate`, body);
      const error = await errorOf(answer);
      expect([answer.status, error.code, error.type]).toEqual([400, 'bad-json', 'invalid_request_error']);
      expect(error.message).not.toContain('secret');
    }
    expect(router.asked).toEqual([]);
  });

  it('a body over the limit is a 413 that names both sizes', async () => {
    const { url } = await start();
    const answer = await post(`${url}/generate`, `{"a":"${'x'.repeat(2_000)}"}`);
    expect(answer.status).toBe(413);
    expect((await errorOf(answer)).message).toMatch(/2008 bytes.*1000/);
  });

  it("a failure of ours is told in OpenAI's shape, with the placement it had", async () => {
    const { url, router } = await start();
    router.answer = (_request, onPlaced) => {
      onPlaced(placed);
      return Promise.reject(new RouterError('no-responder', 'worker w1 does not listen'));
    };
    const answer = await post(`${url}/generate`, '{}');
    expect([answer.status, answer.headers.get('x-kinroute-worker'), answer.headers.get('retry-after')]).toEqual([503, 'w1', '1']);
    expect(await errorOf(answer)).toEqual({ message: 'worker w1 does not listen', type: 'server_error', code: 'no-responder' });
  });

  it('what nobody foresaw is a 500 that tells nothing of the inside', async () => {
    const { url, router } = await start();
    router.answer = () => Promise.reject(new TypeError('secret of /opt/kinroute'));
    const answer = await post(`${url}/generate`, '{}');
    expect(answer.status).toBe(500);
    expect((await errorOf(answer)).message).not.toContain('secret');
  });

  it('a path that is not served is a 404 in the same shape', async () => {
    const { url } = await start();
    const answer = await fetch(`${url}/nothing?key=1`);
    expect([answer.status, await errorOf(answer)]).toEqual([404, { message: 'GET /nothing is not served here', type: 'invalid_request_error', code: 'not-found' }]);
  });

  it('a port in use is told with the port', async () => {
    const { url, router, view } = await start();
    const port = Number(new URL(url).port);
    const deps = { router, view, placements: { follow: () => Promise.reject(new Error('unused')) }, metrics: new PrometheusMetrics(), log: silentLog };
    await expect(startHttpFront({ host: '127.0.0.1', port, bodyLimitBytes: 1, closeGraceMs: 0 }, deps)).rejects.toMatchObject({ code: 'port-in-use', message: saying(String(port)) });
  });
});

describe('a front that closes', () => {
  it('serves a request that was sent before, also one whose body is still coming', async () => {
    const { url, running, router } = await start();
    const kept = await rawRequest(url, 'POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{"a"');
    const closing = running.close();
    const late = await rawRequest(url, rawPost('{"b":1}'));
    kept.write(':1}');
    const answers = await Promise.all([untilClosed(kept), untilClosed(late)]);
    await closing;
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*connection: close[^]*\{\}/i);
    expect(router.asked.length).toBe(2);
  });

  it('ends what is not done in time with a code, a stream too', async () => {
    const { url, running, router } = await start({ closeGraceMs: 50 });
    const stopped = (signal: AbortSignal): Promise<never> => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as RouterError), { once: true }));
    router.answer = (request, _onPlaced, signal) => {
      if (request.path === '/generate') return stopped(signal);
      async function* body(): AsyncGenerator<Uint8Array> {
        yield new TextEncoder().encode('data: 1\n\n');
        await stopped(signal).catch((error: unknown) => error);
        yield new TextEncoder().encode('data: the last words\n\n');
      }
      return Promise.resolve({ status: 200, headers: [['content-type', 'text/event-stream']] as const, body: body() });
    };
    const silent = post(`${url}/generate`, '{}');
    const stream = await post(`${url}/v1/completions`, '{}');
    while (router.asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await running.close();
    expect([(await silent).status, (await errorOf(await silent)).code, await stream.text()]).toEqual([503, 'stopping', 'data: 1\n\ndata: the last words\n\n']);
  });

  it('does not wait for a connection on which nothing was ever asked', async () => {
    const { url, running } = await start({ closeGraceMs: 600_000 });
    const idle = await rawRequest(url, '');
    await running.close();
    expect(await untilClosed(idle).catch(() => '')).toBe('');
  });
});

describe('what the router shows of itself', () => {
  it('is alive always, and ready only when requests will be served', async () => {
    const { url, view } = await start();
    view.ready = false;
    expect([(await fetch(`${url}/health`)).status, (await fetch(`${url}/health/ready`)).status]).toEqual([200, 503]);
    view.ready = true;
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  });

  it('lists workers and models', async () => {
    const { url } = await start();
    expect(await (await fetch(`${url}/workers`)).json()).toMatchObject({ workers: [{ pool: 'llama', worker: 'w1', rank: 2, engineUrl: 'http://gpu1:30000', trust: 'trusted', draining: false, heldBlocks: 5, reported: null, claimed: { requests: 0 } }] });
    expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({ object: 'list', data: [{ id: 'm', object: 'model', max_model_len: 4_096 }] });
  });

  it('takes a mode, keeps what was left out, and refuses what it does not know', async () => {
    const { url, view } = await start();
    const put = (body: string): Promise<Response> => fetch(`${url}/mode`, { method: 'PUT', body });
    expect(await (await put('{"mode":"affinity"}')).json()).toEqual({ mode: 'affinity', parentAffinity: 'siblings' });
    const refused = await put('{"mode":"fastest"}');
    expect([refused.status, (await errorOf(refused)).message]).toEqual([400, saying('round-robin')]);
    expect(view.current.mode).toBe('affinity');
  });

  it('is scraped by Prometheus', async () => {
    const { url } = await start();
    const answer = await fetch(`${url}/metrics`);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    const text = await answer.text();
    for (const line of ['kinroute_claims 3', 'kinroute_ready 1', 'kinroute_rank_held_blocks{pool="llama",worker="w1",rank="2"} 5', 'kinroute_counted{what="gaps"} 4']) expect(text).toContain(line);
  });
});

const event = (name: 'placed' | 'finished', more: object): PlacementEvent => ({ v: 1, event: name, pool: 'llama', router: 'r1', worker: 'w1', rank: 0, requestId: 'q', ...more }) as unknown as PlacementEvent;

describe('placement events over HTTP', () => {
  it('come as server-sent events with their place in the stream, from where the reader was', async () => {
    const { url, followed } = await start();
    const answer = await fetch(`${url}/placements?pool=llama`, { headers: { 'last-event-id': '41' } });
    expect(followed).toMatchObject([{ pool: 'llama', after: 41 }]);
    followed[0]?.onEvent(event('placed', {}), 42);
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('"q"}')) text += (await reader?.read())?.value ?? '';
    expect(text).toBe(`: placements\n\nid: 42\ndata: ${JSON.stringify(event('placed', {}))}\n\n`);
    await reader?.cancel();
    while (followed[0]?.closed !== true) await new Promise((resolve) => setImmediate(resolve));
  });

  it('end when the router closes', async () => {
    const { url, running, followed } = await start();
    const reading = (await fetch(`${url}/placements`)).text();
    await running.close();
    expect([await reading, followed[0]?.closed]).toEqual([': placements\n\n', true]);
  });

  it('of an unknown kind are refused', async () => {
    const { url } = await start();
    expect((await fetch(`${url}/placements?event=plaecd`)).status).toBe(400);
    expect((await fetch(`${url}/placements`, { headers: { 'last-event-id': 'x' } })).status).toBe(400);
  });
});
