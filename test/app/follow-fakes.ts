import type { WorkerRegistration } from '../../src/core/identity/registration.ts';
import { epoch, parseDpRank, parsePoolId, parseWorkerId, rankKey } from '../../src/core/identity/ids.ts';
import type { PoolId, RankId, RankKey } from '../../src/core/identity/ids.ts';
import type { KvBatch, KvEvent, KvSnapshot } from '../../src/core/kv-stream/kv-event.ts';
import type { LoadSnapshot } from '../../src/core/load/load-snapshot.ts';
import { RouterError } from '../../src/core/router-error.ts';
import { EngineFollower } from '../../src/app/follow-engines.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Closable } from '../../src/ports/kv-bus.ts';
import type { Log } from '../../src/ports/log.ts';
import type { WorkerListener } from '../../src/ports/worker-registry.ts';

export const pool = parsePoolId('llama');

export const registration = (worker: string, differing: Partial<WorkerRegistration> = {}): WorkerRegistration => ({
  v: 1,
  pool,
  worker: parseWorkerId(worker),
  life: epoch('life-1'),
  engineUrl: `http://${worker}`,
  engineKind: 'sglang',
  engineVersion: '0.5.23',
  tokenizerPath: null,
  unnamedInEvents: [],
  models: ['llama-8b'],
  ranks: [parseDpRank(0)],
  blockSize: 1,
  pageSize: 1,
  contextLength: 4096,
  vocabSize: 1000,
  maxRunningRequests: null,
  capacityTokens: null,
  events: { kind: 'zmq' },
  draining: false,
  ...differing,
});

export const kvBatch = (seq: number, events: readonly KvEvent[] = [], life = 'e1'): KvBatch => ({ epoch: epoch(life), seq, events });

/** Time that moves when told. */
export class FakeClock implements Clock {
  #nowMs = 0;
  #timers: { readonly atMs: number; readonly run: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  isoNow(): string {
    return new Date(this.#nowMs).toISOString();
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, run };
    this.#timers.push(timer);
    return () => void (this.#timers = this.#timers.filter((other) => other !== timer));
  }

  every(): () => void {
    throw new Error('nothing here repeats');
  }

  get waiting(): number {
    return this.#timers.length;
  }

  /** Runs what is due, each with the promises it leads to, in the order of its time. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const next = this.#timers.filter((timer) => timer.atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined) break;
      this.#nowMs = next.atMs;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      next.run();
      await settle();
    }
    this.#nowMs = endMs;
  }
}

/** Lets every promise that can go on do so. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Asked {
  readonly id: RankId;
  readonly answer: (snapshot: KvSnapshot) => void;
  readonly fail: (error: unknown) => void;
}

/** A deployment as a router sees it: what agents publish and answer, in one process. */
export class FakeAgents {
  readonly clock = new FakeClock();
  readonly logged: { readonly fields: object; readonly event: string }[] = [];
  /** Snapshots asked for and not yet answered. */
  readonly asked: Asked[] = [];
  /** Answered at once where there is one. */
  readonly snapshots = new Map<RankKey, KvSnapshot>();
  mostAtOnce = 0;
  failingFollows = 0;
  readonly #registered: WorkerRegistration[] = [];
  readonly #workerListeners = new Set<WorkerListener>();
  readonly #kvListeners = new Set<(id: RankId, batch: KvBatch) => void>();
  readonly #loadListeners = new Set<(load: LoadSnapshot) => void>();

  get streams(): number {
    return this.#workerListeners.size + this.#kvListeners.size + this.#loadListeners.size;
  }

  follower(): EngineFollower {
    const write = (fields: object, event: string): void => void this.logged.push({ fields, event });
    const log: Log = { debug: write, info: write, warn: write, error: write };
    return new EngineFollower({
      workers: {
        follow: async (listener) => {
          for (const each of this.#registered) listener.registered(each);
          return joined(this.#workerListeners, listener);
        },
      },
      kv: {
        follow: async (_pool, listener) => {
          if (this.failingFollows-- > 0) throw new RouterError('bus-unavailable', 'no bus');
          return joined(this.#kvListeners, listener);
        },
      },
      loads: { follow: async (_pool, listener) => joined(this.#loadListeners, listener) },
      snapshots: { fetch: (_pool, id, signal) => this.#fetch(id, signal) },
      clock: this.clock,
      log,
      random: () => 0.5,
    });
  }

  register(each: WorkerRegistration): void {
    this.#registered.push(each);
    for (const listener of this.#workerListeners) listener.registered(each);
  }

  leave(worker: string, of: PoolId = pool): void {
    for (const listener of this.#workerListeners) listener.gone(of, parseWorkerId(worker));
  }

  publish(id: RankId, batch: KvBatch): void {
    for (const listener of this.#kvListeners) listener(id, batch);
  }

  report(load: LoadSnapshot): void {
    for (const listener of this.#loadListeners) listener(load);
  }

  #fetch(id: RankId, signal: AbortSignal): Promise<KvSnapshot> {
    const ready = this.snapshots.get(rankKey(id));
    if (ready !== undefined) return Promise.resolve(ready);
    return new Promise((resolve, reject) => {
      const done = (): void => void this.asked.splice(this.asked.indexOf(asked), 1);
      const asked: Asked = {
        id,
        answer: (snapshot) => {
          done();
          resolve(snapshot);
        },
        fail: (error) => {
          done();
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      };
      this.asked.push(asked);
      this.mostAtOnce = Math.max(this.mostAtOnce, this.asked.length);
      signal.addEventListener('abort', () => this.asked.includes(asked) && asked.fail(signal.reason));
    });
  }
}

function joined<T>(listeners: Set<T>, listener: T): Closable {
  listeners.add(listener);
  return { close: async () => void listeners.delete(listener) };
}
