import { rendezvous } from '../sessions/rendezvous.ts';
import type { Ineligible } from './eligibility.ts';
import { rejectReason, whyClosed, whyIneligible } from './eligibility.ts';
import type { ModeRule, RankChoice, ScoredRank, ScoredRanks, TieBreak } from './mode-rule.ts';
import { isSome, noScore } from './mode-rule.ts';
import { modeRules } from './mode-rules.ts';
import { withReusableOverlap } from './overlap.ts';
import type { Candidate, Choice, Placement, PlacementMode, PlacementRequest, RankView, Shadow } from './placement.ts';
import type { PoolView } from './pool-view.ts';

/** A rank of the pool and why it can't take the request, asked for or not; null where it can. */
interface JudgedRank {
  readonly rank: RankView;
  readonly closed: Ineligible;
  readonly why: Ineligible;
}

/**
 * Where one request goes, and why: an explicit target first, then who is eligible, then the mode. Nothing is changed
 * by it. `random` gives numbers from 0 to below 1 and is drawn from only where the mode in force has to choose among equals.
 */
export function place(request: PlacementRequest, view: PoolView, random: () => number): Placement {
  const judged = view.ranks.map((rank) => judge(withReusableOverlap(rank, request, view.blockSize), request, view));
  const rule = modeRules[view.policy.mode];
  const eligible = scored(judged.filter(({ why }) => why === null), rule, request, view);
  const candidates = candidatesOf(judged, eligible);
  if (!isSome(eligible)) {
    return { kind: 'rejected', reason: rejectReason(request, judged.map(({ why }) => why)), candidates };
  }
  const { rank, reason } = rule.choose(eligible, request, view, (tied) => drawn(tied, random));
  const overlap = rule.overlap(rank);
  const choice: Choice = { id: rank.id, reason: request.target === null ? reason : 'explicit-target', overlapBlocks: overlap.blocks };
  const open = judged.filter(({ closed }) => closed === null);
  return {
    kind: 'placed',
    ...choice,
    mode: view.policy.mode,
    overlapSource: request.promptTokens === null ? 'none' : overlap.source,
    candidates,
    shadow: shadowOf(open, request, view, choice),
  };
}

function judge(rank: RankView, request: PlacementRequest, view: PoolView): JudgedRank {
  const closed = whyClosed(rank, request, view.limits);
  return { rank, closed, why: whyIneligible(rank, request, closed) };
}

function scored(ranks: readonly JudgedRank[], rule: ModeRule, request: PlacementRequest, view: PoolView): ScoredRank[] {
  return ranks.map(({ rank }) => ({ rank, score: rule.score(rank, request, view.blockSize) }));
}

function drawn(tied: ScoredRanks, random: () => number): ScoredRank {
  return tied.length === 1 ? tied[0] : (tied[Math.floor(random() * tied.length)] ?? tied[0]);
}

/** In the view's order; `eligible` are those of `judged` without a reason against them, in the same order. */
function candidatesOf(judged: readonly JudgedRank[], eligible: readonly ScoredRank[]): Candidate[] {
  let next = 0;
  return judged.map(({ rank, why }) => {
    const { id, trusted, eventBlocks, predictedBlocks, load } = rank;
    const { cost, terms } = (why === null ? eligible[next++]?.score : undefined) ?? noScore;
    return { id, eligible: why === null, why, trusted, eventBlocks, predictedBlocks, load, cost, terms };
  });
}

/** What the modes with knowledge would have chosen of all that could take it; the mode in force has chosen already. */
function shadowOf(open: readonly JudgedRank[], request: PlacementRequest, view: PoolView, choice: Choice): Shadow {
  const would = (mode: PlacementMode): Choice | null =>
    mode === view.policy.mode && request.target === null ? choice : shadowChoice(modeRules[mode], open, request, view);
  return { event: would('event'), predicted: would('predicted'), affinity: would('affinity') };
}

function shadowChoice(rule: ModeRule, open: readonly JudgedRank[], request: PlacementRequest, view: PoolView): Choice | null {
  const ranks = scored(open, rule, request, view);
  if (!isSome(ranks)) return null;
  const { rank, reason }: RankChoice = rule.choose(ranks, request, view, tieByRequest(request));
  return { id: rank.id, reason, overlapBlocks: rule.overlap(rank).blocks };
}

/** A shadow draws no randomness: which equal it takes depends on the request alone. */
const tieByRequest = (request: PlacementRequest): TieBreak => (tied) => tied.length === 1 ? tied[0] : rendezvous(request.id, tied, ({ rank }) => rank.id);
