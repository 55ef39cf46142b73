import type { RankId, RankKey, WorkerId } from '../../core/identity/ids.ts';
import { rankKey } from '../../core/identity/ids.ts';

/**
 * Ranks that could not be reached a moment ago: other requests pass them by while there is another to take them. Short,
 * so that one that is back gets work again within two seconds.
 */
export class RankCooldown {
  readonly #coolMs: number;
  readonly #until = new Map<RankKey, { readonly id: RankId; readonly untilMs: number }>();

  constructor(coolMs: number) {
    this.#coolMs = coolMs;
  }

  failed(id: RankId, nowMs: number): void {
    this.#until.set(rankKey(id), { id, untilMs: nowMs + this.#coolMs });
  }

  answered(id: RankId): void {
    this.#until.delete(rankKey(id));
  }

  forgetWorker(worker: WorkerId): void {
    for (const [key, { id }] of this.#until) if (id.worker === worker) this.#until.delete(key);
  }

  cooling(nowMs: number): readonly RankId[] {
    return [...this.#until.values()].filter(({ untilMs }) => untilMs > nowMs).map(({ id }) => id);
  }
}
