import { createServer } from 'node:net';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { HttpRouterAdmin } from '../../src/adapters/load-client/http-router-admin.ts';
import { watchPlacements } from '../../src/main/watch-placements.ts';
import { startUp } from '../../src/main/up.ts';
import type { RunningUp } from '../../src/main/up.ts';
import { startTestNats } from '../support/nats-server.ts';
import { silentLog } from '../support/silent-log.ts';

let running: RunningUp | null = null;

afterEach(async () => {
  vi.unstubAllEnvs();
  await running?.close();
  running = null;
});

const signal = AbortSignal.timeout(20_000);

async function generate(url: string): Promise<Response> {
  const body = JSON.stringify({ input_ids: [101, 102, 103], sampling_params: { max_new_tokens: 2 } });
  return fetch(`${url}/generate`, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal });
}

describe('a deployment on one machine', () => {
  it('serves through every router, on every worker, from the moment it is up', async () => {
    running = await startUp({ engines: 2, routers: 2, mode: 'round-robin' }, silentLog);
    for (const { url } of running.routers) {
      const admin = new HttpRouterAdmin(url);
      expect((await admin.ranks(signal)).map((rank) => rank.worker).sort()).toEqual(['w1', 'w2']);
      await admin.close();
      const seen = new Set<string | null>();
      for (let i = 0; i < 2; i++) seen.add((await generate(url)).headers.get('x-kinroute-worker'));
      expect(seen.size).toBe(2);
    }
  });

  it('shows each placement to a subscriber over HTTP and over NATS', async () => {
    running = await startUp({ engines: 1 }, silentLog);
    const router = running.routers[0]?.url ?? '';
    const filter = { events: ['placed'] } as const;
    const watchers = [watchPlacements({ router, filter, log: silentLog }), watchPlacements({ nats: running.nats.url, filter, log: silentLog })];
    const next = watchers.map((watcher) => watcher.next());
    // When both are subscribed nobody says: requests go on until both have seen one.
    const asking = new AbortController();
    const asked = (async () => {
      while (!asking.signal.aborted) await (await generate(router)).text();
    })();
    const seen = await Promise.all(next);
    asking.abort();
    await asked;
    expect(seen.map((result) => (result.done === true ? null : result.value.event.event))).toEqual(['placed', 'placed']);
    await Promise.all(watchers.map((watcher) => watcher.return(undefined)));
  });

  it('on a NATS server where another mode was set before goes by its own', async () => {
    const nats = await startTestNats();
    const policy = async (): Promise<unknown> => (await fetch(`${running?.routers[0]?.url ?? ''}/mode`, { signal })).json();
    try {
      running = await startUp({ engines: 1, nats: nats.url, mode: 'affinity', parentAffinity: 'parent' }, silentLog);
      await running.close();
      running = await startUp({ engines: 1, nats: nats.url, mode: 'round-robin' }, silentLog);
      expect(await policy()).toEqual({ mode: 'round-robin', parentAffinity: 'off' });
      expect((await generate(running.routers[0]?.url ?? '')).headers.get('x-kinroute-mode')).toBe('round-robin');
    } finally {
      await running?.close();
      running = null;
      await nats.stop();
    }
  });

  it('refuses a token id that its engines have not, before it is placed', async () => {
    running = await startUp({ engines: 1 }, silentLog);
    const body = JSON.stringify({ input_ids: [1, 151_936], sampling_params: { max_new_tokens: 1 } });
    const answer = await fetch(`${running.routers[0]?.url ?? ''}/generate`, { method: 'POST', body, signal });
    expect([answer.status, answer.headers.get('x-kinroute-worker')]).toEqual([400, null]);
    expect(await answer.text()).toContain('151935');
  });

  it('that meets a port in use names it and leaves nothing behind', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(startUp({ engines: 1, port }, silentLog)).rejects.toMatchObject({ code: 'port-in-use', message: `port ${port} is in use (--port): give another --port` });
    taken.close();
  });

  it('that is stopped frees its ports and removes its NATS store', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kinroute-up-'));
    vi.stubEnv('TMPDIR', folder);
    const up = await startUp({ engines: 1 }, silentLog);
    const [url] = up.routers.map((router) => router.url);
    expect((await readdir(folder)).length).toBe(1);
    await up.close();
    await expect(fetch(`${url ?? ''}/health`)).rejects.toThrow();
    expect(await readdir(folder)).toEqual([]);
    await rm(folder, { recursive: true });
  });
});
