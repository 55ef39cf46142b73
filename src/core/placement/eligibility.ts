import { sameRank } from '../identity/ids.ts';
import type { Candidate, ExplicitTarget, PlacementRequest, RankView, RejectReason } from './placement.ts';
import type { RankLimits } from './pool-view.ts';

export type Ineligible = Candidate['why'];

const isTargeted = ({ id }: RankView, target: ExplicitTarget): boolean =>
  id.worker === target.worker && (target.rank === null || target.rank === id.rank);

/** Over what it may hold already: what is asked for now does not count, so a limit below one prompt starves nobody. */
function isOverloaded({ load }: RankView, limits: RankLimits | undefined): boolean {
  if (limits === undefined) return false;
  return load.prefillTokens > (limits.prefillTokens ?? Number.POSITIVE_INFINITY) || load.requests >= (limits.requests ?? Number.POSITIVE_INFINITY);
}

/** Why a rank can't take this request; null where it can. Whom the client asked for is left out. */
export function whyClosed(rank: RankView, request: PlacementRequest, limits: RankLimits | undefined): Ineligible {
  if (rank.draining) return 'draining';
  if (request.excluded.some((id) => sameRank(id, rank.id))) return 'failed-before';
  return isOverloaded(rank, limits) ? 'overloaded' : null;
}

/** Why a rank can't be chosen: not asked for comes before all else. */
export function whyIneligible(rank: RankView, request: PlacementRequest, closed: Ineligible): Ineligible {
  return request.target !== null && !isTargeted(rank, request.target) ? 'not-targeted' : closed;
}

/** What to answer where no rank is eligible, from why each of them is not. */
export function rejectReason(request: PlacementRequest, reasons: readonly Ineligible[]): RejectReason {
  if (reasons.includes('overloaded')) return 'all-overloaded';
  return request.target !== null && !reasons.includes('failed-before') ? 'rank-not-allowed' : 'no-worker';
}
