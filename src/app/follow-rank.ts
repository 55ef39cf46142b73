import { assertNever } from '../core/assert-never.ts';
import type { PoolId, RankId } from '../core/identity/ids.ts';
import { rankKey } from '../core/identity/ids.ts';
import type { SequenceHashes } from '../core/identity/sequence-hash.ts';
import type { KvBatch, KvEvent, KvSnapshot } from '../core/kv-stream/kv-event.ts';
import { RankCursor } from '../core/kv-stream/rank-cursor.ts';
import type { PrefixIndex } from '../core/prefix-index/prefix-index.ts';
import type { Log } from '../ports/log.ts';
import type { RankTrust } from '../ports/router-view.ts';
import type { FollowCounters } from './follow-counters.ts';
import type { SnapshotQueue } from './snapshot-queue.ts';

/** Batches of one rank that may wait for a snapshot. */
const maxBufferedBatches = 4_096;

export interface RankFollowDeps {
  readonly pool: PoolId;
  readonly index: PrefixIndex;
  readonly counters: FollowCounters;
  readonly queue: SnapshotQueue;
  readonly log: Log;
  readonly onStored: (id: RankId, hashes: SequenceHashes) => void;
}

/** One rank's KV stream into the index: in order, repaired by snapshots, started anew with each epoch. */
export class RankFollow {
  readonly id: RankId;
  readonly #deps: RankFollowDeps;
  readonly #cursor = new RankCursor({ maxBuffered: maxBufferedBatches });
  #partial = false;

  constructor(id: RankId, deps: RankFollowDeps) {
    this.id = id;
    this.#deps = deps;
  }

  get trust(): RankTrust {
    if (this.#cursor.state !== 'live') return 'untrusted';
    return this.#partial ? 'partial' : 'trusted';
  }

  /** An idle engine publishes nothing for a long time: what it holds is asked for without waiting for a batch. */
  start(): void {
    if (this.#cursor.state === 'unseen') this.#ask();
  }

  /** The rank is gone, with all it held. */
  stop(): void {
    this.#deps.queue.cancel(this.#deps.pool, this.id);
    this.#deps.index.removeRank(this.id);
  }

  /** Its agent began a new life: what it holds now is asked for. */
  restart(): void {
    this.stop();
    this.#cursor.restart();
    this.#partial = false;
    this.#ask();
  }

  batch(batch: KvBatch): void {
    const { counters } = this.#deps;
    counters.batches++;
    const verdict = this.#cursor.accept(batch);
    switch (verdict.kind) {
      case 'apply':
        this.#applyLive(batch);
        return;
      case 'duplicate':
        counters.duplicateBatches++;
        return;
      case 'stale-epoch':
        counters.staleBatches++;
        return;
      case 'buffered':
        counters.droppedBatches += verdict.droppedBatches;
        return;
      case 'joined':
        this.#ask();
        return;
      case 'gap':
        this.#missing(verdict.missingBatches);
        return;
      case 'new-epoch':
        this.#newEpoch(batch, verdict.missingBatches);
        return;
      default:
        assertNever(verdict, 'batch verdict');
    }
  }

  #newEpoch(batch: KvBatch, missingBatches: number): void {
    this.#deps.counters.epochs++;
    this.#deps.log.info({ pool: this.#deps.pool, rank: rankKey(this.id), epoch: batch.epoch, missingBatches }, 'rank-epoch');
    this.#deps.index.removeRank(this.id);
    this.#partial = false;
    if (missingBatches === 0) this.#applyLive(batch);
    // No gap: an agent that can't know all that is held leaves out batch 0, so that it is asked.
    else this.#ask();
  }

  #missing(missingBatches: number): void {
    this.#deps.counters.gaps++;
    this.#deps.counters.missingBatches += missingBatches;
    this.#deps.log.warn({ pool: this.#deps.pool, rank: rankKey(this.id), missingBatches }, 'kv-gap');
    this.#ask();
  }

  /** An answer on its way is of before: a new ask takes its place. */
  #ask(): void {
    this.#deps.queue.ask(this.#deps.pool, this.id, (snapshot) => this.#snapshot(snapshot));
  }

  #snapshot(snapshot: KvSnapshot): void {
    const verdict = this.#cursor.acceptSnapshot(snapshot);
    switch (verdict.kind) {
      case 'not-needed':
        return;
      case 'stale-epoch':
        this.#ask();
        return;
      case 'apply':
        this.#replaceBy(snapshot);
        for (const batch of verdict.batches) this.#apply(batch);
        if (verdict.missingBatches > 0) this.#missing(verdict.missingBatches);
        return;
      default:
        assertNever(verdict, 'snapshot verdict');
    }
  }

  #replaceBy(snapshot: KvSnapshot): void {
    this.#deps.counters.snapshots++;
    this.#partial = snapshot.partial;
    this.#deps.index.removeRank(this.id);
    for (const run of snapshot.runs) this.#applyEvent(run);
    const heldBlocks = this.#deps.index.blocksHeld(this.id);
    this.#deps.log.info({ pool: this.#deps.pool, rank: rankKey(this.id), seq: snapshot.seq, heldBlocks, partial: snapshot.partial }, 'rank-restored');
  }

  /** Nothing is missing, so an answer still on its way is not needed. */
  #applyLive(batch: KvBatch): void {
    this.#deps.queue.cancel(this.#deps.pool, this.id);
    this.#apply(batch);
  }

  #apply(batch: KvBatch): void {
    for (const event of batch.events) {
      this.#applyEvent(event);
      // What the agent missed before is gone with everything else.
      if (event.kind === 'cleared') this.#partial = false;
      if (event.kind === 'stored') this.#deps.onStored(this.id, event.hashes);
    }
  }

  #applyEvent(event: KvEvent): void {
    const { counters, index } = this.#deps;
    const applied = index.apply(this.id, event);
    counters.storedBlocks += applied.storedBlocks;
    counters.removedBlocks += applied.removedBlocks;
    counters.unknownRemovals += applied.unknownRemovals;
    counters.orphanedBlocks += applied.orphanedBlocks;
    counters.refusedBlocks += applied.refusedBlocks;
  }
}
