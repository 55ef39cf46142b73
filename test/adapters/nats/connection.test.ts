import { connect } from 'nats';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectNats, type NatsHandle } from '../../../src/adapters/nats/connection.ts';
import { loadFollower, loadPublisher } from '../../../src/adapters/nats/load-bus.ts';
import { NatsRequestServer } from '../../../src/adapters/nats/request-server.ts';
import { NatsRequestTransport } from '../../../src/adapters/nats/request-transport.ts';
import { routerPorts } from '../../../src/adapters/nats/router-ports.ts';
import { encodeRequest } from '../../../src/adapters/nats/wire/engine-request.ts';
import { encodeFlow } from '../../../src/adapters/nats/wire/flow.ts';
import { decodeFrame } from '../../../src/adapters/nats/wire/frame.ts';
import { freePort } from '../../../src/adapters/system/free-port.ts';
import type { NatsServerProcess } from '../../../src/adapters/system/nats-server.ts';
import type { LoadSnapshot } from '../../../src/core/load/load-snapshot.ts';
import { RouterError } from '../../../src/core/router-error.ts';
import { load, placed } from '../../support/nats-fixtures.ts';
import { saying } from '../../support/saying.ts';
import { awaited, bytesOf, codeOf, Collected, engineRequest, never, pool, rank0, textOf, withCode, worker } from '../../support/nats-requests.ts';
import { startTestNats } from '../../support/nats-server.ts';
import { silentLog } from '../../support/silent-log.ts';

const once = (listen: (listener: () => void) => () => void): Promise<void> => new Promise((resolve) => void listen(resolve));

