import { connect } from 'nats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentPorts } from '../../../src/adapters/nats/agent-ports.ts';
import { connectNats, type NatsHandle } from '../../../src/adapters/nats/connection.ts';
import { controlClient } from '../../../src/adapters/nats/control-client.ts';
import { routerPorts } from '../../../src/adapters/nats/router-ports.ts';
import type { NatsServerProcess } from '../../../src/adapters/system/nats-server.ts';
import { epoch, parsePoolId, parseWorkerId } from '../../../src/core/identity/ids.ts';
import type { SequenceHashes } from '../../../src/core/identity/sequence-hash.ts';
import type { KvSnapshot } from '../../../src/core/kv-stream/kv-event.ts';
import type { LoadSnapshot } from '../../../src/core/load/load-snapshot.ts';
import type { LivePolicy } from '../../../src/core/placement/placement.ts';
import type { PlacementEvent } from '../../../src/core/placement/placement-event.ts';
import { RouterError } from '../../../src/core/router-error.ts';
import type { ControlHandler } from '../../../src/ports/kv-bus.ts';
import { load, placed } from '../../support/nats-fixtures.ts';
import { bytesOf, codeOf, Collected, never, pool, rank0, rank1, textOf, worker } from '../../support/nats-requests.ts';
import { startTestNats } from '../../support/nats-server.ts';
import { silentLog } from '../../support/silent-log.ts';

