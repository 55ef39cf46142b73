import type { PlacementEvent } from '../core/placement/placement-event.ts';
import type { Closable } from './kv-bus.ts';

export interface PlacementPublisher {
  /** Never blocks and never throws: an event that can't be sent is counted. */
  publish(event: PlacementEvent): void;
}

export interface PlacementFollower {
  /** Live events of all routers, in order of arrival; `after` (a stream sequence) resumes behind it. */
  follow(options: { readonly pool: string | null; readonly after: number | null }, onEvent: (event: PlacementEvent, sequence: number) => void): Promise<Closable>;
}
