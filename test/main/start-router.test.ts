import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { NatsServerProcess } from '../../src/adapters/system/nats-server.ts';
import { startRouter } from '../../src/main/start-router.ts';
import { startTestNats } from '../support/nats-server.ts';
import { silentLog } from '../support/silent-log.ts';
import { saying } from '../support/saying.ts';

let nats: NatsServerProcess;
beforeAll(async () => {
  nats = await startTestNats();
});
afterAll(() => nats.stop());

it('a router without workers is alive, not ready, and says what to start', async () => {
  const router = await startRouter({ nats: { servers: nats.url }, mode: 'event' }, silentLog);
  try {
    const ready = await fetch(`${router.url}/health/ready`);
    expect([ready.status, await ready.json()]).toMatchObject([503, { ready: false, why: 'no worker is registered' }]);
    const refused = await fetch(`${router.url}/generate`, { method: 'POST', body: '{"input_ids":[1]}' });
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: 'no-worker', message: saying('kinroute worker') } }]);
  } finally {
    await router.close();
  }
});

it('a port in use is named, and nothing is left running', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const address = taken.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  await expect(startRouter({ nats: { servers: nats.url }, mode: 'event', port }, silentLog)).rejects.toMatchObject({ code: 'port-in-use', message: saying(String(port)) });
  taken.close();
});

it('without a NATS server it says where it looked', async () => {
  await expect(startRouter({ nats: { servers: 'nats://127.0.0.1:1' }, mode: 'event' }, silentLog)).rejects.toMatchObject({ code: 'bus-unavailable', message: saying('127.0.0.1:1') });
});

it('a name that is no NATS subject is refused', async () => {
  await expect(startRouter({ nats: { servers: nats.url }, mode: 'event', name: 'my router' }, silentLog)).rejects.toMatchObject({ code: 'bad-config' });
});

it('a tokenizer folder that is none is refused', async () => {
  await expect(startRouter({ nats: { servers: nats.url }, mode: 'event', tokenizer: '/nowhere' }, silentLog)).rejects.toMatchObject({ code: 'bad-config', message: saying('/nowhere') });
});
