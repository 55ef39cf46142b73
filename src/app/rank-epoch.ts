import type { Epoch, RankId } from '../core/identity/ids.ts';
import { hashCount, sliceHashes } from '../core/identity/sequence-hash.ts';
import type { EngineEvent } from '../core/kv-stream/engine-event.ts';
import type { KvBatch, KvEvent, KvSnapshot } from '../core/kv-stream/kv-event.ts';

/** What a rank holds, told by its engine's events (core's page trees). */
export interface BlockTree {
  /** The changes in blocks that come of it, to publish. */
  apply(event: EngineEvent): readonly KvEvent[];
  /** Blocks. */
  held(): number;
  snapshotRuns(): KvSnapshot['runs'];
  readonly counters: { readonly orphanedStores: number };
  /** Stores that contradict the engine's description or what is known, in pages by reason. */
  readonly refusals: ReadonlyMap<string, number>;
}

export interface EpochStart {
  readonly id: RankId;
  readonly epoch: Epoch;
  /** Something was stored before that was never seen: nothing of it is credited. */
  readonly partial: boolean;
  readonly tree: BlockTree;
  readonly publish: (batch: KvBatch) => void;
}

/** Hashes a published batch carries before the next one begins: replays are told in few messages, and none is too large for NATS. */
const hashesABatch = 4_096;

/** One prompt of a pool with small blocks can have more: its run goes on in a further event, from where it stopped. */
function inPieces(event: KvEvent): readonly KvEvent[] {
  if (event.kind === 'cleared' || hashCount(event.hashes) <= hashesABatch) return [event];
  const { hashes } = event;
  return Array.from({ length: Math.ceil(hashCount(hashes) / hashesABatch) }, (_, piece) => {
    const start = piece * hashesABatch;
    const part = sliceHashes(hashes, start, Math.min(start + hashesABatch, hashCount(hashes)));
    if (event.kind === 'removed' || piece === 0) return { ...event, hashes: part };
    return { ...event, parent: sliceHashes(hashes, start - 1, start), hashes: part };
  });
}

/** One epoch of one rank: what it holds, and the batches told of it, with contiguous numbers. Begins with a clear. */
export class RankEpoch {
  readonly #start: EpochStart;
  #seq: number;
  #untold: KvEvent[] = [];
  #untoldHashes = 0;

  constructor(start: EpochStart) {
    this.#start = start;
    // Batches do not say that an epoch is partial, snapshots do: without a number 0 every router asks for one.
    this.#seq = start.partial ? 0 : -1;
    // Routers that follow drop the epoch before with this, also when nothing else comes.
    this.#tell([{ kind: 'cleared' }]);
    this.flush();
  }

  get partial(): boolean {
    return this.#start.partial;
  }

  /** Pages stored below ones that were never seen: above 0 in an epoch that is not partial, something was missed. */
  get orphanedStores(): number {
    return this.#start.tree.counters.orphanedStores;
  }

  get refusals(): ReadonlyMap<string, number> {
    return this.#start.tree.refusals;
  }

  /** The same blocks in a new epoch that is partial: the rank holds more than could be followed. */
  asPartial(epoch: Epoch): RankEpoch {
    return new RankEpoch({ ...this.#start, epoch, partial: true });
  }

  get held(): number {
    return this.#start.tree.held();
  }

  apply(event: EngineEvent): void {
    this.#tell(this.#start.tree.apply(event));
  }

  /** Publishes what was applied since the last time; nothing where nothing changed. */
  flush(): void {
    if (this.#untold.length === 0) return;
    const { epoch, publish } = this.#start;
    this.#seq++;
    publish({ epoch, seq: this.#seq, events: this.#untold });
    this.#untold = [];
    this.#untoldHashes = 0;
  }

  /** True after the last published batch. */
  snapshot(): KvSnapshot {
    this.flush();
    const { id, epoch, tree } = this.#start;
    return { id, epoch, seq: this.#seq, partial: this.partial, runs: tree.snapshotRuns() };
  }

  #tell(events: readonly KvEvent[]): void {
    for (const event of events.flatMap(inPieces)) {
      this.#untold.push(event);
      this.#untoldHashes += event.kind === 'cleared' ? 0 : hashCount(event.hashes);
      if (this.#untoldHashes >= hashesABatch) this.flush();
    }
  }
}
