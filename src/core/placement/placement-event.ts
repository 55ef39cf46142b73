import type { PlacementMode, ParentAffinity, PlacementReason } from './placement.ts';

/** What all events of the placement stream carry. Ids and 64-bit values are strings; times are ISO 8601. */
interface EventBase {
  readonly v: 1;
  readonly at: string;
  readonly router: string;
  readonly pool: string;
}

interface RequestEventBase extends EventBase {
  readonly requestId: string;
}

interface PlacedOn {
  readonly worker: string;
  readonly rank: number;
}

export interface CandidateRecord extends PlacedOn {
  readonly eligible: boolean;
  readonly why: string | null;
  readonly trusted: boolean;
  readonly overlapBlocks: number;
  readonly predictedBlocks: number;
  readonly load: {
    readonly requests: number;
    readonly prefillTokens: number;
    readonly decodeTokens: number;
    readonly reportedRunning: number | null;
    readonly reportedWaiting: number | null;
  };
  readonly cost: number | null;
  readonly terms: Readonly<Record<string, number>>;
}

export interface ShadowRecord extends PlacedOn {
  readonly overlapBlocks: number;
  readonly reason: PlacementReason;
}

export interface PlacedEvent extends RequestEventBase, PlacedOn {
  readonly event: 'placed';
  readonly mode: PlacementMode;
  readonly reason: PlacementReason;
  readonly session: string | null;
  readonly parent: string | null;
  readonly promptTokens: number | null;
  readonly requestBlocks: number;
  readonly overlapBlocks: number;
  readonly overlapSource: 'events' | 'predicted' | 'none';
  /** What this request claims of the rank, so that the other routers can count it. */
  readonly claim: { readonly prefillTokens: number; readonly blocks: number };
  readonly candidates: readonly CandidateRecord[];
  readonly shadow: Readonly<Record<'event' | 'predicted' | 'affinity', ShadowRecord | null>>;
}

export interface FirstTokenEvent extends RequestEventBase, PlacedOn {
  readonly event: 'first_token';
  readonly ttftMs: number;
}

export interface FinishedEvent extends RequestEventBase, PlacedOn {
  readonly event: 'finished';
  readonly status: number;
  /** Null for a response without a stream, where the first byte is the whole answer. */
  readonly ttftMs: number | null;
  readonly durationMs: number;
  /** The engine's word; null where it did not say. */
  readonly promptTokens: number | null;
  readonly cachedTokens: number | null;
  readonly completionTokens: number | null;
  readonly overlapBlocks: number;
}

export interface FailedEvent extends RequestEventBase, PlacedOn {
  readonly event: 'failed';
  readonly code: string;
  readonly message: string;
  readonly durationMs: number;
}

export interface ReroutedEvent extends RequestEventBase, PlacedOn {
  readonly event: 'rerouted';
  /** The rank that failed; the next `placed` says where it went. */
  readonly code: string;
}

export interface RejectedEvent extends RequestEventBase {
  readonly event: 'rejected';
  readonly code: string;
  readonly message: string;
}

export interface ModeChangedEvent extends EventBase {
  readonly event: 'mode_changed';
  readonly mode: PlacementMode;
  readonly parentAffinity: ParentAffinity;
}

/** One record of the placement stream: `kin.v1.placement.<pool>.<worker>.<event>`, worker `-` where there is none. */
export type PlacementEvent =
  | PlacedEvent
  | FirstTokenEvent
  | FinishedEvent
  | FailedEvent
  | ReroutedEvent
  | RejectedEvent
  | ModeChangedEvent;
