import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectNats, type NatsHandle } from '../../../src/adapters/nats/connection.ts';
import { kvFollower } from '../../../src/adapters/nats/kv-follower.ts';
import { NatsKvPublisher } from '../../../src/adapters/nats/kv-publisher.ts';
import type { NatsServerProcess } from '../../../src/adapters/system/nats-server.ts';
import { epoch, parsePoolId, type RankId } from '../../../src/core/identity/ids.ts';
import { hashesFromHex, hashHex } from '../../../src/core/identity/sequence-hash.ts';
import type { KvBatch } from '../../../src/core/kv-stream/kv-event.ts';
import { Collected, pool, rank0, rank1 } from '../../support/nats-requests.ts';
import { startTestNats } from '../../support/nats-server.ts';
import { silentLog } from '../../support/silent-log.ts';

const batch = (seq: number): KvBatch => ({
  epoch: epoch('e1'),
  seq,
  events: [{ kind: 'stored', parent: null, hashes: hashesFromHex('00000000000000ff', 'ffffffff80000000'), tier: 'device' }],
});

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('KV batches over the stream', () => {
  let nats: NatsServerProcess;
  let router: NatsHandle;
  let agent: NatsHandle;

  beforeEach(async () => {
    nats = await startTestNats();
    router = await connectNats({ servers: nats.url, name: 'router-1' }, silentLog);
    agent = await connectNats({ servers: nats.url, name: 'w1' }, silentLog);
  });

  afterEach(async () => {
    await router.close();
    await agent.close();
    await nats.stop();
  });

  const followed = async (): Promise<{ seen: Collected<{ id: RankId; batch: KvBatch }>; close: () => Promise<void> }> => {
    const seen = new Collected<{ id: RankId; batch: KvBatch }>();
    const following = await kvFollower(router).follow(pool, (id, each) => seen.add({ id, batch: each }));
    return { seen, close: () => following.close() };
  };

  it('a batch arrives as it was published, with its rank', async () => {
    const { seen, close } = await followed();
    const publisher = new NatsKvPublisher(agent);
    publisher.publish(pool, rank1, batch(0));
    const [first] = await seen.until((all) => all.length === 1);
    expect(first?.id).toEqual(rank1);
    expect(first?.batch).toEqual(batch(0));
    const [event] = first?.batch.events ?? [];
    expect(event?.kind === 'stored' ? hashHex(event.hashes, 1) : null).toBe('ffffffff80000000');
    await publisher.close();
    await close();
  });

  it('every batch after `follow` resolved is delivered, none from before, and none of another pool', async () => {
    const publisher = new NatsKvPublisher(agent);
    publisher.publish(pool, rank0, batch(0));
    await publisher.close();
    const { seen, close } = await followed();
    const next = new NatsKvPublisher(agent);
    next.publish(parsePoolId('other'), rank0, batch(7));
    for (const seq of [1, 2, 3]) next.publish(pool, rank0, batch(seq));
    const all = await seen.until((values) => values.length === 3);
    expect(all.map((each) => each.batch.seq)).toEqual([1, 2, 3]);
    await next.close();
    expect(next.pending).toBe(0);
    await close();
  });

  it('N1: over a SIGKILL of the server and its restart nothing is lost, doubled or out of order', async () => {
    const { seen, close } = await followed();
    const publisher = new NatsKvPublisher(agent, { noProgressMs: 500 });
    const total = 3_000;
    let published = 0;
    const publishTo = (count: number): void => {
      while (published < count) publisher.publish(pool, rank0, batch(published++));
    };
    publishTo(1_000);
    await seen.until((all) => all.length > 300);
    const killed = nats.kill();
    publishTo(2_000);
    await killed;
    await nats.restart();
    publishTo(total);
    const all = await seen.until((values) => (values.at(-1)?.batch.seq ?? 0) === total - 1);
    expect(all.map((each) => each.batch.seq)).toEqual(upTo(total));
    expect(agent.counters.disconnects).toBe(1);
    await publisher.close();
    await close();
  });

  it('a batch published right after the start of following, before any, survives a restart', async () => {
    const { seen, close } = await followed();
    await nats.kill();
    const publisher = new NatsKvPublisher(agent, { noProgressMs: 500 });
    publisher.publish(pool, rank0, batch(0));
    await nats.restart();
    await seen.until((all) => all.length === 1);
    await publisher.close();
    await close();
  });

  it('a stream that was deleted and recreated is read from its start', async () => {
    const { seen, close } = await followed();
    const publisher = new NatsKvPublisher(agent, { noProgressMs: 300 });
    for (const seq of [0, 1, 2]) publisher.publish(pool, rank0, batch(seq));
    await seen.until((all) => all.length === 3);
    await agent.manager.streams.delete(agent.names.streams.kv);
    await agent.provision();
    for (const seq of [3, 4]) publisher.publish(pool, rank0, batch(seq));
    const all = await seen.until((values) => values.length === 5);
    expect(all.map((each) => each.batch.seq)).toEqual(upTo(5));
    expect(router.counters.streamsRecreated).toBe(1);
    await publisher.close();
    await close();
  });

  it('N2: a consumer that somebody deleted is noticed and replaced', async () => {
    const { seen, close } = await followed();
    const [consumer] = await agent.manager.consumers.list(agent.names.streams.kv).next();
    await agent.manager.consumers.delete(agent.names.streams.kv, consumer?.name ?? '');
    const publisher = new NatsKvPublisher(agent);
    publisher.publish(pool, rank0, batch(0));
    await seen.until((all) => all.length === 1);
    expect(router.counters.tailsRestarted).toBe(1);
    await publisher.close();
    await close();
  });

  it('closing leaves no consumer behind', async () => {
    const { close } = await followed();
    await close();
    expect(await agent.manager.consumers.list(agent.names.streams.kv).next()).toEqual([]);
  });

  it('what is no batch is counted and ends nothing', async () => {
    const { seen, close } = await followed();
    agent.publish(agent.names.kv(pool, rank0), new TextEncoder().encode('rubbish'));
    const publisher = new NatsKvPublisher(agent);
    publisher.publish(pool, rank0, batch(0));
    await seen.until((all) => all.length === 1);
    expect(router.counters.undecodable).toBe(1);
    await publisher.close();
    await close();
  });

  it('a listener that throws is counted, and the next batch still comes', async () => {
    const seen = new Collected<number>();
    const following = await kvFollower(router).follow(pool, (_id, { seq }) => {
      seen.add(seq);
      if (seq === 0) throw new Error('a bug in the listener');
    });
    const publisher = new NatsKvPublisher(agent);
    for (const seq of [0, 1]) publisher.publish(pool, rank0, batch(seq));
    await seen.until((all) => all.length === 2);
    expect(router.counters.callbackFailures).toBe(1);
    await publisher.close();
    await following.close();
  });

  it('a full buffer drops the oldest, which shows as a gap and is counted', async () => {
    const { seen, close } = await followed();
    const publisher = new NatsKvPublisher(agent, { maxItems: 10, noProgressMs: 300 });
    publisher.publish(pool, rank0, batch(0));
    await seen.until((all) => all.length === 1);
    await nats.kill();
    for (let seq = 1; seq <= 30; seq++) publisher.publish(pool, rank0, batch(seq));
    expect(publisher.pending).toBe(10);
    await nats.restart();
    const all = await seen.until((values) => values.at(-1)?.batch.seq === 30);
    expect(all.map((each) => each.batch.seq)).toEqual([0, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
    expect(agent.counters.kvBatchesDropped).toBeGreaterThanOrEqual(20);
    await publisher.close();
    await close();
  });
});
