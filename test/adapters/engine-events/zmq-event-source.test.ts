import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { encode } from '@msgpack/msgpack';
import { afterEach, describe, expect, it } from 'vitest';
import { Router, XPublisher } from 'zeromq';
import { ZmqEventSource } from '../../../src/adapters/engine-events/zmq-event-source.ts';
import { parseDpRank } from '../../../src/core/identity/ids.ts';
import { EngineCursor } from '../../../src/core/kv-stream/engine-cursor.ts';
import type { EngineBatch } from '../../../src/core/kv-stream/engine-event.ts';
import type { RankEventEndpoints } from '../../../src/ports/engine.ts';
import type { Log } from '../../../src/ports/log.ts';

const quiet: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const rank = parseDpRank(0);
const never = new AbortController().signal;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const payload = (...events: readonly unknown[]): Uint8Array => encode([1.5, events, 0], { useBigInt64: true });
const clear = payload(['AllBlocksCleared']);

function seqFrame(seq: number): Buffer {
  const frame = Buffer.alloc(8);
  frame.writeBigInt64BE(BigInt(seq));
  return frame;
}

async function freeEndpoint(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `tcp://127.0.0.1:${port}`;
}

/** An engine's event socket: a PUB that also tells when somebody has subscribed. */
async function publisher(endpoint: string): Promise<XPublisher> {
  const socket = new XPublisher({ linger: 0 });
  cleanups.push(() => socket.close());
  await socket.bind(endpoint);
  return socket;
}

/** What arrives, and a way to await it. */
class Arrivals {
  readonly batches: EngineBatch[] = [];
  readonly invalid: string[] = [];
  readonly #waiting: (() => void)[] = [];

  readonly listener = {
    batch: (_: unknown, batch: EngineBatch): void => this.#took(() => this.batches.push(batch)),
    invalid: (_: unknown, reason: string): void => this.#took(() => this.invalid.push(reason)),
  };

  /** Resolves when so many messages have come, batches or not. */
  async count(messages: number): Promise<void> {
    while (this.batches.length + this.invalid.length < messages) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #took(add: () => void): void {
    add();
    this.#waiting.splice(0).forEach((resolve) => resolve());
  }
}

async function subscribed(endpoints: Partial<RankEventEndpoints> & { readonly endpoint: string }, topic = '', source = new ZmqEventSource(quiet, { connectWaitMs: 0 })): Promise<Arrivals> {
  const arrivals = new Arrivals();
  const subscription = await source.subscribe([{ rank, bind: false, replayEndpoint: null, ...endpoints }], topic, arrivals.listener);
  cleanups.push(() => subscription.close());
  return arrivals;
}

type Reply = readonly (string | Uint8Array)[];

/** A replay socket that answers each request with the replies that `answer` gives for its first number. */
async function replaySocket(answer: (from: number) => readonly Reply[]): Promise<RankEventEndpoints> {
  const socket = new Router({ linger: 0 });
  const endpoint = await freeEndpoint();
  await socket.bind(endpoint);
  const serving = (async (): Promise<void> => {
    for await (const [client, delimiter, from] of socket) {
      // As the engines' own: without the empty frame there is no answer.
      if (client === undefined || delimiter?.length !== 0 || from === undefined) continue;
      for (const reply of answer(Number(from.readBigInt64BE()))) await socket.send([client, ...reply]);
    }
  })();
  cleanups.push(async () => {
    socket.close();
    await serving;
  });
  return { rank, endpoint: 'tcp://127.0.0.1:1', bind: false, replayEndpoint: endpoint };
}

