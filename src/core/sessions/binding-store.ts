import type { RankId, WorkerId } from '../identity/ids.ts';
import type { BindingOwner } from './binding-entry.ts';
import { BindingEntry } from './binding-entry.ts';
import { tenantKey } from './tenant-key.ts';

export interface BindingLimits {
  /** A binding that no request was at for so long is forgotten. */
  readonly idleMs: number;
  /** Above so many entries, those idle the longest go; entries with a running request never do. */
  readonly maxEntries: number;
}

/** Bindings by owner. Those without a running request are also kept in the order they became idle, so that expiry and the bound touch only what they drop. */
export class BindingStore {
  readonly #limits: BindingLimits;
  readonly #entries = new Map<string, BindingEntry>();
  readonly #idle = new Set<BindingEntry>();
  #dropped = 0;

  constructor(limits: BindingLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Bindings that were given up for want of room. */
  get dropped(): number {
    return this.#dropped;
  }

  get entries(): readonly BindingEntry[] {
    return [...this.#entries.values()];
  }

  /** Where a request of this owner should go; null where nothing is bound or proposed, or it has expired. */
  next(owner: BindingOwner, nowMs: number): RankId | null {
    const entry = this.#entries.get(keyOf(owner));
    return entry === undefined || this.#expired(entry, nowMs) ? null : entry.next;
  }

  /** The entry for a request that begins; `leave` it when that request has ended. */
  enter(owner: BindingOwner, nowMs: number): BindingEntry {
    this.expire(nowMs);
    const entry = this.#entries.get(keyOf(owner)) ?? new BindingEntry(owner);
    this.#entries.set(keyOf(owner), entry);
    this.#idle.delete(entry);
    this.#makeRoom();
    return entry;
  }

  /** After a request's stake in the entry has ended. */
  leave(entry: BindingEntry): void {
    if (entry.activeRequests > 0) return;
    this.#idle.add(entry);
    this.#forgetIfEmpty(entry);
    this.#makeRoom();
  }

  /** Forgets what has been idle too long. Returns how many. */
  expire(nowMs: number): number {
    let gone = 0;
    for (const entry of this.#idle) {
      if (!this.#expired(entry, nowMs)) break;
      this.#forget(entry);
      gone += 1;
    }
    return gone;
  }

  /** False: nothing was bound. */
  unbind(owner: BindingOwner): boolean {
    const entry = this.#entries.get(keyOf(owner));
    if (entry === undefined || entry.bound === null) return false;
    entry.unbind();
    this.#forgetIfEmpty(entry);
    return true;
  }

  /** Unbinds all that a gone worker had. Returns how many. */
  forgetWorker(worker: WorkerId): number {
    let gone = 0;
    for (const entry of this.#entries.values()) {
      if (entry.bound?.worker === worker) gone += 1;
      entry.forgetWorker(worker);
      this.#forgetIfEmpty(entry);
    }
    return gone;
  }

  #expired(entry: BindingEntry, nowMs: number): boolean {
    return entry.activeRequests === 0 && nowMs - entry.idleSinceMs >= this.#limits.idleMs;
  }

  #makeRoom(): void {
    for (const entry of this.#idle) {
      if (this.#entries.size <= this.#limits.maxEntries) return;
      this.#forget(entry);
      this.#dropped += 1;
    }
  }

  #forgetIfEmpty(entry: BindingEntry): void {
    if (entry.activeRequests === 0 && entry.bound === null) this.#forget(entry);
  }

  #forget(entry: BindingEntry): void {
    this.#entries.delete(keyOf(entry.owner));
    this.#idle.delete(entry);
  }
}

const keyOf = ({ tenant, session }: BindingOwner): string => tenantKey(tenant, session);
