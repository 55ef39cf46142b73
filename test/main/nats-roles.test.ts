import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startNatsServer, type NatsServerProcess } from '../../src/adapters/system/nats-server.ts';
import { startEngine, type RunningEngine } from '../../src/main/start-engine.ts';
import { startRouter } from '../../src/main/start-router.ts';
import { startWorker } from '../../src/main/start-worker.ts';
import { silentLog } from '../support/silent-log.ts';
import { post, promptOf, untilTrusted } from './whole-path-parts.ts';

/** The shipped configuration with its block of accounts in force. */
async function withAccounts(): Promise<string> {
  const shipped = await readFile(new URL('../../nats.conf', import.meta.url), 'utf8');
  const [before = '', block = ''] = shipped.split(/^(?=# accounts \{)/m);
  return before + block.replace(/^# ?/gm, '');
}

let folder: string;
let nats: NatsServerProcess;
let engine: RunningEngine;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinroute-roles-'));
  const configFile = join(folder, 'nats.conf');
  await writeFile(configFile, await withAccounts());
  nats = await startNatsServer({ configFile }, silentLog);
  engine = await startEngine({ pageSize: 16, speed: 20 }, silentLog);
});
afterAll(async () => {
  await engine.close();
  await nats.stop();
  await rm(folder, { recursive: true });
});

const as = (user: string): { readonly servers: string } => ({ servers: nats.url.replace('nats://', `nats://${user}:change-me@`) });

it('with the accounts of nats.conf in force a router and a worker still serve, and tell what is held', async () => {
  const router = await startRouter({ nats: as('router'), name: 'router', mode: 'event' }, silentLog);
  const worker = await startWorker({ engineUrl: engine.url, nats: as('worker-w1'), name: 'w1', drainMs: 0 }, silentLog);
  try {
    await untilTrusted(router.url, 1);
    const answer = await post(`${router.url}/generate`, { input_ids: promptOf(1, 100), sampling_params: { max_new_tokens: 2 } });
    expect([answer.status, answer.headers.get('x-kinroute-worker')]).toEqual([200, 'w1']);
    await answer.text();
  } finally {
    await worker.close();
    await router.close();
  }
});

it('nobody gets in without a password', async () => {
  await expect(startRouter({ nats: { servers: nats.url }, mode: 'event' }, silentLog)).rejects.toMatchObject({ code: 'bus-unavailable' });
});