describe('ZmqEventSource', () => {
  it('delivers the batches of a socket in order', async () => {
    const endpoint = await freeEndpoint();
    const socket = await publisher(endpoint);
    const arrivals = await subscribed({ endpoint }, 'kv-events');
    await socket.receive();
    for (let seq = 0; seq < 50; seq++) await socket.send(['kv-events', seqFrame(seq), payload({ type: 'BlockRemoved', block_hashes: [seq] })]);
    await arrivals.count(50);
    expect(arrivals.batches.map(({ seq }) => seq)).toEqual(Array.from({ length: 50 }, (_, index) => index));
    expect(arrivals.batches.at(-1)?.events).toEqual([{ kind: 'removed', hashes: ['49'], tier: 'device', group: null }]);
  });

  it('counts messages that are no batch, and reads on', async () => {
    const endpoint = await freeEndpoint();
    const socket = await publisher(endpoint);
    const arrivals = await subscribed({ endpoint });
    await socket.receive();
    await socket.send(['only a topic']);
    await socket.send(['', Buffer.alloc(4), clear]);
    await socket.send(['', seqFrame(-1), clear]);
    await socket.send(['', seqFrame(1), Buffer.from('no msgpack')]);
    await arrivals.count(4);
    expect(arrivals.invalid).toEqual(['frame-count', 'sequence-length', 'sequence-range']);
    expect(arrivals.batches).toMatchObject([{ seq: 1, invalid: ['unreadable-batch'] }]);
  });

  it('a topic that only begins like ours is not ours', async () => {
    const endpoint = await freeEndpoint();
    const socket = await publisher(endpoint);
    const arrivals = await subscribed({ endpoint }, 'kv');
    await socket.receive();
    await socket.send(['kv-other', seqFrame(9), clear]);
    await socket.send(['kv', seqFrame(0), clear]);
    await arrivals.count(2);
    expect([arrivals.invalid, arrivals.batches.map(({ seq }) => seq)]).toEqual([['other-topic'], [0]]);
  });

  it('E39: where the engine connects, the agent binds', async () => {
    const endpoint = await freeEndpoint();
    const arrivals = await subscribed({ endpoint, bind: true });
    const engine = new XPublisher({ linger: 0 });
    cleanups.push(() => engine.close());
    engine.connect(endpoint);
    await engine.receive();
    await engine.send(['', seqFrame(0), clear]);
    await arrivals.count(1);
    expect(arrivals.batches[0]?.events).toEqual([{ kind: 'cleared' }]);
  });

  it('E39: a port to bind that is in use is named', async () => {
    const endpoint = await freeEndpoint();
    await publisher(endpoint);
    const source = new ZmqEventSource(quiet);
    const refused = source.subscribe([{ rank, endpoint, bind: true, replayEndpoint: null }], '', new Arrivals().listener);
    await expect(refused).rejects.toMatchObject({ code: 'port-in-use', message: expect.stringContaining(endpoint) as string });
  });

  it('an endpoint that is none is refused with its name', async () => {
    const source = new ZmqEventSource(quiet);
    const refused = source.subscribe([{ rank, endpoint: 'nowhere', bind: false, replayEndpoint: null }], '', new Arrivals().listener);
    await expect(refused).rejects.toMatchObject({ code: 'bad-config', message: expect.stringContaining('nowhere') as string });
  });

  it('E22: an engine that starts anew on its port is heard again, and its numbers tell', async () => {
    const endpoint = await freeEndpoint();
    const first = await publisher(endpoint);
    const arrivals = await subscribed({ endpoint });
    await first.receive();
    await first.send(['', seqFrame(7), clear]);
    await arrivals.count(1);
    await first.unbind(endpoint);
    first.close();
    const second = await publisher(endpoint);
    await second.receive();
    await second.send(['', seqFrame(0), clear]);
    await arrivals.count(2);
    const cursor = new EngineCursor();
    expect(arrivals.batches.map(({ seq }) => cursor.see(seq, 'live'))).toEqual([{ kind: 'first', missing: 7 }, { kind: 'restart', missing: 0 }]);
  });

  it('a listener that throws does not end the reading', async () => {
    const endpoint = await freeEndpoint();
    const socket = await publisher(endpoint);
    const arrivals = new Arrivals();
    let thrown = 0;
    const listener = {
      ...arrivals.listener,
      batch: (from: unknown, batch: EngineBatch): void => {
        if (thrown++ === 0) throw new Error('once');
        arrivals.listener.batch(from, batch);
      },
    };
    const subscription = await new ZmqEventSource(quiet).subscribe([{ rank, endpoint, bind: false, replayEndpoint: null }], '', listener);
    cleanups.push(() => subscription.close());
    await socket.receive();
    await socket.send(['', seqFrame(0), clear]);
    await socket.send(['', seqFrame(1), clear]);
    await arrivals.count(1);
    expect(arrivals.batches.map(({ seq }) => seq)).toEqual([1]);
  });

  it('closes while it waits for an engine that is not there', async () => {
    const source = new ZmqEventSource(quiet, { connectWaitMs: 0 });
    const subscription = await source.subscribe([{ rank, endpoint: await freeEndpoint(), bind: false, replayEndpoint: null }], '', new Arrivals().listener);
    await expect(subscription.close()).resolves.toBeUndefined();
  });

  const history = [0, 1, 2, 3];
  it.each<[string, (from: number) => readonly Reply[]]>([
    ['without a topic', (from) => [...history.filter((seq) => seq >= from).map((seq): Reply => ['', seqFrame(seq), clear]), ['', seqFrame(-1), '']]],
    ['with one', (from) => [...history.filter((seq) => seq >= from).map((seq): Reply => ['', 'kv-events', seqFrame(seq), clear]), ['', '', seqFrame(-1), '']]],
  ])('E23: a replay whose replies come %s is read up to its end', async (_, answer) => {
    const endpoints = await replaySocket(answer);
    const source = new ZmqEventSource(quiet);
    const batches = await source.replay(endpoints, 1, never);
    expect(batches?.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(await source.replay(endpoints, 9, never)).toEqual([]);
  });

  it('E40: a replay socket that never answers gives no history, in time', async () => {
    const source = new ZmqEventSource(quiet, { replaySilenceMs: 50 });
    expect(await source.replay(await replaySocket(() => []), 0, never)).toBeNull();
  });

  it('E40: nothing listens there, or there is no such socket', async () => {
    const source = new ZmqEventSource(quiet, { replaySilenceMs: 50 });
    const endpoints = { rank, endpoint: 'tcp://127.0.0.1:1', bind: false };
    expect(await source.replay({ ...endpoints, replayEndpoint: await freeEndpoint() }, 0, never)).toBeNull();
    expect(await source.replay({ ...endpoints, replayEndpoint: null }, 0, never)).toBeNull();
  });

  it('a history without its end marker is no history', async () => {
    const source = new ZmqEventSource(quiet, { replaySilenceMs: 50 });
    expect(await source.replay(await replaySocket(() => [['', seqFrame(0), clear]]), 0, never)).toBeNull();
  });

  it('an aborted replay ends at once', async () => {
    const source = new ZmqEventSource(quiet, { replaySilenceMs: 60_000 });
    const stop = new AbortController();
    const asked = source.replay(await replaySocket(() => []), 0, stop.signal);
    stop.abort();
    expect(await asked).toBeNull();
  });
});
