import type { DpRank, PoolId, RankId, RequestId, WorkerId } from '../core/identity/ids.ts';

/** An HTTP request for an engine, on its way. */
export interface EngineRequest {
  readonly id: RequestId;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Lower-case names; hop-by-hop headers and our own credentials are gone. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
  /** Milliseconds that the whole request may still take. */
  readonly deadlineMs: number;
}

/** The engine's answer: its head has come, its body comes in pieces as the engine sent them. */
export interface EngineResponse {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  /**
   * Ends when the engine ended. Throws `worker-failed` (agent or engine died), `worker-silent` (no frame, not even a
   * heartbeat, in time), `deadline-exceeded` or `cancelled`. Leaving the loop early cancels at the engine.
   */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Router side: sends a request to the agent of a rank. */
export interface RequestTransport {
  /**
   * Resolves with the head. Rejects with `no-responder` (nobody serves that subject: told at once), `worker-silent`,
   * `engine-unreachable` (the agent could not reach its engine), `worker-failed`, `payload-too-large` (both sizes
   * named), `deadline-exceeded`, `bus-unavailable`, or `cancelled` when `signal` aborted. Aborting at any time, also
   * in mid-body, cancels at the engine.
   */
  send(pool: PoolId, target: RankId, request: EngineRequest, signal: AbortSignal): Promise<EngineResponse>;
}

/** Agent side: where one answer goes. Writes resolve when the receiver has credit for more. */
export interface ResponseSink {
  head(status: number, headers: readonly (readonly [string, string])[]): void;
  data(chunk: Uint8Array): Promise<void>;
  end(): void;
}

/**
 * Answers one request. `signal` aborts when the router cancelled or is gone. A rejection becomes an error frame with
 * its `RouterError` code (`internal` otherwise).
 */
export type RequestHandler = (rank: DpRank, request: EngineRequest, sink: ResponseSink, signal: AbortSignal) => Promise<void>;

export interface ServedRequests {
  /** Stops taking new requests, waits for running ones until `signal` aborts, then cancels what is left. */
  close(signal: AbortSignal): Promise<void>;
}

/** Agent side: takes requests for the ranks of one worker. */
export interface RequestServer {
  serve(pool: PoolId, worker: WorkerId, ranks: readonly DpRank[], handler: RequestHandler): Promise<ServedRequests>;
}
