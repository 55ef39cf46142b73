import type { PlacementEvent } from '../placement/placement-event.ts';

const names = {
  placed: null,
  first_token: null,
  finished: null,
  failed: null,
  rerouted: null,
  rejected: null,
  mode_changed: null,
} satisfies Record<PlacementEvent['event'], null>;

/** Every kind of event that the placement stream carries. */
export const placementEventNames: readonly PlacementEvent['event'][] = Object.keys(names) as (keyof typeof names)[];
