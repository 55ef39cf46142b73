import type { RankId } from '../identity/ids.ts';
import type { BindingEntry, Stake } from './binding-entry.ts';
import type { BindingStore } from './binding-store.ts';

/** One request's hold on its session, from before it is placed until it has ended. `propose`, `commit` and `end` in this order; a retry proposes again. */
export interface Lease {
  /** At placement: requests of the session, and of its siblings, that begin before the commit follow to this rank. */
  propose(id: RankId): void;
  /**
   * After the dispatch succeeded: binds. False where the session has been bound anew since the proposal; that stays.
   * Not for a request with an explicit target, which says where this request goes and not its session.
   */
  commit(id: RankId, nowMs: number): boolean;
  /** On every path, once: withdraws what was not committed and starts the idle time. */
  end(nowMs: number): void;
}

/** Of a request without a session. */
export const noLease: Lease = {
  propose: () => undefined,
  commit: () => false,
  end: () => undefined,
};

/** A binding that a request is at. */
export interface LeasedEntry {
  readonly store: BindingStore;
  readonly entry: BindingEntry;
  /** False: the request only keeps it alive. */
  readonly binds: boolean;
}

/** Holds the session's own binding and, for a child, its siblings' group. */
export class SessionLease implements Lease {
  readonly #held: readonly (LeasedEntry & { readonly stake: Stake })[];

  constructor(own: LeasedEntry, group: LeasedEntry | null) {
    const entries = group === null ? [own] : [own, group];
    this.#held = entries.map((leased) => ({ ...leased, stake: leased.entry.begin() }));
  }

  propose(id: RankId): void {
    for (const { entry, stake, binds } of this.#held) if (binds) entry.propose(stake, id);
  }

  commit(id: RankId, nowMs: number): boolean {
    const [own] = this.#held.map(({ entry, stake, binds }) => binds && entry.commit(stake, id, nowMs));
    return own ?? false;
  }

  end(nowMs: number): void {
    for (const { store, entry, stake } of this.#held) {
      if (entry.end(stake, nowMs)) store.leave(entry);
    }
  }
}
