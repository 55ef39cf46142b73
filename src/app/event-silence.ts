import type { DpRank, WorkerId } from '../core/identity/ids.ts';
import type { Log } from '../ports/log.ts';

/** Longer than an engine keeps events back: it tells them after a prefill, or when it is idle. */
const silenceMs = 10_000;

export interface EventSilenceDeps {
  readonly worker: WorkerId;
  readonly log: Log;
  /** Batches that came over the rank's event socket; null for a rank without events. */
  readonly liveBatchesOf: (rank: DpRank) => number | null;
}

/**
 * Notices an engine that answers requests but has never sent a KV event: most likely its event port can't be reached.
 * Prompts that are all in its cache bring none either, so one event ends the suspicion for good.
 */
export class EventSilence {
  readonly #deps: EventSilenceDeps;
  /** When the first request was answered, by rank; null: it was told, or events came. */
  readonly #since = new Map<DpRank, number | null>();

  constructor(deps: EventSilenceDeps) {
    this.#deps = deps;
  }

  /** A request that must have filled a page was answered by this rank. Says so once where 10 s of them brought no event. */
  answered(rank: DpRank, nowMs: number): void {
    const sinceMs = this.#since.get(rank) ?? (this.#since.has(rank) ? null : nowMs);
    this.#since.set(rank, sinceMs);
    if (sinceMs === null || this.#deps.liveBatchesOf(rank) === null) return;
    if (this.#deps.liveBatchesOf(rank) !== 0) return void this.#since.set(rank, null);
    if (nowMs - sinceMs < silenceMs) return;
    this.#since.set(rank, null);
    const wayOut = 'is its KV event port open to this agent? name the right one with --kv-endpoint';
    this.#deps.log.error({ worker: this.#deps.worker, rank, silentMs: Math.round(nowMs - sinceMs), wayOut }, 'engine-sends-no-kv-events');
  }
}
