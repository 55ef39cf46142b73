import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectNats, type NatsHandle } from '../../src/adapters/nats/connection.ts';
import { routerPorts } from '../../src/adapters/nats/router-ports.ts';
import type { NatsServerProcess } from '../../src/adapters/system/nats-server.ts';
import { chainSeed } from '../../src/core/identity/chain-seed.ts';
import { hashBlocks } from '../../src/core/identity/hash-blocks.ts';
import { parseDpRank, parsePoolId, parseWorkerId } from '../../src/core/identity/ids.ts';
import type { RankId } from '../../src/core/identity/ids.ts';
import type { WorkerRegistration } from '../../src/core/identity/registration.ts';
import type { EngineOptions, RunningEngine } from '../../src/main/start-engine.ts';
import { startEngine } from '../../src/main/start-engine.ts';
import type { RunningWorker, WorkerOptions } from '../../src/main/start-worker.ts';
import { startWorker } from '../../src/main/start-worker.ts';
import { bytesOf, codeOf, Collected, engineRequest, never, textOf } from '../support/nats-requests.ts';
import { startTestNats } from '../support/nats-server.ts';
import { silentLog } from '../support/silent-log.ts';

let nats: NatsServerProcess;
let router: NatsHandle;
const running: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  nats = await startTestNats();
  router = await connectNats({ servers: nats.url, name: 'test-router' }, silentLog);
});
afterAll(async () => {
  await router.close();
  await nats.stop();
});
afterEach(async () => {
  for (const each of running.splice(0).reverse()) await each.close();
});

async function engine(options: Partial<EngineOptions> = {}): Promise<RunningEngine> {
  const started = await startEngine({ speed: 100, ...options }, silentLog);
  running.push(started);
  return started;
}

async function worker(engineUrl: string, options: Partial<WorkerOptions> = {}): Promise<RunningWorker> {
  const started = await startWorker({ engineUrl, nats: { servers: nats.url }, loadPeriodMs: 50, ...options }, silentLog);
  running.push(started);
  return started;
}

const idOf = (started: RunningWorker, rank = 0): RankId => ({ worker: parseWorkerId(started.worker), rank: parseDpRank(rank) });
const tokens = Array.from({ length: 300 }, (_, index) => 100 + index);

async function generate(started: RunningWorker, body: object): Promise<Record<string, unknown>> {
  const request = engineRequest({ path: '/generate', body: bytesOf(JSON.stringify(body)) });
  const response = await routerPorts(router).transport.send(parsePoolId(started.pool), idOf(started), request, never);
  let text = '';
  for await (const piece of response.body) text += textOf(piece);
  return JSON.parse(text) as Record<string, unknown>;
}

