import { PageTree } from '../core/kv-stream/page-tree.ts';
import type { DpRank, Epoch, PoolId, WorkerId } from '../core/identity/ids.ts';
import type { EventSource, WorkerRegistration } from '../core/identity/registration.ts';
import { messageOf } from '../core/router-error.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineClient, EngineDescription, EngineEventSource } from '../ports/engine.ts';
import type { Closable, ControlHandler, ControlServer, KvPublisher } from '../ports/kv-bus.ts';
import type { Log } from '../ports/log.ts';
import type { EngineRequest, RequestServer, ServedRequests } from '../ports/request-transport.ts';
import type { LoadPublisher, Registered, WorkerRegistry } from '../ports/worker-registry.ts';
import { EngineEvents } from './engine-events.ts';
import { EventSilence } from './event-silence.ts';
import { LoadReporter } from './load-reporter.ts';
import { passRequest } from './pass-request.ts';
import type { PassOutcome } from './pass-request.ts';
import { tokenizeAtEngine } from './tokenize-at-engine.ts';

/** Of a request's body: a token of text or a token id seldom takes more. */
const mostBytesAToken = 16;

export interface ServeEngineDeps {
  readonly engine: EngineClient;
  readonly source: EngineEventSource;
  readonly registry: WorkerRegistry;
  readonly kv: KvPublisher;
  readonly loads: LoadPublisher;
  readonly requests: RequestServer;
  readonly control: ControlServer;
  readonly clock: Clock;
  readonly log: Log;
  /** A name that never comes twice, for lives and epochs. */
  readonly newEpoch: () => Epoch;
}

export interface ServeEngineOptions {
  readonly engineUrl: string;
  readonly pool: PoolId;
  readonly worker: WorkerId;
  /** Tokens a block of the pool. */
  readonly blockSize: number;
  readonly loadPeriodMs: number;
}

/** What an agent runs while its engine is there; ends when the engine goes, and another begins when it is back. */
export class EngineLife {
  readonly #deps: ServeEngineDeps;
  readonly #options: ServeEngineOptions;
  readonly #description: EngineDescription;
  readonly #newTree: () => PageTree;
  readonly #reporter: LoadReporter;
  readonly #silence: EventSilence;
  #registration: WorkerRegistration;
  #events: EngineEvents | null = null;
  #registered: Registered | null = null;
  #served: ServedRequests | null = null;
  #control: Closable | null = null;

  /** Throws `bad-config` where the engine's pages don't fit the pool's blocks. */
  constructor(described: { readonly description: EngineDescription; readonly onGone: (error: unknown) => void }, options: ServeEngineOptions, deps: ServeEngineDeps) {
    const { description, onGone } = described;
    this.#deps = deps;
    this.#options = options;
    this.#description = description;
    this.#registration = registrationOf(description, options, deps.newEpoch());
    this.#newTree = pageTrees(description, options);
    const { engine, loads, clock, log } = deps;
    const { pool, worker, loadPeriodMs: periodMs } = options;
    this.#silence = new EventSilence({ worker, log, liveBatchesOf: (rank) => this.#events?.liveBatchesOf(rank) ?? null });
    const heldBlocks = (rank: DpRank): number => this.#events?.heldBlocks(rank) ?? 0;
    this.#reporter = new LoadReporter({ pool, worker, ranks: description.ranks, periodMs }, { engine, loads, clock, log, heldBlocks, onGone });
  }

  /** How KV events are followed, or why not. */
  get eventSource(): EventSource {
    return this.#registration.events;
  }

  /**
   * Takes the name first, as draining: nothing may be published or served under another agent's name. Routers send
   * requests when all is there. After a rejection all that had begun is closed.
   */
  async start(): Promise<void> {
    try {
      this.#registered = await this.#deps.registry.register({ ...this.#registration, draining: true });
      await this.#begin();
      await this.#registered.update(this.#registration);
      await this.#reporter.start();
    } catch (error) {
      await this.close(AbortSignal.abort());
      throw error;
    }
  }

