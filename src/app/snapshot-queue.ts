import type { PoolId, RankId, RankKey } from '../core/identity/ids.ts';
import { rankKey } from '../core/identity/ids.ts';
import type { KvSnapshot } from '../core/kv-stream/kv-event.ts';
import { messageOf, RouterError } from '../core/router-error.ts';
import type { Clock } from '../ports/clock.ts';
import type { SnapshotClient } from '../ports/kv-bus.ts';
import type { Log } from '../ports/log.ts';
import type { FollowCounters } from './follow-counters.ts';

/** How snapshots are asked for: few at once, spread in time, ever more slowly where nobody answers. */
export interface SnapshotPace {
  readonly maxAtOnce: number;
  /** The first try waits a random part of this, so that many routers do not ask one agent in one moment. */
  readonly jitterMs: number;
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
  /** An agent that has not answered by then is asked again. */
  readonly timeoutMs: number;
}

export const defaultSnapshotPace: SnapshotPace = { maxAtOnce: 4, jitterMs: 100, firstRetryMs: 250, maxRetryMs: 15_000, timeoutMs: 20_000 };

export interface SnapshotQueueDeps {
  readonly snapshots: SnapshotClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: FollowCounters;
  readonly random: () => number;
}

interface Ask {
  readonly pool: PoolId;
  readonly id: RankId;
  readonly onSnapshot: (snapshot: KvSnapshot) => void;
  readonly cancelled: AbortController;
  failures: number;
  stopTimer: () => void;
}

/** Asks agents for snapshots until each has answered or is cancelled: one ask a rank at a time. */
export class SnapshotQueue {
  readonly #deps: SnapshotQueueDeps;
  readonly #pace: SnapshotPace;
  readonly #asks = new Map<string, Ask>();
  readonly #due: Ask[] = [];
  readonly #running = new Set<Promise<void>>();

  constructor(deps: SnapshotQueueDeps, pace: SnapshotPace) {
    this.#deps = deps;
    this.#pace = pace;
  }

  /** Asks that have not been answered. */
  get pending(): number {
    return this.#asks.size;
  }

  /** Takes the place of an earlier ask for the same rank, whose answer is then ignored. */
  ask(pool: PoolId, id: RankId, onSnapshot: (snapshot: KvSnapshot) => void): void {
    this.cancel(pool, id);
    const ask: Ask = { pool, id, onSnapshot, cancelled: new AbortController(), failures: 0, stopTimer: () => undefined };
    this.#asks.set(askKey(pool, id), ask);
    this.#schedule(ask, this.#deps.random() * this.#pace.jitterMs);
  }

  cancel(pool: PoolId, id: RankId): void {
    const ask = this.#asks.get(askKey(pool, id));
    if (ask === undefined) return;
    this.#asks.delete(askKey(pool, id));
    ask.stopTimer();
    ask.cancelled.abort(new RouterError('cancelled', `snapshot of ${rankKey(id)} is no longer wanted`));
  }

  async close(): Promise<void> {
    for (const ask of [...this.#asks.values()]) this.cancel(ask.pool, ask.id);
    await Promise.all(this.#running);
  }

  #schedule(ask: Ask, delayMs: number): void {
    ask.stopTimer = this.#deps.clock.after(delayMs, () => {
      this.#due.push(ask);
      this.#next();
    });
  }

  #next(): void {
    while (this.#running.size < this.#pace.maxAtOnce) {
      const ask = this.#due.shift();
      if (ask === undefined) return;
      if (ask.cancelled.signal.aborted) continue;
      const running = this.#fetch(ask).finally(() => {
        this.#running.delete(running);
        this.#next();
      });
      this.#running.add(running);
    }
  }

  async #fetch(ask: Ask): Promise<void> {
    const tooLong = new AbortController();
    const stopTimeout = this.#deps.clock.after(this.#pace.timeoutMs, () =>
      tooLong.abort(new RouterError('worker-silent', `worker ${ask.id.worker} sent no snapshot of rank ${ask.id.rank} within ${this.#pace.timeoutMs} ms`)),
    );
    try {
      const snapshot = await this.#deps.snapshots.fetch(ask.pool, ask.id, AbortSignal.any([ask.cancelled.signal, tooLong.signal]));
      if (ask.cancelled.signal.aborted) return;
      this.#asks.delete(askKey(ask.pool, ask.id));
      ask.onSnapshot(snapshot);
    } catch (error) {
      this.#retry(ask, error);
    } finally {
      stopTimeout();
    }
  }

  #retry(ask: Ask, error: unknown): void {
    const taken = this.#asks.get(askKey(ask.pool, ask.id)) ?? ask;
    if (ask.cancelled.signal.aborted || taken !== ask) return;
    this.#asks.set(askKey(ask.pool, ask.id), ask);
    const steady = Math.min(this.#pace.maxRetryMs, this.#pace.firstRetryMs * 2 ** ask.failures);
    const delayMs = steady * (0.5 + this.#deps.random() / 2);
    ask.failures++;
    this.#deps.counters.failedSnapshots++;
    this.#deps.log.warn({ pool: ask.pool, rank: rankKey(ask.id), failures: ask.failures, retryMs: Math.round(delayMs), error: messageOf(error) }, 'snapshot-failed');
    this.#schedule(ask, delayMs);
  }
}

const askKey = (pool: PoolId, id: RankId): `${PoolId}/${RankKey}` => `${pool}/${rankKey(id)}`;
