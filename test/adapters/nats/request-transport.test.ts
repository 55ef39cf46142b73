import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectNats, type NatsHandle } from '../../../src/adapters/nats/connection.ts';
import { NatsRequestServer } from '../../../src/adapters/nats/request-server.ts';
import { NatsRequestTransport } from '../../../src/adapters/nats/request-transport.ts';
import type { NatsServerProcess } from '../../../src/adapters/system/nats-server.ts';
import { RouterError } from '../../../src/core/router-error.ts';
import type { EngineRequest, EngineResponse, RequestHandler, ServedRequests } from '../../../src/ports/request-transport.ts';
import { awaited, bytesOf, codeOf, engineRequest, never, pool, rank0, rank1, textOf, worker } from '../../support/nats-requests.ts';
import { startTestNats } from '../../support/nats-server.ts';
import { silentLog } from '../../support/silent-log.ts';

async function readAll(response: EngineResponse): Promise<string[]> {
  const chunks: string[] = [];
  for await (const chunk of response.body) chunks.push(textOf(chunk));
  return chunks;
}

/** Resolves when the agent's handler is told that nobody wants its answer. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });

describe('requests over NATS', () => {
  let nats: NatsServerProcess;
  let router: NatsHandle;
  let agent: NatsHandle;
  let served: ServedRequests | null = null;

  beforeAll(async () => {
    nats = await startTestNats();
    router = await connectNats({ servers: nats.url, name: 'router-1' }, silentLog);
    agent = await connectNats({ servers: nats.url, name: 'w1' }, silentLog);
  });

  afterEach(async () => {
    await served?.close(AbortSignal.abort());
    served = null;
  });

  afterAll(async () => {
    await router.close();
    await agent.close();
    await nats.stop();
  });

  const serve = async (handler: RequestHandler): Promise<void> => {
    served = await new NatsRequestServer(agent, { heartbeatMs: 50 }).serve(pool, worker, [rank0.rank], handler);
  };

  it('a request reaches the agent whole and its answer comes back chunk by chunk', async () => {
    const seen = awaited<EngineRequest>();
    await serve(async (_rank, got, sink) => {
      seen.fire({ ...got, body: new Uint8Array(got.body) });
      sink.head(200, [['x-a', '1'], ['x-a', '2']]);
      await sink.data(bytesOf('one'));
      await sink.data(bytesOf('two'));
      sink.end();
    });
    const response = await new NatsRequestTransport(router).send(pool, rank0, engineRequest(), never);
    expect(await seen.promise).toEqual(engineRequest());
    expect([response.status, response.headers]).toEqual([200, [['x-a', '1'], ['x-a', '2']]]);
    expect(await readAll(response)).toEqual(['one', 'two']);
  });

  it('R9: a subject that nobody serves is told at once as no-responder, not as a timeout', async () => {
    await serve(async (_rank, _got, sink) => sink.end());
    const transport = new NatsRequestTransport(router, { silentMs: 60_000 });
    expect(await codeOf(transport.send(pool, rank1, engineRequest(), never))).toBe('no-responder');
    expect(transport.open).toBe(0);
  });

  it('R9: an agent that took the request and is frozen is worker-silent', async () => {
    const taken = awaited();
    const subscription = agent.subscribe(agent.names.request(pool, rank1), () => taken.fire());
    await agent.flush();
    const outcome = codeOf(new NatsRequestTransport(router, { silentMs: 200 }).send(pool, rank1, engineRequest(), never));
    await taken.promise;
    expect(await outcome).toBe('worker-silent');
    subscription.unsubscribe();
  });

  it('a worker whose heartbeats come is not silent, however long its engine takes', async () => {
    const release = awaited();
    await serve(async (_rank, _got, sink) => {
      await release.promise;
      sink.head(200, []);
      sink.end();
    });
    let frames = 0;
    const response = new NatsRequestTransport(router, { silentMs: 400 }).send(pool, rank0, engineRequest(), never);
    // Twelve heartbeats of 50 ms: more than the deadline between frames.
    const seen = awaited();
    const count = agent.subscribe('_INBOX_router-1.>', () => ++frames === 12 && seen.fire());
    await seen.promise;
    release.fire();
    expect((await response).status).toBe(200);
    count.unsubscribe();
  });

  it('R1: cancelling reaches the agent while its engine is silent, without another frame', async () => {
    const started = awaited();
    const cancelled = awaited();
    await serve(async (_rank, _got, _sink, signal) => {
      started.fire();
      await aborted(signal);
      cancelled.fire();
    });
    const client = new AbortController();
    const transport = new NatsRequestTransport(router);
    const outcome = codeOf(transport.send(pool, rank0, engineRequest(), client.signal));
    await started.promise;
    client.abort();
    expect(await outcome).toBe('cancelled');
    await cancelled.promise;
    expect(transport.open).toBe(0);
  });

  it('R1: leaving the body early cancels at the agent', async () => {
    const cancelled = awaited();
    await serve(async (_rank, _got, sink, signal) => {
      sink.head(200, []);
      await sink.data(bytesOf('first'));
      await aborted(signal);
      cancelled.fire();
    });
    const response = await new NatsRequestTransport(router).send(pool, rank0, engineRequest(), never);
    for await (const chunk of response.body) {
      expect(textOf(chunk)).toBe('first');
      break;
    }
    await cancelled.promise;
  });

  it('a router that is gone without a word is noticed by its missing inbox', async () => {
    const started = awaited();
    const cancelled = awaited();
    await serve(async (_rank, _got, _sink, signal) => {
      started.fire();
      await aborted(signal);
      cancelled.fire();
    });
    const dying = await connectNats({ servers: nats.url, name: 'router-2' }, silentLog);
    const outcome = codeOf(new NatsRequestTransport(dying, { silentMs: 300 }).send(pool, rank0, engineRequest(), never));
    await started.promise;
    await dying.close();
    await cancelled.promise;
    expect(await outcome).toBe('worker-silent');
  });

  it('an agent may not run ahead of what was consumed, and goes on when it is', async () => {
    const chunkBytes = 64 * 1024;
    let written = 0;
    const blocked = awaited();
    await serve(async (_rank, _got, sink) => {
      sink.head(200, []);
      for (let i = 0; i < 64; i++) {
        const writing = sink.data(new Uint8Array(chunkBytes));
        if (i === 4) blocked.fire();
        await writing;
        written += chunkBytes;
      }
      sink.end();
    });
    const response = await new NatsRequestTransport(router, { windowBytes: 4 * chunkBytes }).send(pool, rank0, engineRequest(), never);
    await blocked.promise;
    await agent.flush();
    expect(written).toBe(4 * chunkBytes);
    let read = 0;
    for await (const chunk of response.body) read += chunk.length;
    expect(read).toBe(64 * chunkBytes);
  });

  it('a chunk larger than a frame arrives in order and whole', async () => {
    const chunk = Uint8Array.from({ length: 1_000_003 }, (_, i) => i % 251);
    await serve(async (_rank, _got, sink) => {
      sink.head(200, []);
      await sink.data(chunk);
      sink.end();
    });
    const response = await new NatsRequestTransport(router).send(pool, rank0, engineRequest(), never);
    const parts: Uint8Array[] = [];
    for await (const part of response.body) parts.push(part);
    expect(parts.length).toBeGreaterThan(3);
    expect(Buffer.concat(parts).equals(chunk)).toBe(true);
  });

  it('R8: a request above the limit of the server fails at once with both sizes named', async () => {
    const body = new Uint8Array(9 * 1024 * 1024);
    const error: unknown = await new NatsRequestTransport(router).send(pool, rank0, engineRequest({ body }), never).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(RouterError);
    expect(error).toMatchObject({ code: 'payload-too-large' });
    expect(String(error)).toContain('8388608');
    expect(String(error)).toMatch(/of 94\d{5} bytes/);
  });

  it('a handler that rejects becomes an error with its code, before the head and in mid-body', async () => {
    await serve(async (_rank, got, sink) => {
      if (got.path === '/late') {
        sink.head(200, []);
        await sink.data(bytesOf('some'));
      }
      throw new RouterError('engine-unreachable', 'engine http://e is not there');
    });
    const transport = new NatsRequestTransport(router);
    expect(await codeOf(transport.send(pool, rank0, engineRequest({ path: '/early' }), never))).toBe('engine-unreachable');
    const late = await transport.send(pool, rank0, engineRequest({ path: '/late' }), never);
    expect(await codeOf(readAll(late))).toBe('engine-unreachable');
  });

  it('an answer left without an end is an internal error, not a clean one', async () => {
    await serve(async (_rank, _got, sink) => sink.head(200, []));
    const response = await new NatsRequestTransport(router).send(pool, rank0, engineRequest(), never);
    expect(await codeOf(readAll(response))).toBe('internal');
  });

  it('a lost frame ends the answer with worker-failed', async () => {
    const subscription = agent.subscribe(agent.names.request(pool, rank1), (message) => {
      // Heartbeats: all is well so far, then a frame that came before this one is missing.
      for (const bytes of [Uint8Array.of(3, 0, 0, 0, 0), Uint8Array.of(3, 0, 0, 0, 1)]) agent.publish(message.reply ?? '', bytes);
    });
    await agent.flush();
    expect(await codeOf(new NatsRequestTransport(router).send(pool, rank1, engineRequest(), never))).toBe('worker-failed');
    subscription.unsubscribe();
  });

  it('an answer that is no frame is worker-failed', async () => {
    const subscription = agent.subscribe(agent.names.request(pool, rank1), (message) => agent.publish(message.reply ?? '', bytesOf('hello there')));
    await agent.flush();
    expect(await codeOf(new NatsRequestTransport(router).send(pool, rank1, engineRequest(), never))).toBe('worker-failed');
    subscription.unsubscribe();
  });

  it('the deadline of the request ends it at both ends', async () => {
    const cancelled = awaited();
    await serve(async (_rank, _got, _sink, signal) => {
      await aborted(signal);
      cancelled.fire();
    });
    expect(await codeOf(new NatsRequestTransport(router).send(pool, rank0, engineRequest({ deadlineMs: 100 }), never))).toBe('deadline-exceeded');
    await cancelled.promise;
  });

  it('what still runs when closing has to end is told as stopping, so that another worker is asked', async () => {
    const started = awaited();
    await serve(async (_rank, _got, _sink, signal) => {
      started.fire();
      await aborted(signal);
      signal.throwIfAborted();
    });
    const running = new NatsRequestTransport(router).send(pool, rank0, engineRequest(), never);
    await started.promise;
    await served?.close(AbortSignal.abort());
    served = null;
    expect(await codeOf(running)).toBe('stopping');
  });

  it('a request given up for a reason of ours is told with it', async () => {
    const started = awaited();
    await serve(async (_rank, _got, _sink, signal) => {
      started.fire();
      await aborted(signal);
    });
    const time = new AbortController();
    const running = new NatsRequestTransport(router).send(pool, rank0, engineRequest(), time.signal);
    await started.promise;
    time.abort(new RouterError('stopping', 'the router is stopping'));
    expect(await codeOf(running)).toBe('stopping');
  });

  it('closing lets a running request end and refuses new ones as no-responder', async () => {
    const started = awaited();
    const release = awaited();
    await serve(async (_rank, _got, sink) => {
      started.fire();
      await release.promise;
      sink.head(200, []);
      sink.end();
    });
    const transport = new NatsRequestTransport(router);
    const running = transport.send(pool, rank0, engineRequest(), never);
    await started.promise;
    const closing = served?.close(never);
    await agent.flush();
    expect(await codeOf(transport.send(pool, rank0, engineRequest(), never))).toBe('no-responder');
    release.fire();
    expect((await running).status).toBe(200);
    await closing;
    served = null;
  });

  it('a request that is no request of ours is refused and counted', async () => {
    await serve(async (_rank, _got, sink) => sink.end());
    const before = agent.counters.undecodable;
    const answered = awaited<number>();
    const inbox = router.newInbox();
    const subscription = router.subscribe(inbox, (message) => answered.fire(message.data[0] ?? 0));
    router.publish(router.names.request(pool, rank0), bytesOf('no msgpack'), { reply: inbox });
    expect(await answered.promise).toBe(5);
    expect(agent.counters.undecodable).toBe(before + 1);
    subscription.unsubscribe();
  });
});
