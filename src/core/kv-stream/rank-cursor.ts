import type { Epoch } from '../identity/ids.ts';
import type { KvBatch, KvSnapshot } from './kv-event.ts';

/** What is to be done with a batch of a rank. */
export type BatchVerdict =
  | { readonly kind: 'apply' }
  | { readonly kind: 'duplicate' }
  /** Of a life of the cache that is over. */
  | { readonly kind: 'stale-epoch' }
  /** Waits for the snapshot that was asked for already. `droppedBatches` of older ones had to make room. */
  | { readonly kind: 'buffered'; readonly droppedBatches: number }
  /** Waits: the epoch began before we came, so a snapshot is needed. Nothing was lost. */
  | { readonly kind: 'joined' }
  /** Waits, and a snapshot is needed: batches before it are missing. What was applied stays as it is. */
  | { readonly kind: 'gap'; readonly missingBatches: number }
  /** The cache began anew: all that the rank held is gone. With nothing missing the batch is to be applied. */
  | { readonly kind: 'new-epoch'; readonly missingBatches: number };

/** What is to be done with a snapshot of a rank. */
export type SnapshotVerdict =
  /** Replace all that the rank held, then apply `batches`. Above 0 missing: another snapshot is needed after that. */
  | { readonly kind: 'apply'; readonly batches: readonly KvBatch[]; readonly missingBatches: number }
  /** Batches brought the rank up to date meanwhile. */
  | { readonly kind: 'not-needed' }
  /** Of a life of the cache that is over: ask again. */
  | { readonly kind: 'stale-epoch' };

/**
 * `unseen`: nothing came yet; `live`: every batch of the epoch up to the last was applied; `waiting`: some are
 * missing, later ones are kept until a snapshot comes.
 */
export type CursorState = 'unseen' | 'live' | 'waiting';

/** Past epochs that are still told apart from new ones. An epoch never comes back. */
const rememberedEpochs = 16;

/** Where one rank's stream of batches stands. Says what to do and keeps only the batches that must wait. */
export class RankCursor {
  readonly #maxBuffered: number;
  readonly #pastEpochs: Epoch[] = [];
  #state: CursorState = 'unseen';
  #epoch: Epoch | null = null;
  /** The last batch applied; -1: none. */
  #seq = -1;
  #buffer: KvBatch[] = [];

  constructor(options: { readonly maxBuffered: number }) {
    this.#maxBuffered = options.maxBuffered;
  }

  get state(): CursorState {
    return this.#state;
  }

  get bufferedBatches(): number {
    return this.#buffer.length;
  }

  accept(batch: KvBatch): BatchVerdict {
    if (this.#pastEpochs.includes(batch.epoch)) return { kind: 'stale-epoch' };
    if (batch.epoch !== this.#epoch) return this.#begin(batch);
    if (this.#state === 'waiting') return this.#keep(batch);
    if (batch.seq <= this.#seq) return { kind: 'duplicate' };
    const missingBatches = batch.seq - this.#seq - 1;
    if (missingBatches === 0) {
      this.#seq = batch.seq;
      return { kind: 'apply' };
    }
    this.#state = 'waiting';
    this.#keep(batch);
    return { kind: 'gap', missingBatches };
  }

  /** The answer to a snapshot that was asked for after the present epoch was first seen. */
  acceptSnapshot(snapshot: KvSnapshot): SnapshotVerdict {
    if (this.#pastEpochs.includes(snapshot.epoch)) return { kind: 'stale-epoch' };
    if (this.#state === 'live') return { kind: 'not-needed' };
    this.#enter(snapshot.epoch);
    this.#seq = snapshot.seq;
    this.#state = 'live';
    const kept = this.#buffer;
    this.#buffer = [];
    return { kind: 'apply', ...this.#drain(kept.filter((batch) => batch.epoch === snapshot.epoch)) };
  }

  /**
   * What was applied is dropped, as when the worker began a new life; a snapshot is needed. The epoch is not over by
   * that: the new life's first batches may have come before the news of it.
   */
  restart(): void {
    this.#seq = -1;
    this.#state = this.#epoch === null ? 'unseen' : 'waiting';
    this.#buffer = [];
  }

  #begin(batch: KvBatch): BatchVerdict {
    const first = this.#epoch === null;
    this.#enter(batch.epoch);
    this.#buffer = [];
    this.#seq = -1;
    if (batch.seq === 0) {
      this.#seq = 0;
      this.#state = 'live';
      return first ? { kind: 'apply' } : { kind: 'new-epoch', missingBatches: 0 };
    }
    this.#state = 'waiting';
    this.#keep(batch);
    return first ? { kind: 'joined' } : { kind: 'new-epoch', missingBatches: batch.seq };
  }

  #keep(batch: KvBatch): BatchVerdict {
    if (batch.seq <= this.#seq) return { kind: 'duplicate' };
    this.#buffer.push(batch);
    const over = Math.max(0, this.#buffer.length - this.#maxBuffered);
    // The newest are the ones that a snapshot will not have; a hole in front of them shows when they are drained.
    this.#buffer.splice(0, over);
    return { kind: 'buffered', droppedBatches: over };
  }

  #drain(kept: readonly KvBatch[]): { readonly batches: readonly KvBatch[]; readonly missingBatches: number } {
    const batches: KvBatch[] = [];
    for (const batch of kept) {
      if (batch.seq <= this.#seq) continue;
      if (batch.seq > this.#seq + 1) {
        this.#state = 'waiting';
        this.#buffer.push(batch);
        continue;
      }
      this.#seq = batch.seq;
      batches.push(batch);
    }
    const next = this.#buffer[0];
    return { batches, missingBatches: next === undefined ? 0 : next.seq - this.#seq - 1 };
  }

  #enter(epoch: Epoch): void {
    if (epoch === this.#epoch) return;
    if (this.#epoch !== null) this.#pastEpochs.push(this.#epoch);
    if (this.#pastEpochs.length > rememberedEpochs) this.#pastEpochs.shift();
    this.#epoch = epoch;
  }
}
