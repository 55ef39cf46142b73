import type { RankId, RequestId, TenantId } from '../core/identity/ids.ts';
import type { PlacementMode, PlacementReason } from '../core/placement/placement.ts';

/** A client's request as it came over HTTP, its body parsed once. */
export interface ClientRequest {
  readonly id: RequestId;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Lower-case names, in order, repetitions kept. */
  readonly headers: readonly (readonly [string, string])[];
  /** The bytes of the body; they reach the engine as they are, but for fields put in front. */
  readonly body: Uint8Array;
  /** The same, parsed, for reading only: numbers above 2^53 are not exact here. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly tenant: TenantId;
}

/** Where a request was placed and why: what the response headers say. */
export interface PlacedHead {
  readonly id: RankId;
  readonly mode: PlacementMode;
  readonly reason: PlacementReason;
  readonly overlapBlocks: number;
}

/** The engine's answer; its first bytes have come. */
export interface RoutedAnswer {
  readonly status: number;
  /** As the engine sent them, without hop-by-hop headers. */
  readonly headers: readonly (readonly [string, string])[];
  /**
   * The engine's bytes in its pieces. An event stream that breaks off ends with an error event; anything else that
   * breaks off throws. Must be read to its end, or left, or the signal given to `route` aborted.
   */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface RequestRouter {
  /**
   * Places a request and resolves with the engine's answer. `onPlaced` is told each placement, the last one holds.
   * Rejects with a `RouterError` that says what was wrong. When `signal` aborts, the engine stops and the claim goes.
   */
  route(request: ClientRequest, onPlaced: (placed: PlacedHead) => void, signal: AbortSignal): Promise<RoutedAnswer>;
}
