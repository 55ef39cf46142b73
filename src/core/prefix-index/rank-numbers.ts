import { RouterError } from '../router-error.ts';
import type { DpRank, RankId, RankKey, WorkerId } from '../identity/ids.ts';
import { rankKey } from '../identity/ids.ts';

/** Rank sets name a rank by 16 bits, and a rank in a tier by four times its number. */
export const maxRanks = 16_383;

/** A rank, by the small number that sets name it with. */
export interface NumberedRank {
  readonly id: RankId;
  readonly key: RankKey;
  readonly number: number;
}

/** Small numbers for ranks; a number is given again once it is freed. `T` is what the caller keeps for each. */
export class RankNumbers<T extends NumberedRank> {
  readonly #make: (rank: NumberedRank) => T;
  readonly #byWorker = new Map<WorkerId, Map<DpRank, T>>();
  readonly #byNumber: (T | null)[] = [];
  readonly #free: number[] = [];

  constructor(make: (rank: NumberedRank) => T) {
    this.#make = make;
  }

  /** Above every number in use. */
  get top(): number {
    return this.#byNumber.length;
  }

  find(id: RankId): T | null {
    return this.#byWorker.get(id.worker)?.get(id.rank) ?? null;
  }

  /** Throws `bad-config` above `maxRanks`. */
  findOrAdd(id: RankId): T {
    const found = this.find(id);
    if (found !== null) return found;
    const number = this.#free.pop() ?? this.#byNumber.length;
    if (number >= maxRanks) throw new RouterError('bad-config', `rank ${rankKey(id)} is one more than the ${maxRanks} that one pool can have: use several pools`);
    const rank = this.#make({ id: { worker: id.worker, rank: id.rank }, key: rankKey(id), number });
    this.#byNumber[number] = rank;
    const ofWorker = this.#byWorker.get(id.worker) ?? new Map<DpRank, T>();
    this.#byWorker.set(id.worker, ofWorker.set(id.rank, rank));
    return rank;
  }

  /** Null: not in use, or retired. */
  at(number: number): T | null {
    return this.#byNumber[number] ?? null;
  }

  /** Whether every number is in use or retired. */
  get exhausted(): boolean {
    return this.#free.length === 0 && this.#byNumber.length >= maxRanks;
  }

  /** Forgets a rank but not its number yet. */
  retire(rank: T): void {
    this.#byNumber[rank.number] = null;
    const ofWorker = this.#byWorker.get(rank.id.worker);
    ofWorker?.delete(rank.id.rank);
    if (ofWorker?.size === 0) this.#byWorker.delete(rank.id.worker);
  }

  /** A retired number may then name another rank: nothing may refer to it any more. */
  recycle(number: number): void {
    this.#free.push(number);
  }

  free(rank: T): void {
    this.retire(rank);
    this.recycle(rank.number);
  }
}
