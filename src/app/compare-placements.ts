import type { PlacedEvent } from '../core/placement/placement-event.ts';
import type { Clock } from '../ports/clock.ts';
import type { Closable } from '../ports/kv-bus.ts';
import type { PlacementFollower } from '../ports/placement-bus.ts';
import { pause } from './pause.ts';

const pollMs = 10;
const patienceMs = 2_000;
const maxKept = 1_000;

/** Keeps the latest `placed` events, so that a cell can be explained by them. */
export class PlacementRecorder {
  readonly #placed: ReadonlyMap<string, PlacedEvent>;
  readonly #following: Closable;

  private constructor(following: Closable, placed: ReadonlyMap<string, PlacedEvent>) {
    this.#following = following;
    this.#placed = placed;
  }

  static async start(follower: PlacementFollower): Promise<PlacementRecorder> {
    const placed = new Map<string, PlacedEvent>();
    const following = await follower.follow({ pool: null, after: null }, (event) => {
      if (event.event !== 'placed') return;
      placed.set(event.requestId, event);
      const oldest = placed.keys().next();
      if (placed.size > maxKept && oldest.done !== true) placed.delete(oldest.value);
    });
    return new PlacementRecorder(following, placed);
  }

  /** The records of these requests in the order of placement; after two seconds those that came. */
  async placedFor(requestIds: readonly (string | null)[], clock: Clock, signal: AbortSignal): Promise<readonly PlacedEvent[]> {
    const ids = new Set(requestIds.filter((id) => id !== null));
    const untilMs = clock.nowMs() + patienceMs;
    while ([...ids].some((id) => !this.#placed.has(id)) && clock.nowMs() < untilMs) await pause(pollMs, clock, signal);
    return [...this.#placed.values()].filter((event) => ids.has(event.requestId));
  }

  close(): Promise<void> {
    return this.#following.close();
  }
}
