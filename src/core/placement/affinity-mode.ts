import type { RankId } from '../identity/ids.ts';
import { sameRank } from '../identity/ids.ts';
import { rendezvous } from '../sessions/rendezvous.ts';
import { tenantKey } from '../sessions/tenant-key.ts';
import { costOf, lowestCost } from './lowest.ts';
import type { ModeRule, RankChoice, ScoredRanks } from './mode-rule.ts';
import { isSome } from './mode-rule.ts';
import { likelyOverlap } from './overlap.ts';
import type { ParentAffinity, SessionRef } from './placement.ts';
import type { PoolView } from './pool-view.ts';
import { workAhead } from './work-ahead.ts';

/**
 * How much more than the least work, in blocks, still counts as near the least. Routers differ for moments by a
 * request that has just ended or begun to answer, which is a block each; with that between them they still agree.
 */
const nearBlocks = 2;

/**
 * The sticky table: a bound session goes to its rank, an unbound child to its parent's or its siblings'. Whatever has
 * no place yet, or one that can't take it, goes to one of the ranks with the least work: the one that its session's
 * hash names, so that routers which have not heard of each other propose the same.
 */
export const affinityMode: ModeRule = {
  overlap: likelyOverlap,
  score: (rank, _request, blockSize) => workAhead(rank, blockSize),
  choose: (ranks, { session }, view, breakTie) => {
    if (session === null) return { rank: lowestCost(ranks, breakTie).rank, reason: 'least-loaded' };
    return boundChoice(ranks, session, view) ?? firstChoice(ranks, session, view.policy.parentAffinity);
  },
};

function boundChoice(ranks: ScoredRanks, { parent }: SessionRef, { bindings, policy }: PoolView): RankChoice | null {
  const own = on(ranks, bindings.own, 'bound-session');
  if (own !== null || parent === null) return own;
  if (policy.parentAffinity === 'parent') return on(ranks, bindings.parent, 'parent');
  if (policy.parentAffinity === 'siblings') return on(ranks, bindings.siblings, 'sibling-group');
  return null;
}

function on(ranks: ScoredRanks, id: RankId | null, reason: RankChoice['reason']): RankChoice | null {
  const found = id === null ? undefined : ranks.find(({ rank }) => sameRank(rank.id, id));
  return found === undefined ? null : { rank: found.rank, reason };
}

function firstChoice(ranks: ScoredRanks, { tenant, session, parent }: SessionRef, parentAffinity: ParentAffinity): RankChoice {
  const least = ranks.reduce((lowest, rank) => Math.min(lowest, costOf(rank)), Number.POSITIVE_INFINITY);
  const near = ranks.filter((rank) => costOf(rank) <= least + nearBlocks);
  // Siblings hash by their parent: they, and where load allows the parent itself, are named the same rank.
  const key = tenantKey(tenant, parentAffinity === 'off' ? session : (parent ?? session));
  return { rank: rendezvous(key, isSome(near) ? near : ranks, ({ rank }) => rank.id).rank, reason: 'new-session' };
}