describe('the bus', () => {
  let nats: NatsServerProcess;
  let router: NatsHandle;
  let agent: NatsHandle;

  beforeAll(async () => {
    nats = await startTestNats();
    router = await connectNats({ servers: nats.url, name: 'router-1' }, silentLog);
    agent = await connectNats({ servers: nats.url, name: 'w1' }, silentLog);
  });

  afterAll(async () => {
    await router.close();
    await agent.close();
    await nats.stop();
  });

  describe('load', () => {
    it('tells the last report of each rank first, then every new one', async () => {
      const { loads } = agentPorts(agent);
      loads.publish(pool, load({ heldBlocks: 1 }));
      loads.publish(pool, load({ heldBlocks: 2 }));
      loads.publish(pool, load({ id: rank1, heldBlocks: 3 }));
      await agent.flush();
      const seen = new Collected<LoadSnapshot>();
      const following = await routerPorts(router).loads.follow(pool, seen.add);
      expect(seen.values).toEqual([load({ heldBlocks: 2 }), load({ id: rank1, heldBlocks: 3 })]);
      loads.publish(pool, load({ heldBlocks: 4 }));
      await seen.until((all) => all.length === 3);
      await following.close();
    });
  });

  describe('live policy', () => {
    it('is null until it was set, then what was set last, and changes are told to all', async () => {
      const { config } = routerPorts(router);
      const other = routerPorts(agent).config;
      expect(await config.get()).toBeNull();
      const seen = new Collected<LivePolicy>();
      const following = await other.follow(seen.add);
      await config.put({ mode: 'event', parentAffinity: 'off' });
      await config.put({ mode: 'affinity', parentAffinity: 'siblings' });
      await seen.until((all) => all.length === 2);
      expect(await other.get()).toEqual({ mode: 'affinity', parentAffinity: 'siblings' });
      await following.close();
      const late = new Collected<LivePolicy>();
      await (await other.follow(late.add)).close();
      expect(late.values).toEqual([{ mode: 'affinity', parentAffinity: 'siblings' }]);
    });
  });

  describe('placement events', () => {
    it('reach followers of their pool in order, with a sequence to resume behind', async () => {
      const { placements } = routerPorts(router);
      const seen = new Collected<{ event: PlacementEvent; sequence: number }>();
      const following = await routerPorts(agent).placements.follow({ pool: 'llama', after: null }, (event, sequence) => seen.add({ event, sequence }));
      placements.publish(placed());
      placements.publish(placed({ pool: 'other' }));
      placements.publish({ v: 1, event: 'mode_changed', at: 'x', router: 'r1', pool: 'llama', mode: 'event', parentAffinity: 'off' });
      const [first, second] = await seen.until((all) => all.length === 2);
      expect(first?.event).toEqual(placed());
      expect(second?.event.event).toBe('mode_changed');
      await following.close();
      const resumed = new Collected<string>();
      const again = await routerPorts(agent).placements.follow({ pool: null, after: first?.sequence ?? 0 }, (event) => resumed.add(event.pool));
      expect(await resumed.until((all) => all.length === 2)).toEqual(['other', 'llama']);
      await again.close();
    });

    it('any plain client sees one readable JSON record for each, on a subject that names pool, worker and event', async () => {
      const plain = await connect({ servers: nats.url });
      const records = new Collected<{ subject: string; record: unknown }>();
      plain.subscribe('kin.v1.placement.>', { callback: (_error, message) => records.add({ subject: message.subject, record: message.json() }) });
      await plain.flush();
      routerPorts(router).placements.publish(placed({ pool: 'meta/llama 3.1' }));
      const [only] = await records.until((all) => all.length === 1);
      expect(only).toEqual({ subject: 'kin.v1.placement.meta_llama_3_1.w1.placed', record: placed({ pool: 'meta/llama 3.1' }) });
      await plain.close();
    });
  });

  describe('control', () => {
    const handler = (change: Partial<ControlHandler> = {}): ControlHandler => ({ snapshot: () => null, tokenize: async (body) => body, drain: () => undefined, ...change });

    it('a snapshot larger than the largest message arrives whole', async () => {
      const hashes = Int32Array.from({ length: 3_000_000 }, (_, i) => i) as SequenceHashes;
      const snapshot: KvSnapshot = { id: rank0, epoch: epoch('e1'), seq: -1, partial: true, runs: [{ kind: 'stored', parent: null, hashes, tier: 'device' }] };
      expect(hashes.byteLength).toBeGreaterThan(router.maxPayload);
      const serving = await agentPorts(agent).control.serve(pool, worker, handler({ snapshot: (rank) => (rank === rank0.rank ? snapshot : null) }));
      const { snapshots } = routerPorts(router);
      const { runs, ...rest } = await snapshots.fetch(pool, rank0, never);
      expect(rest).toEqual({ id: rank0, epoch: 'e1', seq: -1, partial: true });
      expect(runs.map(({ hashes: got, ...run }) => ({ ...run, whole: Buffer.from(got.buffer).equals(Buffer.from(hashes.buffer)) }))).toEqual([{ kind: 'stored', parent: null, tier: 'device', whole: true }]);
      expect(await codeOf(snapshots.fetch(pool, rank1, never))).toBe('not-found');
      await serving.close();
    });

    it('tokenizing and draining reach the agent, and its failures come back with their code', async () => {
      const drained = new Collected<boolean>();
      const tokenize = async (body: Uint8Array): Promise<Uint8Array> => {
        if (textOf(body) === 'bad') throw new RouterError('engine-unreachable', 'no engine');
        return bytesOf(`${textOf(body)}!`);
      };
      const serving = await agentPorts(agent).control.serve(pool, worker, handler({ tokenize, drain: drained.add }));
      const { control } = routerPorts(router);
      expect(textOf(await control.tokenize(pool, worker, bytesOf('hello'), never))).toBe('hello!');
      expect(await codeOf(control.tokenize(pool, worker, bytesOf('bad'), never))).toBe('engine-unreachable');
      await control.drain(pool, worker, true, never);
      expect(drained.values).toEqual([true]);
      await serving.close();
    });

    it('nobody there, a frozen agent and giving up are three answers', async () => {
      const { control } = routerPorts(router);
      const nobody = parseWorkerId('nobody');
      expect(await codeOf(control.drain(pool, nobody, true, never))).toBe('no-responder');
      const frozen = agent.subscribe(agent.names.control(pool, nobody), () => undefined);
      await agent.flush();
      expect(await codeOf(controlClient(router, { silentMs: 100 }).drain(pool, nobody, true, never))).toBe('worker-silent');
      const giveUp = new AbortController();
      const outcome = codeOf(control.drain(pool, nobody, true, giveUp.signal));
      giveUp.abort();
      expect(await outcome).toBe('cancelled');
      frozen.unsubscribe();
    });

    it('a question that is none of ours is refused, and the next is answered', async () => {
      const serving = await agentPorts(agent).control.serve(pool, worker, handler());
      const answers = new Collected<number>();
      const inbox = router.newInbox();
      const subscription = router.subscribe(inbox, (message) => answers.add(message.data[0] ?? 0));
      router.publish(router.names.control(pool, worker), bytesOf('rubbish'), { reply: inbox });
      expect(await answers.until((all) => all.length === 1)).toEqual([5]);
      await routerPorts(router).control.drain(pool, worker, false, never);
      subscription.unsubscribe();
      await serving.close();
    });
  });

  it('pools do not hear each other', async () => {
    const seen = new Collected<LoadSnapshot>();
    const following = await routerPorts(router).loads.follow(parsePoolId('quiet'), seen.add);
    const { loads } = agentPorts(agent);
    loads.publish(pool, load());
    loads.publish(parsePoolId('quiet'), load({ heldBlocks: 99 }));
    expect((await seen.until((all) => all.length === 1))[0]?.heldBlocks).toBe(99);
    await following.close();
  });
});
