import type { PoolId, RankId, RequestId, RouterId } from '../identity/ids.ts';
import { hashCount } from '../identity/sequence-hash.ts';
import type { Claim } from '../load/claim.ts';
import type { Candidate, Choice, LivePolicy, Placement, PlacementRequest } from './placement.ts';
import type {
  CandidateRecord,
  FailedEvent,
  FinishedEvent,
  FirstTokenEvent,
  ModeChangedEvent,
  PlacedEvent,
  RejectedEvent,
  ReroutedEvent,
  ShadowRecord,
} from './placement-event.ts';

export type PlacedPlacement = Extract<Placement, { kind: 'placed' }>;

/** Who says it, and when: `at` is ISO 8601. */
export interface EventOrigin {
  readonly at: string;
  readonly router: RouterId;
  readonly pool: PoolId;
}

/** Which request, and the rank it is on. */
export interface EventSubject {
  readonly requestId: RequestId;
  readonly id: RankId;
}

/** All that the decision was made from: the record alone explains it. */
export function toPlacedEvent(origin: EventOrigin, request: PlacementRequest, placed: { readonly placement: PlacedPlacement; readonly claim: Claim }): PlacedEvent {
  const { placement, claim } = placed;
  const { event, predicted, affinity } = placement.shadow;
  return {
    ...base('placed', origin),
    requestId: request.id,
    mode: placement.mode,
    ...placement.id,
    reason: placement.reason,
    session: request.session?.session ?? null,
    parent: request.session?.parent ?? null,
    promptTokens: request.promptTokens,
    requestBlocks: hashCount(request.hashes),
    overlapBlocks: placement.overlapBlocks,
    overlapSource: placement.overlapSource,
    claim: { prefillTokens: claim.prefillTokens, blocks: claim.blocks },
    candidates: placement.candidates.map(candidateRecord),
    shadow: { event: shadowRecord(event), predicted: shadowRecord(predicted), affinity: shadowRecord(affinity) },
  };
}

/** `ttftMs`: from the request's arrival at the router. */
export function toFirstTokenEvent(origin: EventOrigin, subject: EventSubject, ttftMs: number): FirstTokenEvent {
  return { ...base('first_token', origin), ...on(subject), ttftMs };
}

/** What a finished request came to; `cachedTokens` and the like are the engine's word. */
export type FinishedFigures = Pick<FinishedEvent, 'status' | 'ttftMs' | 'durationMs' | 'promptTokens' | 'cachedTokens' | 'completionTokens' | 'overlapBlocks'>;

export function toFinishedEvent(origin: EventOrigin, subject: EventSubject, figures: FinishedFigures): FinishedEvent {
  return { ...base('finished', origin), ...on(subject), ...figures };
}

export function toFailedEvent(origin: EventOrigin, subject: EventSubject, failure: Pick<FailedEvent, 'code' | 'message' | 'durationMs'>): FailedEvent {
  return { ...base('failed', origin), ...on(subject), ...failure };
}

/** `subject` is the rank that failed; `code` says how. */
export function toReroutedEvent(origin: EventOrigin, subject: EventSubject, code: string): ReroutedEvent {
  return { ...base('rerouted', origin), ...on(subject), code };
}

export function toRejectedEvent(origin: EventOrigin, id: RequestId, rejection: Pick<RejectedEvent, 'code' | 'message'>): RejectedEvent {
  return { ...base('rejected', origin), requestId: id, ...rejection };
}

export function toModeChangedEvent(origin: EventOrigin, { mode, parentAffinity }: LivePolicy): ModeChangedEvent {
  return { ...base('mode_changed', origin), mode, parentAffinity };
}

function base<Name extends string>(event: Name, { at, router, pool }: EventOrigin): EventOrigin & { readonly v: 1; readonly event: Name } {
  return { v: 1, event, at, router, pool };
}

function on({ requestId, id }: EventSubject): EventSubject['id'] & { readonly requestId: RequestId } {
  return { requestId, worker: id.worker, rank: id.rank };
}

function candidateRecord({ id, eligible, why, trusted, eventBlocks, predictedBlocks, load, cost, terms }: Candidate): CandidateRecord {
  const { requests, prefillTokens, decodeTokens, reportedRunning, reportedWaiting } = load;
  return {
    worker: id.worker,
    rank: id.rank,
    eligible,
    why,
    trusted,
    overlapBlocks: eventBlocks,
    predictedBlocks,
    load: { requests, prefillTokens, decodeTokens, reportedRunning, reportedWaiting },
    cost,
    terms,
  };
}

function shadowRecord(choice: Choice | null): ShadowRecord | null {
  if (choice === null) return null;
  return { worker: choice.id.worker, rank: choice.id.rank, overlapBlocks: choice.overlapBlocks, reason: choice.reason };
}
