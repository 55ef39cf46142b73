import type { RankId, RankKey, RequestId } from '../identity/ids.ts';
import type { SequenceHashes } from '../identity/sequence-hash.ts';
import { hashCount, noHashes, sliceHashes } from '../identity/sequence-hash.ts';
import type { Prediction } from './prediction-queue.ts';
import { PredictionCounts } from './prediction-counts.ts';
import { PredictionQueue } from './prediction-queue.ts';
import { RadixIndex } from './radix-index.ts';
import type { NumberedRank } from './rank-numbers.ts';
import { RankNumbers } from './rank-numbers.ts';

/** Withdrawn predictions that may wait in the queue before it is rewritten, beside as many as are live. */
const slack = 64;

/**
 * What the router's own recent placements promise: a block is credited to a rank while one prediction of it has not
 * expired. An engine's event confirms blocks: they then outlive a withdrawal, until they expire as any.
 */
export class PredictedIndex {
  readonly #ttlMs: number;
  readonly #maxBlocks: number;
  readonly #index = new RadixIndex();
  readonly #counts = new PredictionCounts();
  readonly #ranks = new RankNumbers<NumberedRank>((rank) => rank);
  readonly #queue = new PredictionQueue();
  readonly #withdrawable = new Map<RequestId, Prediction>();
  #live = 0;
  #blocks = 0;
  #droppedBlocks = 0;

  /** `maxBlocks` bounds the blocks of all predictions together; a block counts once for each that promises it. */
  constructor(options: { readonly ttlMs: number; readonly maxBlocks: number }) {
    this.#ttlMs = options.ttlMs;
    this.#maxBlocks = options.maxBlocks;
  }

  /** Predictions that still promise something. */
  get size(): number {
    return this.#live;
  }

  /** Blocks of all predictions. */
  get blocks(): number {
    return this.#blocks;
  }

  /** Blocks that were forgotten before their time to stay within `maxBlocks`. */
  get droppedBlocks(): number {
    return this.#droppedBlocks;
  }

  /** `hashes` is the prompt's chain from its first block. Another prediction of the same request takes its place. */
  predict(requestId: RequestId, id: RankId, hashes: SequenceHashes, nowMs: number): void {
    this.expire(nowMs);
    this.withdraw(requestId);
    const wanted = sliceHashes(hashes, 0, Math.min(hashCount(hashes), this.#maxBlocks));
    const rank = this.#ranks.findOrAdd(id);
    const kept = sliceHashes(wanted, 0, this.#counts.addRun(wanted, rank.number));
    this.#droppedBlocks += hashCount(hashes) - hashCount(kept);
    if (kept.length === 0) return;
    this.#index.apply(id, { kind: 'stored', parent: null, hashes: kept, tier: 'device' });
    const prediction: Prediction = { requestId, id: rank.id, expiresAtMs: nowMs + this.#ttlMs, hashes: kept };
    this.#queue.push(prediction);
    this.#withdrawable.set(requestId, prediction);
    this.#live++;
    this.#blocks += hashCount(kept);
    this.#dropOldest();
  }

  /** Takes back what a request promised, but for blocks that an engine confirmed. Unknown or expired: no change. */
  withdraw(requestId: RequestId): void {
    const prediction = this.#withdrawable.get(requestId);
    if (prediction === undefined) return;
    this.#withdrawable.delete(requestId);
    const rank = this.#ranks.findOrAdd(prediction.id).number;
    const { confirmed, others } = this.#split(prediction.hashes, rank);
    this.#release(prediction, others);
    this.#replace(prediction, confirmed);
    if (this.#queue.length > 2 * this.#live + slack) this.#queue.rewriteLive();
  }

  /** The engine says that the rank stored these blocks. */
  confirm(id: RankId, hashes: SequenceHashes): void {
    const rank = this.#ranks.find(id);
    if (rank === null) return;
    const count = hashCount(hashes);
    for (let i = 0; i < count; i++) this.#counts.confirm(hashes, i, rank.number);
  }

  /** Forgets what has expired by now. Called by every `predict` and `overlaps`; a timer keeps the slices small. */
  expire(nowMs: number): void {
    for (let oldest = this.#queue.oldest(); oldest !== null && oldest.expiresAtMs <= nowMs; oldest = this.#queue.oldest()) {
      this.#forget(oldest);
      this.#queue.dropOldest();
    }
  }

  /** Leading blocks without a gap, for each rank that is promised at least the first. */
  overlaps(hashes: SequenceHashes, nowMs: number): ReadonlyMap<RankKey, number> {
    this.expire(nowMs);
    return this.#index.overlaps(hashes);
  }

  /** Forgets all that was predicted for a rank. */
  removeRank(id: RankId): void {
    const rank = this.#ranks.find(id);
    if (rank === null) return;
    for (const prediction of this.#queue) if (prediction.id === rank.id) this.#forget(prediction);
    this.#queue.rewriteLive();
    this.#index.removeRank(id);
    this.#ranks.free(rank);
  }

  #dropOldest(): void {
    for (let oldest = this.#queue.oldest(); oldest !== null && this.#blocks > this.#maxBlocks; oldest = this.#queue.oldest()) {
      this.#droppedBlocks += hashCount(oldest.hashes);
      this.#forget(oldest);
      this.#queue.dropOldest();
    }
  }

  #forget(prediction: Prediction): void {
    if (this.#withdrawable.get(prediction.requestId) === prediction) this.#withdrawable.delete(prediction.requestId);
    this.#release(prediction, prediction.hashes);
    this.#replace(prediction, noHashes);
  }

  /** One prediction less for each of these blocks; those that no other promises leave the index. */
  #release(prediction: Prediction, hashes: SequenceHashes): void {
    const rank = this.#ranks.findOrAdd(prediction.id).number;
    const gone = pick(hashes, (index) => this.#counts.take(hashes, index, rank));
    if (gone.length > 0) this.#index.apply(prediction.id, { kind: 'removed', hashes: gone, tier: 'device' });
  }

  #replace(prediction: Prediction, hashes: SequenceHashes): void {
    if (prediction.hashes === noHashes) return;
    this.#blocks -= hashCount(prediction.hashes) - hashCount(hashes);
    prediction.hashes = hashes.length === 0 ? noHashes : hashes;
    if (hashes.length === 0) this.#live--;
  }

  #split(hashes: SequenceHashes, rank: number): { readonly confirmed: SequenceHashes; readonly others: SequenceHashes } {
    return {
      confirmed: pick(hashes, (index) => this.#counts.isConfirmed(hashes, index, rank)),
      others: pick(hashes, (index) => !this.#counts.isConfirmed(hashes, index, rank)),
    };
  }
}

/** The hashes that `takes` is true of, each asked once and in order. */
function pick(hashes: SequenceHashes, takes: (index: number) => boolean): SequenceHashes {
  const words = new Int32Array(hashes.length) as SequenceHashes;
  const count = hashCount(hashes);
  let kept = 0;
  for (let i = 0; i < count; i++) {
    if (!takes(i)) continue;
    words[2 * kept] = hashes[2 * i] ?? 0;
    words[2 * kept + 1] = hashes[2 * i + 1] ?? 0;
    kept++;
  }
  return sliceHashes(words, 0, kept);
}
