export { watchPlacements } from './watch-placements.ts';
export type { WatchOptions } from './watch-placements.ts';
export type { PlacementFilter, WatchedPlacement } from '../app/watch-placements.ts';
export { placementLine } from '../core/evidence/placement-line.ts';
export { parentAffinities, placementModes } from '../core/placement/placement.ts';
export type { ParentAffinity, PlacementMode, PlacementReason } from '../core/placement/placement.ts';
export type {
  CandidateRecord,
  FailedEvent,
  FinishedEvent,
  FirstTokenEvent,
  ModeChangedEvent,
  PlacedEvent,
  PlacementEvent,
  RejectedEvent,
  ReroutedEvent,
  ShadowRecord,
} from '../core/placement/placement-event.ts';
export { RouterError } from '../core/router-error.ts';
export type { ErrorCode } from '../core/router-error.ts';
