import type { RankId } from '../../core/identity/ids.ts';
import type { SequenceHashes } from '../../core/identity/sequence-hash.ts';
import type { ExplicitTarget, PlacementRequest, SessionRef } from '../../core/placement/placement.ts';
import type { ClientRequest } from '../../ports/request-router.ts';
import type { Endpoint } from './endpoint.ts';
import type { PoolState } from '../follow-pool.ts';

/** A client's request, understood: what its placement and its dispatch need, the same for every attempt. */
export interface AskedRequest {
  readonly client: ClientRequest;
  readonly endpoint: Endpoint;
  readonly pool: PoolState;
  readonly session: SessionRef | null;
  /** The session came by header, so the engine has not heard of it. */
  readonly sessionByHeader: boolean;
  /** The client says that this is its session's last request. */
  readonly sessionFinal: boolean;
  readonly target: ExplicitTarget | null;
  /** The DP rank that the client named in the engine's own way, of whichever worker. */
  readonly wantedRank: number | null;
  /** Null: not known. */
  readonly promptTokens: number | null;
  readonly hashes: SequenceHashes;
  /** Arrival at the router. */
  readonly startedMs: number;
}

export function placementRequestOf(asked: AskedRequest, excluded: readonly RankId[]): PlacementRequest {
  const { client, pool, session, target, promptTokens, hashes } = asked;
  return { id: client.id, pool: pool.pool, session, target, promptTokens, hashes, excluded };
}