describe('the connection to NATS', () => {
  let nats: NatsServerProcess;
  let handle: NatsHandle;

  beforeEach(async () => {
    nats = await startTestNats();
    handle = await connectNats({ servers: nats.url, name: 'router-1' }, silentLog);
  });

  afterEach(async () => {
    await handle.close();
    await nats.stop();
  });

  it('N7: a server that is not there is bus-unavailable, with its address and what to do, and no password', async () => {
    const port = await freePort();
    const error: unknown = await connectNats({ servers: `nats://me:secret@127.0.0.1:${port}`, name: 'x' }, silentLog).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(RouterError);
    expect(error).toMatchObject({ code: 'bus-unavailable' });
    expect(String(error)).toContain(`127.0.0.1:${port}`);
    expect(String(error)).toContain('--nats');
    expect(String(error)).not.toContain('secret');
  });

  it('an address that is none is bad-config', async () => {
    expect(await codeOf(connectNats({ servers: 'nats://', name: 'x' }, silentLog))).toBe('bad-config');
  });

  it('provisioning twice, and by two at once, leaves the streams as they were', async () => {
    const before = await handle.manager.streams.info('KIN_KV');
    const others = await Promise.all([1, 2].map((n) => connectNats({ servers: nats.url, name: `r${n}` }, silentLog)));
    expect((await handle.manager.streams.info('KIN_KV')).created).toBe(before.created);
    const names: string[] = [];
    for await (const stream of handle.manager.streams.list()) names.push(stream.config.name);
    expect(names.toSorted()).toEqual(['KIN_KV', 'KIN_LOAD', 'KIN_PLACEMENT', 'KV_KIN_CONFIG', 'KV_KIN_SESSIONS', 'KV_KIN_WORKERS']);
    for (const other of others) await other.close();
  });

  it('every stream is bounded by bytes, and all but the configuration by age', async () => {
    for await (const { config } of handle.manager.streams.list()) {
      expect(config.max_bytes, config.name).toBeGreaterThan(0);
      if (config.name !== 'KV_KIN_CONFIG') expect(config.max_age, config.name).toBeGreaterThan(0);
    }
  });

  it('a stream of that name with another shape is refused and named', async () => {
    await handle.manager.streams.delete('KIN_LOAD');
    const plain = await connect({ servers: nats.url });
    await (await plain.jetstreamManager()).streams.add({ name: 'KIN_LOAD', subjects: ['elsewhere.>'] });
    await plain.close();
    await expect(connectNats({ servers: nats.url, name: 'x' }, silentLog)).rejects.toMatchObject({ code: 'bad-config', message: saying('KIN_LOAD') });
  });

  it('another prefix has its own streams on the same server', async () => {
    const other = await connectNats({ servers: nats.url, name: 'x', prefix: 'team.v1' }, silentLog);
    expect((await other.manager.streams.info('TEAM_KV')).config.subjects).toEqual(['team.v1.kv.>']);
    await other.close();
  });

  it('the buckets can be read by the client library of NATS itself', async () => {
    const bucket = await handle.jetstream.views.kv('KIN_CONFIG', { bindOnly: true });
    await bucket.put('other', 'x');
    expect((await bucket.get('other'))?.string()).toBe('x');
  });

  it('a callback that throws is counted, and the connection goes on', async () => {
    const seen = new Collected<string>();
    handle.subscribe('some.subject', (message) => {
      seen.add(message.string());
      throw new Error('a bug');
    });
    handle.publish('some.subject', bytesOf('a'));
    handle.publish('some.subject', bytesOf('b'));
    expect(await seen.until((all) => all.length === 2)).toEqual(['a', 'b']);
    await handle.flush();
    expect(handle.counters.callbackFailures).toBe(2);
  });

  it('publishing while the server is away is refused, not kept and thrown away later', async () => {
    const lost = once((listener) => handle.onDisconnected(listener));
    await nats.kill();
    await lost;
    expect(handle.connected).toBe(false);
    expect(() => handle.publish('x', bytesOf('a'))).toThrow(withCode('bus-unavailable'));
    const back = once((listener) => handle.onConnected(listener));
    await nats.restart();
    await back;
    handle.publish('x', bytesOf('a'));
  });

  it('the memory stream that a restart loses is made again, and its followers go on', async () => {
    const seen = new Collected<LoadSnapshot>();
    const following = await loadFollower(handle).follow(pool, seen.add);
    loadPublisher(handle).publish(pool, load({ heldBlocks: 1 }));
    await seen.until((all) => all.length === 1);
    const back = once((listener) => handle.onConnected(listener));
    await nats.kill();
    await nats.restart();
    await back;
    await handle.provision();
    loadPublisher(handle).publish(pool, load({ heldBlocks: 2 }));
    await seen.until((all) => all.at(-1)?.heldBlocks === 2);
    expect(handle.counters.streamsRecreated).toBe(1);
    await following.close();
  });

  it('placement events on their way when the server is killed are told all the same, once and in order', async () => {
    const seen = new Collected<string>();
    const told = routerPorts(handle).placements;
    const following = await told.follow({ pool: null, after: null }, (event) => seen.add('requestId' in event ? event.requestId : ''));
    const names = Array.from({ length: 50 }, (_, index) => `q${index}`);
    told.publish(placed({ requestId: 'first' }));
    await seen.until((all) => all.length === 1);
    for (const requestId of names) told.publish(placed({ requestId }));
    await nats.kill();
    await nats.restart();
    expect(await seen.until((all) => all.length === 51)).toEqual(['first', ...names]);
    await following.close();
  });

  it('a request that is silent while the server is restarted still gets its answer', async () => {
    const agent = await connectNats({ servers: nats.url, name: 'w1' }, silentLog);
    const started = awaited();
    const release = awaited();
    const served = await new NatsRequestServer(agent).serve(pool, worker, [rank0.rank], async (_rank, _request, sink) => {
      started.fire();
      await release.promise;
      sink.head(200, []);
      await sink.data(bytesOf('late'));
      sink.end();
    });
    const sending = new NatsRequestTransport(handle).send(pool, rank0, engineRequest(), never);
    await started.promise;
    const bothBack = Promise.all([once((listener) => handle.onConnected(listener)), once((listener) => agent.onConnected(listener))]);
    await nats.kill();
    await nats.restart();
    await bothBack;
    release.fire();
    const chunks: string[] = [];
    for await (const chunk of (await sending).body) chunks.push(textOf(chunk));
    expect(chunks).toEqual(['late']);
    await served.close(never);
    await agent.close();
  });

  it('an answer that ends while the server is away is delivered when it is back', async () => {
    const agent = await connectNats({ servers: nats.url, name: 'w1' }, silentLog);
    const started = awaited();
    const release = awaited();
    const served = await new NatsRequestServer(agent).serve(pool, worker, [rank0.rank], async (_rank, _request, sink) => {
      started.fire();
      await release.promise;
      sink.head(204, []);
      sink.end();
    });
    const sending = new NatsRequestTransport(handle).send(pool, rank0, engineRequest(), never);
    await started.promise;
    const lost = Promise.all([once((listener) => handle.onDisconnected(listener)), once((listener) => agent.onDisconnected(listener))]);
    await nats.kill();
    await lost;
    release.fire();
    await nats.restart();
    expect((await sending).status).toBe(204);
    await served.close(AbortSignal.abort());
    await agent.close();
  });

  it('after its reconnection an agent holds an answer back until the router was heard', async () => {
    const agent = await connectNats({ servers: nats.url, name: 'w1' }, silentLog);
    const started = awaited();
    const release = awaited();
    const written = awaited();
    const served = await new NatsRequestServer(agent, { heartbeatMs: 80 }).serve(pool, worker, [rank0.rank], async (_rank, _request, sink) => {
      started.fire();
      await release.promise;
      sink.head(204, []);
      sink.end();
      written.fire();
    });
    const kinds = new Collected<string>();
    const inbox = handle.newInbox();
    const subscription = handle.subscribe(inbox, (message) => kinds.add(decodeFrame(message.data).kind));
    handle.publish(handle.names.request(pool, rank0), encodeRequest({ request: engineRequest(), token: 'tok', windowBytes: 1_000 }), { reply: inbox });
    await started.promise;
    const bothBack = Promise.all([once((listener) => handle.onConnected(listener)), once((listener) => agent.onConnected(listener))]);
    await nats.kill();
    await nats.restart();
    await bothBack;
    release.fire();
    await written.promise;
    kinds.values.length = 0;
    await kinds.until((all) => all.length === 3);
    expect(kinds.values).toEqual(['probe', 'probe', 'probe']);
    handle.publish(handle.names.flow(pool, worker, 'tok'), encodeFlow({ kind: 'consumed', totalBytes: 0 }));
    const all = await kinds.until((values) => values.includes('end'));
    expect(all.filter((kind) => kind !== 'probe')).toEqual(['head', 'end']);
    subscription.unsubscribe();
    await served.close(never);
    await agent.close();
  });

  it('closing while the server is away returns', async () => {
    const other = await connectNats({ servers: nats.url, name: 'x' }, silentLog);
    await nats.kill();
    await other.close();
    expect(other.connected).toBe(false);
    await nats.restart();
  });
});
