import { randomUUID } from 'node:crypto';
import { RouterError } from '../../core/router-error.ts';
import type { CacheEvent } from '../../core/engine-model/cache-event.ts';
import type { StepRates } from '../../core/engine-model/step-timing.ts';
import type { Clock } from '../../ports/clock.ts';
import { encodeBatch } from './encode-events.ts';
import type { EventSockets } from './event-ports.ts';
import type { EngineWire } from './engine-wire.ts';
import { RankEngine } from './rank-engine.ts';
import { SimulatedTokenizer } from './simulated-tokenizer.ts';
import { lateClears } from './vllm/late-clears.ts';

export interface SimulatedEngineOptions {
  readonly modelName: string;
  readonly pageSize: number;
  /** Tokens of KV of each rank. */
  readonly kvTokens: number;
  readonly chunkTokens: number;
  readonly maxRunning: number;
  readonly contextLength: number;
  readonly vocabSize: number;
  readonly rates: StepRates;
  /** How many times faster than the rates say. */
  readonly speed: number;
  /** Whether `usage` tells cached tokens (`--enable-cache-report`). */
  readonly cacheReport: boolean;
  /** Whether streams of `/generate` repeat nothing (`--incremental-streaming-output`). */
  readonly incrementalStreaming: boolean;
  /** Null: no key is asked for. */
  readonly apiKey: string | null;
  readonly topic: string;
  /** Batches that the replay socket can send again. */
  readonly bufferSteps: number;
  readonly wire: EngineWire;
}

/** Seconds since 1970, with fractions. */
export const wallSeconds = (): number => (performance.timeOrigin + performance.now()) / 1000;

/** A rid as the engine makes them. */
export const newRid = (): string => randomUUID().replaceAll('-', '');

/** The ranks of a simulated server, and what its routes share. */
export class SimulatedEngine {
  readonly options: SimulatedEngineOptions;
  readonly sockets: EventSockets;
  readonly ranks: readonly RankEngine[];
  readonly tokenizer: SimulatedTokenizer;
  /** Sessions opened by `/open_session`; a request may only name one of these in `session_params`. */
  readonly openSessions = new Set<string>();
  #nextRank = 0;

  constructor(options: SimulatedEngineOptions, sockets: EventSockets, clock: Clock) {
    this.options = options;
    this.sockets = sockets;
    this.tokenizer = new SimulatedTokenizer(options.vocabSize);
    const model = { ...options, vocabulary: this.tokenizer.vocabulary, hasher: options.wire.hasher };
    this.ranks = sockets.publishers.map((publisher, rank) => {
      const publish = (events: readonly CacheEvent[]): void => publisher.publish(encodeBatch({ events, rank, atSeconds: wallSeconds() }, options.pageSize, options.wire));
      return new RankEngine(model, clock, options.wire.kind === 'vllm' ? lateClears(publish) : publish);
    });
  }

  /** The rank asked for, or the next in turn. Throws `bad-request` for one that does not exist. */
  rankFor(asked: number | null): number {
    const count = this.ranks.length;
    if (asked === null) return this.#nextRank++ % count;
    if (Number.isInteger(asked) && asked >= 0 && asked < count) return asked;
    throw new RouterError('bad-request', `routed_dp_rank=${asked} out of range [0, ${count})`);
  }

  rank(index: number): RankEngine {
    const found = this.ranks[index];
    if (found === undefined) throw new RouterError('internal', `no rank ${index} in this engine`);
    return found;
  }

  runs(rid: string): boolean {
    return this.ranks.some((rank) => rank.has(rid));
  }

  /** As the engine does, a rid also ends the requests that were made of it for a list of prompts. */
  abort(rid: string): void {
    for (const rank of this.ranks) rank.abortMatching(rid);
  }

  abortAll(): void {
    for (const rank of this.ranks) rank.abortAll();
  }

  close(): void {
    for (const rank of this.ranks) rank.close();
  }
}
