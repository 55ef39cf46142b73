import { createServer, request as httpRequest } from 'node:http';
import type { NatsServerProcess } from '../../src/adapters/system/nats-server.ts';
import type { PlacementEvent } from '../../src/core/placement/placement-event.ts';
import { startEngine } from '../../src/main/start-engine.ts';
import type { EngineOptions, RunningEngine } from '../../src/main/start-engine.ts';
import { startRouter } from '../../src/main/start-router.ts';
import type { RouterOptions, RunningRouter } from '../../src/main/start-router.ts';
import { startWorker } from '../../src/main/start-worker.ts';
import type { RunningWorker } from '../../src/main/start-worker.ts';
import { startTestNats } from '../support/nats-server.ts';
import { silentLog } from '../support/silent-log.ts';

/** A real deployment, part by part: nats-server, engines, agents, routers. `close` stops all of it. */
export class Deployment {
  readonly nats: NatsServerProcess;
  readonly engines: RunningEngine[] = [];
  readonly workers: RunningWorker[] = [];
  readonly routers: RunningRouter[] = [];

  private constructor(nats: NatsServerProcess) {
    this.nats = nats;
  }

  static async start(): Promise<Deployment> {
    return new Deployment(await startTestNats());
  }

  /** Engines with an agent each, named w1, w2, ... */
  async addWorkers(count: number, options: Partial<EngineOptions> = {}): Promise<this> {
    for (let added = 0; added < count; added++) {
      const engine = await startEngine({ speed: 20, ...options }, silentLog);
      this.engines.push(engine);
      this.workers.push(await startWorker({ engineUrl: engine.url, nats: { servers: this.nats.url }, name: `w${this.engines.length}`, drainMs: 0 }, silentLog));
    }
    return this;
  }

  async addRouter(options: Partial<RouterOptions> = {}): Promise<RunningRouter> {
    const router = await startRouter({ nats: { servers: this.nats.url }, mode: 'event', name: `r${this.routers.length + 1}`, closeGraceMs: 0, ...options }, silentLog);
    this.routers.push(router);
    return router;
  }

  async close(): Promise<void> {
    await Promise.all(this.routers.splice(0).map((router) => router.close()));
    await Promise.all(this.workers.splice(0).map((worker) => worker.close()));
    await Promise.all(this.engines.splice(0).map((engine) => engine.close()));
    await this.nats.stop();
  }
}

/** Asks again until `wanted` is true of the answer; the test's own time limit is the only one. */
export async function until<T>(ask: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await ask();
    if (wanted(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export interface Listed {
  readonly worker: string;
  readonly rank: number;
  readonly trust: string;
  readonly heldBlocks: number;
  readonly claimed: { readonly requests: number };
}

export async function ranksOf(url: string): Promise<readonly Listed[]> {
  const { workers } = (await (await fetch(`${url}/workers`)).json()) as { readonly workers: readonly Listed[] };
  return workers;
}

/** Every rank is there and known as a whole. */
export const untilTrusted = (url: string, ranks: number): Promise<readonly Listed[]> => until(() => ranksOf(url), (listed) => listed.length === ranks && listed.every(({ trust }) => trust === 'trusted'));

export function post(url: string, body: object, headers: Readonly<Record<string, string>> = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body), ...(signal === undefined ? {} : { signal }) });
}

/** A prompt of this many tokens; another seed shares no block. */
export const promptOf = (seed: number, length: number): number[] => Array.from({ length }, (_, index) => 300 + ((seed * 7_919 + index * 31) % 5_000));

/** Requests that a simulated engine has running or waiting. */
export async function busyAt(engineUrl: string): Promise<number> {
  const { loads } = (await (await fetch(`${engineUrl}/v1/loads`)).json()) as { readonly loads: readonly { readonly num_running_reqs: number; readonly num_waiting_reqs: number }[] };
  return loads.reduce((sum, load) => sum + load.num_running_reqs + load.num_waiting_reqs, 0);
}

/** Reads placement events off a router's `/placements` until `enough`. */
export async function placementsUntil(response: Response, enough: (events: readonly PlacementEvent[]) => boolean): Promise<readonly PlacementEvent[]> {
  const events: PlacementEvent[] = [];
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: ')) events.push(JSON.parse(line.slice(6)) as PlacementEvent);
    if (enough(events)) break;
  }
  return events;
}

/** Stands between an agent and its engine, passes everything on, and keeps the bytes of each `/generate` answer. */
export async function startRecorder(engineUrl: string): Promise<{ readonly url: string; readonly answers: Buffer[]; close(): Promise<void> }> {
  const answers: Buffer[] = [];
  const server = createServer((incoming, outgoing) => {
    const passed = httpRequest(`${engineUrl}${incoming.url}`, { method: incoming.method, headers: incoming.headers }, (answer) => {
      const kept: Buffer[] = [];
      answer.on('data', (piece: Buffer) => kept.push(piece));
      answer.on('end', () => incoming.url === '/generate' && answers.push(Buffer.concat(kept)));
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
    });
    outgoing.on('close', () => passed.destroy());
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    answers,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
