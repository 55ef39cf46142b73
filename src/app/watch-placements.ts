import type { PlacementEvent } from '../core/placement/placement-event.ts';
import { RouterError } from '../core/router-error.ts';
import type { PlacementFollower } from '../ports/placement-bus.ts';

/** Which events of the placement stream are wanted; null is all. */
export interface PlacementFilter {
  readonly pool: string | null;
  readonly worker: string | null;
  readonly session: string | null;
  readonly events: readonly PlacementEvent['event'][] | null;
  /** A sequence of the stream to go on behind; null is from now on. */
  readonly after: number | null;
}

export const allPlacements: PlacementFilter = { pool: null, worker: null, session: null, events: null, after: null };

export interface WatchedPlacement {
  /** Its place in the stream: what to give as `after` to go on from here. */
  readonly sequence: number;
  readonly event: PlacementEvent;
}

const maxWaiting = 10_000;

function matchesFilter(event: PlacementEvent, filter: PlacementFilter): boolean {
  if (filter.pool !== null && event.pool !== filter.pool) return false;
  if (filter.events !== null && !filter.events.includes(event.event)) return false;
  if (filter.worker !== null && !('worker' in event && event.worker === filter.worker)) return false;
  return filter.session === null || (event.event === 'placed' && event.session === filter.session);
}

/**
 * Follows placement events until `signal` aborts. A reader that is 10,000 events behind gets `bus-unavailable` with the
 * sequence to go on from, rather than a stream with holes.
 */
export async function* watchPlacements(follower: PlacementFollower, filter: PlacementFilter, signal: AbortSignal): AsyncGenerator<WatchedPlacement> {
  const waiting: WatchedPlacement[] = [];
  let wake: () => void = () => {};
  let behind = false;
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort);
  const following = await follower.follow({ pool: filter.pool, after: filter.after }, (event, sequence) => {
    if (behind || !matchesFilter(event, filter)) return;
    if (waiting.length >= maxWaiting) behind = true;
    else waiting.push({ sequence, event });
    wake();
  });
  let last = filter.after ?? 0;
  try {
    while (!signal.aborted) {
      const next = waiting.shift();
      if (next !== undefined) {
        last = next.sequence;
        yield next;
      } else if (behind) {
        throw new RouterError('bus-unavailable', `the reader of placement events was ${maxWaiting} events behind: go on after sequence ${last}`);
      } else {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    await following.close();
  }
}