  async #begin(): Promise<void> {
    const { engine, clock, requests, control } = this.#deps;
    const { pool, worker } = this.#options;
    const { ranks } = this.#description;
    const events = this.#newEvents();
    this.#events = events;
    const handler: ControlHandler = {
      snapshot: (rank) => events?.snapshot(rank) ?? null,
      tokenize: (body, signal) => tokenizeAtEngine(body, engine, signal),
      drain: (draining) => void this.drain({ draining }),
    };
    this.#control = await control.serve(pool, worker, handler);
    await events?.start();
    this.#served = await requests.serve(pool, worker, ranks, passRequest({ engine, clock, ranks, onEnd: (...end) => this.#ended(...end) }));
  }

  #ended(rank: DpRank, outcome: PassOutcome, request: EngineRequest): void {
    this.#reporter.nudge();
    // A prompt that fills no page brings no event.
    const fillsPage = request.body.length >= this.#description.pageSize * mostBytesAToken;
    if (outcome === 'answered' && fillsPage) this.#silence.answered(rank, this.#deps.clock.nowMs());
  }

  #newEvents(): EngineEvents | null {
    const { events } = this.#description;
    if ('why' in events || this.#registration.events.kind === 'none') return null;
    const { source, kv, newEpoch, log } = this.#deps;
    const { pool, worker } = this.#options;
    return new EngineEvents({ pool, worker, endpoints: events.ranks, topic: events.topic }, { source, kv, newEpoch, newTree: this.#newTree, log });
  }

  /** Tells routers to send no more, or to send again. Requests that come all the same are served. */
  async drain({ draining }: { readonly draining: boolean }): Promise<void> {
    const { worker } = this.#options;
    this.#registration = { ...this.#registration, draining };
    try {
      await this.#registered?.update(this.#registration);
      this.#deps.log.info({ worker, draining }, 'draining-changed');
    } catch (error) {
      this.#deps.log.warn({ worker, draining, error: messageOf(error) }, 'draining-not-told');
    }
  }

  /** Says goodbye, waits for running requests until `signal` aborts, then ends them. */
  async close(signal: AbortSignal): Promise<void> {
    await this.#reporter.close();
    await this.#registered?.close();
    await this.#served?.close(signal);
    await this.#control?.close();
    await this.#events?.close();
  }
}

/** Throws `bad-config` at once, not with the first event; also where there are no events, so that a pool's numbers fit. */
function pageTrees({ kind, pageSize, bigram }: EngineDescription, { pool, blockSize }: ServeEngineOptions): () => PageTree {
  const newTree = (): PageTree => new PageTree({ kind, pool, blockSize, pageSize, bigram });
  newTree();
  return newTree;
}

/** Blocks over pairs of tokens name no prompt that a router hashes: such an engine serves by load and prediction. */
function eventSourceOf({ events, bigram }: EngineDescription): EventSource {
  if ('why' in events) return { kind: 'none', why: events.why };
  return bigram ? { kind: 'none', why: 'its pages are over pairs of tokens (EAGLE), which routers do not hash' } : { kind: 'zmq' };
}

function registrationOf(description: EngineDescription, { engineUrl, pool, worker, blockSize }: ServeEngineOptions, life: Epoch): WorkerRegistration {
  const { kind, version, models, ranks, pageSize, contextLength, vocabSize, maxRunningRequests, capacityTokens, tokenizerPath, unnamedInEvents } = description;
  return {
    v: 1,
    pool,
    worker,
    life,
    engineUrl,
    engineKind: kind,
    engineVersion: version,
    models,
    ranks,
    blockSize,
    pageSize,
    contextLength,
    vocabSize,
    maxRunningRequests,
    capacityTokens,
    tokenizerPath,
    events: eventSourceOf(description),
    unnamedInEvents,
    draining: false,
  };
}
