import type { RankId, SessionId, TenantId, WorkerId } from '../identity/ids.ts';
import type { SessionRef } from '../placement/placement.ts';
import type { Bindings } from '../placement/pool-view.ts';
import { noBindings } from '../placement/pool-view.ts';
import type { BindingEntry, BindingOwner } from './binding-entry.ts';
import { BindingStore } from './binding-store.ts';
import type { Lease } from './session-lease.ts';
import { SessionLease, noLease } from './session-lease.ts';

/** One binding, to be looked at. */
export interface BindingRecord {
  /** `siblings`: of the children of `session`, which may be bound elsewhere itself. */
  readonly kind: 'session' | 'siblings';
  readonly tenant: TenantId;
  readonly session: SessionId;
  readonly id: RankId;
  readonly activeRequests: number;
  readonly boundAtMs: number;
  /** Null while a request is running. */
  readonly idleSinceMs: number | null;
}

export interface SessionTableOptions {
  /** A binding that no request was at for so long is forgotten. */
  readonly idleMs: number;
  /** Bound on the sessions and, apart from them, on the sibling groups; the longest idle go first. */
  readonly maxSessions: number;
}

/**
 * Which rank each session is bound to, and each group of siblings. A group is its own binding under the parent's id:
 * the parent's never moves because of its children.
 */
export class SessionTable {
  readonly #sessions: BindingStore;
  readonly #groups: BindingStore;

  constructor({ idleMs, maxSessions }: SessionTableOptions) {
    this.#sessions = new BindingStore({ idleMs, maxEntries: maxSessions });
    this.#groups = new BindingStore({ idleMs, maxEntries: maxSessions });
  }

  /** Sessions that are bound or have a request running. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Bindings of sessions and groups given up for want of room. */
  get dropped(): number {
    return this.#sessions.dropped + this.#groups.dropped;
  }

  /** What affinity may follow for a request; a proposal that awaits its commit counts as a binding. Changes nothing. */
  bindingsFor(ref: SessionRef | null, nowMs: number): Bindings {
    if (ref === null) return noBindings;
    const parent = parentOf(ref);
    return {
      own: this.#sessions.next(ref, nowMs),
      parent: parent === null ? null : this.#sessions.next(parent, nowMs),
      siblings: parent === null ? null : this.#groups.next(parent, nowMs),
    };
  }

  /** For a request that begins, before or right after it is placed; a request without a session holds nothing. */
  begin(ref: SessionRef | null, nowMs: number): Lease {
    if (ref === null) return noLease;
    const entry = this.#sessions.enter({ tenant: ref.tenant, session: ref.session }, nowMs);
    const parent = parentOf(ref);
    // A child that is bound goes its own way: it keeps the group alive, but only those that come to it form and move it.
    const group = parent === null ? null : { store: this.#groups, entry: this.#groups.enter(parent, nowMs), binds: entry.bound === null };
    return new SessionLease({ store: this.#sessions, entry, binds: true }, group);
  }

  /** A worker is gone: what was bound to it, or about to be, is placed anew. Returns how many bindings it had. */
  invalidateWorker(worker: WorkerId): number {
    return this.#sessions.forgetWorker(worker) + this.#groups.forgetWorker(worker);
  }

  /** Forgets what has been idle too long. Returns how many bindings. */
  expire(nowMs: number): number {
    return this.#sessions.expire(nowMs) + this.#groups.expire(nowMs);
  }

  /** Forgets a session's own binding; its children's group stays. False: it had none. */
  unbind(tenant: TenantId, session: SessionId): boolean {
    return this.#sessions.unbind({ tenant, session });
  }

  /** All bindings, sessions first. */
  list(): readonly BindingRecord[] {
    return [
      ...this.#sessions.entries.flatMap((entry) => recordOf('session', entry)),
      ...this.#groups.entries.flatMap((entry) => recordOf('siblings', entry)),
    ];
  }
}

const parentOf = ({ tenant, parent }: SessionRef): BindingOwner | null => (parent === null ? null : { tenant, session: parent });

function recordOf(kind: BindingRecord['kind'], { owner, bound, activeRequests, boundAtMs, idleSinceMs }: BindingEntry): BindingRecord[] {
  if (bound === null) return [];
  return [{ kind, ...owner, id: bound, activeRequests, boundAtMs, idleSinceMs: activeRequests > 0 ? null : idleSinceMs }];
}
