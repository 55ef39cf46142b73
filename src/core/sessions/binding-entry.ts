import type { RankId, SessionId, TenantId, WorkerId } from '../identity/ids.ts';
import { sameRank } from '../identity/ids.ts';

/** Whose binding it is: a session's own, or under a parent's id that of its children. */
export interface BindingOwner {
  readonly tenant: TenantId;
  readonly session: SessionId;
}

/** One running request's part in a binding: where it is placed, and the generation that its placement knew. */
export interface Stake {
  id: RankId | null;
  generation: number;
}

/** No generation of a binding: what carries it can't write before it is placed again. */
const outdated = -1;

/**
 * What one owner is bound to, and which requests are at it. Each change of the binding is a new generation; a stake
 * writes only where the generation it knew still stands, so a late one never undoes a newer binding.
 */
export class BindingEntry {
  readonly owner: BindingOwner;
  readonly #stakes = new Set<Stake>();
  #bound: RankId | null = null;
  #generation = 0;
  #boundAtMs = 0;
  #idleSinceMs = 0;

  constructor(owner: BindingOwner) {
    this.owner = owner;
  }

  get bound(): RankId | null {
    return this.#bound;
  }

  /** Where the next request should go: the binding, else what the first of the running requests is placed on. */
  get next(): RankId | null {
    if (this.#bound !== null) return this.#bound;
    for (const stake of this.#stakes) if (stake.id !== null) return stake.id;
    return null;
  }

  get activeRequests(): number {
    return this.#stakes.size;
  }

  get boundAtMs(): number {
    return this.#boundAtMs;
  }

  get idleSinceMs(): number {
    return this.#idleSinceMs;
  }

  begin(): Stake {
    const stake: Stake = { id: null, generation: this.#generation };
    this.#stakes.add(stake);
    return stake;
  }

  propose(stake: Stake, id: RankId): void {
    if (!this.#stakes.has(stake)) return;
    stake.id = id;
    stake.generation = this.#generation;
  }

  /** False: the binding has changed since the request was placed, and stays. */
  commit(stake: Stake, id: RankId, nowMs: number): boolean {
    if (!this.#stakes.has(stake) || stake.generation === outdated) return false;
    if (this.#bound !== null && sameRank(this.#bound, id)) return true;
    if (stake.generation !== this.#generation) return false;
    this.#bind(id);
    this.#boundAtMs = nowMs;
    this.propose(stake, id);
    return true;
  }

  /** A request is over; one that had not committed leaves the decision to the next in line. False: it was over already. */
  end(stake: Stake, nowMs: number): boolean {
    if (!this.#stakes.delete(stake)) return false;
    this.#idleSinceMs = Math.max(this.#idleSinceMs, nowMs);
    return true;
  }

  /** What runs now was placed by the binding that goes, and must not bring it back. */
  unbind(): void {
    this.#bind(null);
    for (const stake of this.#stakes) outdate(stake);
  }

  /** The worker is gone: neither a binding nor a placement on it counts any more. */
  forgetWorker(worker: WorkerId): void {
    const before = this.#generation;
    if (this.#bound?.worker === worker) this.#bind(null);
    for (const stake of this.#stakes) {
      if (stake.id?.worker === worker) outdate(stake);
      // One that had left the worker before it was known to be gone has placed itself by the newest there is.
      else if (stake.generation === before) stake.generation = this.#generation;
    }
  }

  #bind(id: RankId | null): void {
    this.#bound = id;
    this.#generation += 1;
  }
}

function outdate(stake: Stake): void {
  stake.id = null;
  stake.generation = outdated;
}
