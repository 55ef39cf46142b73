import type { ServeEngineDeps, ServeEngineOptions } from '../../src/app/engine-life.ts';
import { EngineAgent } from '../../src/app/serve-engine.ts';
import { epoch, parseDpRank } from '../../src/core/identity/ids.ts';
import type { DpRank, RankId } from '../../src/core/identity/ids.ts';
import type { WorkerRegistration } from '../../src/core/identity/registration.ts';
import type { EngineBatch } from '../../src/core/kv-stream/engine-event.ts';
import type { KvBatch } from '../../src/core/kv-stream/kv-event.ts';
import type { LoadSnapshot } from '../../src/core/load/load-snapshot.ts';
import { RouterError } from '../../src/core/router-error.ts';
import type { EngineClient, EngineDescription, EngineEventListener, EngineEventSource, EngineLoad, RankEventEndpoints } from '../../src/ports/engine.ts';
import type { ControlHandler } from '../../src/ports/kv-bus.ts';
import type { EngineRequest, EngineResponse, RequestHandler, ResponseSink } from '../../src/ports/request-transport.ts';
import { pool, textOf, worker } from '../support/nats-requests.ts';
import { FakeClock } from './follow-fakes.ts';

export const rankEndpoints = (rank: number): RankEventEndpoints => ({ rank: parseDpRank(rank), endpoint: `tcp://127.0.0.1:${5_557 + rank}`, bind: false, replayEndpoint: `tcp://127.0.0.1:${5_657 + rank}` });

export const description = (change: Partial<EngineDescription> = {}): EngineDescription => ({
  kind: 'sglang',
  version: '0.5.23',
  models: ['tiny'],
  tokenizerPath: null,
  ranks: [parseDpRank(0)],
  pageSize: 16,
  contextLength: 1_024,
  vocabSize: null,
  maxRunningRequests: 8,
  capacityTokens: 2_048,
  bigram: false,
  unnamedInEvents: [],
  events: { ranks: [rankEndpoints(0)], topic: '' },
  ...change,
});

/** An engine that answers as it is told. `gone` makes every call fail as a closed port does. */
export class FakeEngine implements EngineClient {
  described: EngineDescription = description();
  loadsNow: readonly EngineLoad[] = [];
  gone = false;
  silent = false;
  readonly sent: EngineRequest[] = [];
  answer: (request: EngineRequest, signal: AbortSignal) => Promise<EngineResponse> = async () => ({ status: 200, headers: [], body: bodyOf() });

  async describe(): Promise<EngineDescription> {
    this.#check();
    return this.described;
  }

  async send(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    this.#check();
    this.sent.push(request);
    return this.answer(request, signal);
  }

  async abort(): Promise<void> {
    this.#check();
  }

  loads(signal: AbortSignal): Promise<readonly EngineLoad[]> {
    if (this.silent) return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    return Promise.resolve().then(() => {
      this.#check();
      return this.loadsNow;
    });
  }

  async close(): Promise<void> {}

  #check(): void {
    if (this.gone) throw new RouterError('engine-unreachable', 'nothing listens there');
  }
}

export async function* bodyOf(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void, undefined> {
  yield* pieces;
}

/** Event sockets that say what a test says. */
export class FakeEvents implements EngineEventSource {
  subscribed: readonly RankEventEndpoints[] = [];
  listener: EngineEventListener | null = null;
  /** What the replay sockets hold, by rank; null: they do not answer. */
  readonly kept = new Map<number, readonly EngineBatch[] | null>();

  async subscribe(events: readonly RankEventEndpoints[], _topic: string, listener: EngineEventListener): ReturnType<EngineEventSource['subscribe']> {
    this.subscribed = events;
    this.listener = listener;
    return { close: async () => void (this.listener = null) };
  }

  async replay(endpoints: RankEventEndpoints, from: number): Promise<readonly EngineBatch[] | null> {
    const kept = this.kept.get(endpoints.rank);
    return kept === undefined ? [] : (kept?.filter((batch) => batch.seq >= from) ?? null);
  }
}

export class FakeSink implements ResponseSink {
  status = 0;
  text = '';
  ended = false;
  head(status: number): void {
    this.status = status;
  }
  async data(chunk: Uint8Array): Promise<void> {
    this.text += textOf(chunk);
  }
  end(): void {
    this.ended = true;
  }
}

/** An agent on a fake bus. What it did there is in the order of `log`. */
export class AgentStage {
  readonly engine = new FakeEngine();
  readonly events = new FakeEvents();
  readonly clock = new FakeClock();
  readonly did: string[] = [];
  /** Names of the events logged. */
  readonly logged: string[] = [];
  readonly batches: { readonly id: RankId; readonly batch: KvBatch }[] = [];
  readonly loads: LoadSnapshot[] = [];
  registration: WorkerRegistration | null = null;
  nameTaken = false;
  handler: RequestHandler | null = null;
  control: ControlHandler | null = null;
  #epochs = 0;

  agent(options: Partial<ServeEngineOptions> = {}): EngineAgent {
    return new EngineAgent({ engineUrl: 'http://engine:30000', pool, worker, blockSize: 16, loadPeriodMs: 500, ...options }, this.#deps());
  }

  #deps(): ServeEngineDeps {
    const note = (_fields: object, event: string): void => void this.logged.push(event);
    return {
      engine: this.engine,
      source: this.events,
      registry: {
        register: async (registration) => {
          if (this.nameTaken) throw new RouterError('bad-config', `worker ${registration.worker} is already there`);
          this.#register(registration);
          return {
            update: async (changed) => this.#register(changed),
            close: async () => {
              this.did.push('deregister');
              this.registration = null;
            },
          };
        },
      },
      kv: { publish: (_pool, id, batch) => void this.batches.push({ id, batch }), pending: 0, close: async () => {} },
      loads: { publish: (_pool, load) => void this.loads.push(load) },
      requests: {
        serve: async (_pool, _worker, ranks, handler) => {
          this.did.push(`serve ${ranks.join(',')}`);
          this.handler = handler;
          return {
            close: async (signal) => {
              this.did.push(signal.aborted ? 'stop' : 'let-end');
              this.handler = null;
            },
          };
        },
      },
      control: {
        serve: async (_pool, _worker, handler) => {
          this.control = handler;
          return { close: async () => void (this.control = null) };
        },
      },
      clock: this.clock,
      log: { debug: note, info: note, warn: note, error: note },
      newEpoch: () => epoch(`e${this.#epochs++}`),
    };
  }

  #register(registration: WorkerRegistration): void {
    this.did.push(registration.draining ? 'register draining' : 'register');
    this.registration = registration;
  }

  async request(request: EngineRequest, rank: DpRank, signal: AbortSignal): Promise<FakeSink> {
    const sink = new FakeSink();
    await this.handler?.(rank, request, sink, signal);
    return sink;
  }
}
