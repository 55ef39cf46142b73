import type { RankKey } from '../core/identity/ids.ts';
import { rankKey } from '../core/identity/ids.ts';
import type { IsolationPart } from '../core/identity/registration.ts';
import type { ClaimLedger } from '../core/load/claim-ledger.ts';
import type { LivePolicy, RankView } from '../core/placement/placement.ts';
import type { PoolView } from '../core/placement/pool-view.ts';
import type { PredictedIndex } from '../core/prefix-index/predicted-index.ts';
import type { SessionTable } from '../core/sessions/session-table.ts';
import type { AskedRequest } from './route/asked-request.ts';
import type { FollowedRank } from './follow-pool.ts';
import { partsKeptApartBy } from './isolation-parts.ts';
import type { FollowedPools } from './route/followed-pools.ts';

/** All that a placement is decided from. */
export interface Knowledge {
  readonly pools: FollowedPools;
  readonly predictions: PredictedIndex;
  readonly ledger: ClaimLedger;
  readonly sessions: SessionTable;
}

/** A report older than this tells nothing of now: agents send one every second at least. */
const staleReportMs = 5_000;

/** What is known of a request's pool at this moment, from each source by itself. */
export function placementView(asked: AskedRequest, knowledge: Knowledge, at: { readonly nowMs: number; readonly policy: LivePolicy; readonly roundRobin: number }): PoolView {
  const { pools, predictions, sessions } = knowledge;
  const { pool, blockSize } = asked.pool;
  const known: RankKnowledge = {
    events: pools.eventOverlaps(pool, asked.hashes),
    predicted: predictions.overlaps(asked.hashes, at.nowMs),
    ledger: knowledge.ledger,
    keptApartBy: partsKeptApartBy(asked.client.fields, asked.pool.models),
  };
  const ranks = pools.ranks(pool).filter(({ id }) => asked.wantedRank === null || id.rank === asked.wantedRank);
  return {
    ranks: ranks.map((rank) => rankView(rank, asked, known)),
    blockSize,
    policy: at.policy,
    bindings: sessions.bindingsFor(asked.session, at.nowMs),
    roundRobin: at.roundRobin,
  };
}

interface RankKnowledge {
  readonly events: ReadonlyMap<RankKey, number>;
  readonly predicted: ReadonlyMap<RankKey, number>;
  readonly ledger: ClaimLedger;
  readonly keptApartBy: readonly IsolationPart[];
}

function rankView(rank: FollowedRank, asked: AskedRequest, { events, predicted, ledger, keptApartBy }: RankKnowledge): RankView {
  const { id, registration, draining, trust, load, loadAgeMs } = rank;
  const reported = loadAgeMs !== null && loadAgeMs <= staleReportMs ? load : null;
  return {
    id,
    draining,
    // A partial rank holds more than is known of it, but all that it is credited with.
    trusted: (trust === 'trusted' || trust === 'partial') && !keptApartBy.some((part) => registration.unnamedInEvents.includes(part)),
    pageSize: registration.pageSize,
    eventBlocks: events.get(rankKey(id)) ?? 0,
    predictedBlocks: predicted.get(rankKey(id)) ?? 0,
    load: {
      ...ledger.loadOf(id, asked.hashes),
      reportedRunning: reported?.runningRequests ?? null,
      reportedWaiting: reported?.waitingRequests ?? null,
    },
  };
}
