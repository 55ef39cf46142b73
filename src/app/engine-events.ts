import type { DpRank, Epoch, PoolId, RankId, WorkerId } from '../core/identity/ids.ts';
import type { KvSnapshot } from '../core/kv-stream/kv-event.ts';
import type { EngineEventSource, RankEventEndpoints } from '../ports/engine.ts';
import type { Closable, KvPublisher } from '../ports/kv-bus.ts';
import type { Log } from '../ports/log.ts';
import type { BlockTree } from './rank-epoch.ts';
import { RankEvents } from './rank-events.ts';
import { withoutCollisions } from './replay-ports.ts';

export interface EngineEventsDeps {
  readonly source: EngineEventSource;
  readonly kv: KvPublisher;
  readonly newEpoch: () => Epoch;
  readonly newTree: () => BlockTree;
  readonly log: Log;
}

export interface EngineEventsOf {
  readonly pool: PoolId;
  readonly worker: WorkerId;
  readonly endpoints: readonly RankEventEndpoints[];
  readonly topic: string;
}

/** The KV events of all ranks of one engine, from sockets to published batches. One rank never touches another. */
export class EngineEvents {
  readonly #deps: EngineEventsDeps;
  readonly #endpoints: readonly RankEventEndpoints[];
  readonly #topic: string;
  readonly #ranks = new Map<DpRank, RankEvents>();
  readonly #invalid = new Map<string, number>();
  #subscription: Closable | null = null;

  constructor(of: EngineEventsOf, deps: EngineEventsDeps) {
    this.#deps = deps;
    this.#topic = of.topic;
    this.#endpoints = withoutCollisions(of.endpoints, deps.log);
    for (const endpoints of this.#endpoints) this.#ranks.set(endpoints.rank, this.#eventsOf(of, endpoints));
  }

  /** Subscribes (at first, so that nothing falls between), then learns what was stored before; resolves when every rank is whole, or known to be partial. */
  async start(): Promise<void> {
    this.#subscription = await this.#deps.source.subscribe(this.#endpoints, this.#topic, {
      batch: (rank, batch) => {
        batch.invalid.forEach((reason) => this.#countInvalid(rank, reason));
        this.#ranks.get(rank)?.receive(batch);
      },
      invalid: (rank, reason) => this.#countInvalid(rank, reason),
    });
    await Promise.all([...this.#ranks.values()].map((rank) => rank.start()));
  }

  /** Null: no such rank, or one without events. */
  snapshot(rank: DpRank): KvSnapshot | null {
    return this.#ranks.get(rank)?.snapshot() ?? null;
  }

  /** Blocks; 0 for a rank without events. */
  heldBlocks(rank: DpRank): number {
    return this.#ranks.get(rank)?.heldBlocks ?? 0;
  }

  /** Batches that came over the rank's event socket; null for a rank without events. */
  liveBatchesOf(rank: DpRank): number | null {
    return this.#ranks.get(rank)?.counters.liveBatches ?? null;
  }

  async close(): Promise<void> {
    await this.#subscription?.close();
    await Promise.all([...this.#ranks.values()].map((rank) => rank.close()));
  }

  #eventsOf({ pool, worker }: EngineEventsOf, endpoints: RankEventEndpoints): RankEvents {
    const { source, kv, newEpoch, newTree, log } = this.#deps;
    const id: RankId = { worker, rank: endpoints.rank };
    const replay = async (from: number, signal: AbortSignal): ReturnType<EngineEventSource['replay']> => (endpoints.replayEndpoint === null ? null : source.replay(endpoints, from, signal));
    return new RankEvents({ id, newTree, newEpoch, publish: (batch) => kv.publish(pool, id, batch), replay, log });
  }

  /** Told once a reason and power of ten, so that a broken engine does not fill the log. */
  #countInvalid(rank: DpRank, reason: string): void {
    const count = (this.#invalid.get(reason) ?? 0) + 1;
    this.#invalid.set(reason, count);
    if (Number.isInteger(Math.log10(count))) this.#deps.log.warn({ rank, reason, count }, 'engine-event-invalid');
  }
}