describe('an agent on a real bus, beside a simulated SGLang', () => {
  it('names itself after its engine and the pool after the model, serves, and tells what is held', async () => {
    const { url } = await engine({ modelName: 'org/Tiny 8B', pageSize: 16 });
    const started = await worker(url);
    expect([started.pool, started.worker]).toEqual(['org-Tiny-8B', `127-0-0-1-${new URL(url).port}`]);
    const heard = new Collected<number>();
    const following = await routerPorts(router).kv.follow(parsePoolId(started.pool), (_id, batch) => batch.events.forEach((event) => heard.add(event.kind === 'stored' ? event.hashes.length / 2 : 0)));
    await generate(started, { input_ids: tokens, sampling_params: { max_new_tokens: 1 } });
    await heard.until((blocks) => blocks.reduce((sum, each) => sum + each, 0) === 4);
    await following.close();
    const snapshot = await routerPorts(router).snapshots.fetch(parsePoolId(started.pool), idOf(started), never);
    expect(snapshot.partial).toBe(false);
    expect(snapshot.runs.flatMap((run) => [...run.hashes])).toEqual([...hashBlocks(tokens, 64, chainSeed(parsePoolId(started.pool)))]);
  });

  it('that comes late learns what was stored before it', async () => {
    const { url } = await engine({ pageSize: 16 });
    const first = await worker(url, { name: 'early' });
    await generate(first, { input_ids: tokens, sampling_params: { max_new_tokens: 1 } });
    const late = await worker(url, { name: 'late' });
    const snapshot = await routerPorts(router).snapshots.fetch(parsePoolId(late.pool), idOf(late), never);
    expect(snapshot.partial).toBe(false);
    expect(snapshot.runs.reduce((sum, run) => sum + run.hashes.length / 2, 0)).toBe(4);
  });

  it('tokenizes with the engine', async () => {
    const { url } = await engine();
    const started = await worker(url);
    const answer = await routerPorts(router).control.tokenize(parsePoolId(started.pool), parseWorkerId(started.worker), bytesOf('{"prompt":"hello"}'), never);
    expect(JSON.parse(textOf(answer))).toMatchObject({ count: expect.any(Number) as number });
  });

  it('E34: one prompt with and one without an extra key are two', async () => {
    const { url } = await engine({ pageSize: 16 });
    const started = await worker(url);
    for (const key of [{}, { extra_key: 'k' }]) await generate(started, { input_ids: tokens, sampling_params: { max_new_tokens: 1 }, ...key });
    const snapshot = await routerPorts(router).snapshots.fetch(parsePoolId(started.pool), idOf(started), never);
    const held = snapshot.runs.flatMap((run) => [...run.hashes]);
    const salted = hashBlocks(tokens, 64, chainSeed(parsePoolId(started.pool), { lora: null, salt: 'k' }));
    expect(held.length).toBe(16);
    expect(held).toEqual(expect.arrayContaining([...salted]));
  });

  it('an engine that dies is deregistered, and registered again when it is back on its port', async () => {
    const first = await startEngine({ speed: 100, pageSize: 16 }, silentLog);
    const started = await worker(first.url);
    const seen = new Collected<string>();
    const lives = new Set<string>();
    const following = await routerPorts(router).workers.follow({
      registered: (registration: WorkerRegistration) => {
        if (registration.worker !== started.worker || registration.draining || lives.has(registration.life)) return;
        lives.add(registration.life);
        seen.add('registered');
      },
      gone: (_pool, name) => {
        if (name === started.worker) seen.add('gone');
      },
    });
    await first.close();
    await seen.until((events) => events.includes('gone'));
    await engine({ pageSize: 16, port: Number(new URL(first.url).port), kvPort: first.kvPort });
    expect(await seen.until((events) => events.length === 3)).toEqual(['registered', 'gone', 'registered']);
    await following.close();
  });
});

describe('an agent that can not start', () => {
  it('E20: is told both sizes', async () => {
    const { url } = await engine({ pageSize: 48 });
    await expect(worker(url, { blockSize: 64 })).rejects.toThrow(/48.*64/);
  });

  it('is told that the name is taken, and the other goes on', async () => {
    const { url } = await engine();
    const first = await worker(url, { name: 'same' });
    await expect(worker(url, { name: 'same' })).rejects.toThrow('--name');
    await generate(first, { input_ids: tokens, sampling_params: { max_new_tokens: 1 } });
  });

  it('is told which engine is not there', async () => {
    const gone = await startEngine({}, silentLog);
    await gone.close();
    expect(await codeOf(worker(gone.url))).toBe('engine-unreachable');
    await expect(worker(gone.url)).rejects.toThrow(gone.url);
  });

  it('is told which bus is not there', async () => {
    const { url } = await engine();
    expect(await codeOf(worker(url, { nats: { servers: 'nats://127.0.0.1:1' } }))).toBe('bus-unavailable');
  });

  it('is told that a name is no subject token', async () => {
    const { url } = await engine();
    expect(await codeOf(worker(url, { name: 'a.b' }))).toBe('bad-config');
  });
});
