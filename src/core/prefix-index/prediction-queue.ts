import type { RankId, RequestId } from '../identity/ids.ts';
import type { SequenceHashes } from '../identity/sequence-hash.ts';
import { noHashes } from '../identity/sequence-hash.ts';

/** One placement, and what it is expected to leave on its rank until it expires. */
export interface Prediction {
  readonly requestId: RequestId;
  readonly id: RankId;
  readonly expiresAtMs: number;
  /** Empty: nothing is promised any more. */
  hashes: SequenceHashes;
}

/** Predictions, oldest first. One lifetime for all makes the order of arrival the order of expiry. */
export class PredictionQueue {
  #items: Prediction[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(prediction: Prediction): void {
    this.#items.push(prediction);
  }

  oldest(): Prediction | null {
    return this.#items[this.#head] ?? null;
  }

  dropOldest(): void {
    this.#head++;
    // Moves what is left when as much was dropped: constant on average, and the array stays within twice its use.
    if (2 * this.#head >= this.#items.length) this.#rewrite();
  }

  /** Takes out those that promise nothing. */
  rewriteLive(): void {
    this.#rewrite();
    this.#items = this.#items.filter((prediction) => prediction.hashes !== noHashes);
  }

  *[Symbol.iterator](): IterableIterator<Prediction> {
    for (let i = this.#head; i < this.#items.length; i++) {
      const prediction = this.#items[i];
      if (prediction !== undefined) yield prediction;
    }
  }

  #rewrite(): void {
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }
}
