import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectNats, type NatsHandle } from '../../../src/adapters/nats/connection.ts';
import { workerDirectory } from '../../../src/adapters/nats/worker-directory.ts';
import { workerRegistry } from '../../../src/adapters/nats/worker-registry.ts';
import type { NatsServerProcess } from '../../../src/adapters/system/nats-server.ts';
import { epoch, parseWorkerId } from '../../../src/core/identity/ids.ts';
import type { Closable } from '../../../src/ports/kv-bus.ts';
import type { WorkerRegistration } from '../../../src/core/identity/registration.ts';
import { registration } from '../../support/nats-fixtures.ts';
import { codeOf, Collected } from '../../support/nats-requests.ts';
import { startTestNats } from '../../support/nats-server.ts';
import { silentLog } from '../../support/silent-log.ts';

type Told = { readonly kind: 'registered'; readonly registration: WorkerRegistration } | { readonly kind: 'gone'; readonly worker: string };

const workerTtlMs = 1_500;

/** Resolves when a worker that dies now, at another server, would be gone: our measure of time without a clock. */
async function aRegistrationExpired(url: string): Promise<void> {
  const watching = await connectNats({ servers: url, name: 'watching', workerTtlMs }, silentLog);
  const dying = await connectNats({ servers: url, name: 'dying' }, silentLog);
  const gone = new Collected<string>();
  const following = await workerDirectory(watching).follow({ registered: () => undefined, gone: (_pool, worker) => gone.add(worker) });
  const dead = await workerRegistry(dying).register(registration());
  await dying.close();
  await gone.until((all) => all.length === 1);
  await dead.close();
  await following.close();
  await watching.close();
}

describe('worker registrations', () => {
  let nats: NatsServerProcess;
  let router: NatsHandle;
  let agent: NatsHandle;
  const open: Closable[] = [];

  beforeEach(async () => {
    nats = await startTestNats();
    router = await connectNats({ servers: nats.url, name: 'router-1', workerTtlMs }, silentLog);
    agent = await connectNats({ servers: nats.url, name: 'w1', workerTtlMs }, silentLog);
  });

  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
    await router.close();
    await agent.close();
    await nats.stop();
  });

  async function follow(): Promise<Collected<Told>> {
    const told = new Collected<Told>();
    const following = await workerDirectory(router).follow({
      registered: (each) => told.add({ kind: 'registered', registration: each }),
      gone: (_pool, gone) => told.add({ kind: 'gone', worker: gone }),
    });
    open.push(following);
    return told;
  }

  it('what was registered before is told before `follow` resolves', async () => {
    open.push(await workerRegistry(agent).register(registration()));
    const told = await follow();
    expect(told.values).toEqual([{ kind: 'registered', registration: registration() }]);
  });

  it('following an empty bucket resolves, and a worker that comes is told', async () => {
    const told = await follow();
    open.push(await workerRegistry(agent).register(registration()));
    expect((await told.until((all) => all.length === 1))[0]).toEqual({ kind: 'registered', registration: registration() });
  });

  it('a change is told, a renewal is not', async () => {
    const told = await follow();
    const kept = await workerRegistry(agent).register(registration());
    open.push(kept);
    await kept.update(registration());
    await kept.update(registration({ draining: true }));
    const all = await told.until((values) => values.length === 2);
    expect(all[1]).toEqual({ kind: 'registered', registration: registration({ draining: true }) });
  });

  it('closing says goodbye at once', async () => {
    const told = await follow();
    const kept = await workerRegistry(agent).register(registration());
    await kept.close();
    const all = await told.until((values) => values.length === 2);
    expect(all[1]).toEqual({ kind: 'gone', worker: 'w1' });
  });

  it('a worker that dies without a word is gone when its time is over, one that renews is not', async () => {
    const told = await follow();
    const dying = await connectNats({ servers: nats.url, name: 'w2' }, silentLog);
    const dead = await workerRegistry(dying).register(registration({ worker: parseWorkerId('w2') }));
    open.push(await workerRegistry(agent).register(registration()));
    await dying.close();
    const all = await told.until((values) => values.some((each) => each.kind === 'gone'));
    expect(all.filter((each) => each.kind === 'gone')).toEqual([{ kind: 'gone', worker: 'w2' }]);
    await dead.close();
  });

  it('a second living agent of the same name is refused, and the first keeps it', async () => {
    open.push(await workerRegistry(agent).register(registration()));
    const second = await connectNats({ servers: nats.url, name: 'w1' }, silentLog);
    expect(await codeOf(workerRegistry(second).register(registration({ life: epoch('life-2') })))).toBe('bad-config');
    await second.close();
    const told = await follow();
    expect(told.values).toEqual([{ kind: 'registered', registration: registration() }]);
  });

  it('two agents that take one name at the same moment: one of them has it', async () => {
    const second = await connectNats({ servers: nats.url, name: 'w1' }, silentLog);
    const outcomes = await Promise.allSettled([workerRegistry(agent).register(registration()), workerRegistry(second).register(registration({ life: epoch('life-2') }))]);
    const kept = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(kept.length).toBeLessThanOrEqual(1);
    for (const each of kept) await each.close();
    await second.close();
  });

  it('a restarted agent takes its name back at once, before the old entry has expired', async () => {
    const told = await follow();
    const dying = await connectNats({ servers: nats.url, name: 'w1' }, silentLog);
    const dead = await workerRegistry(dying).register(registration());
    await dying.close();
    open.push(await workerRegistry(agent).register(registration({ life: epoch('life-2') })));
    const all = await told.until((values) => values.length === 2);
    expect(all.map((each) => (each.kind === 'registered' ? each.registration.life : each.kind))).toEqual(['life-1', 'life-2']);
    await dead.close();
  });

  it('registrations outlive a restart of the server that takes longer than they live', async () => {
    const elsewhere = await startTestNats();
    const told = await follow();
    open.push(await workerRegistry(agent).register(registration()));
    await told.until((all) => all.length === 1);
    await nats.kill();
    await aRegistrationExpired(elsewhere.url);
    const back = new Promise<void>((resolve) => void agent.onConnected(resolve));
    await nats.restart();
    await back;
    open.push(await workerRegistry(agent).register(registration({ worker: parseWorkerId('w2') })));
    const all = await told.until((values) => values.length >= 2);
    expect(all.map((each) => each.kind)).toEqual(['registered', 'registered']);
    await elsewhere.stop();
  });

  it('an entry that is no registration is counted and told to nobody', async () => {
    const told = await follow();
    router.publish('$KV.KIN_WORKERS.llama.w9', new TextEncoder().encode('{"v":2}'));
    open.push(await workerRegistry(agent).register(registration()));
    await told.until((all) => all.length === 1);
    expect(router.counters.undecodable).toBe(1);
  });
});
