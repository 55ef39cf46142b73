import type { CandidateRecord, PlacedEvent } from '../placement/placement-event.ts';
import type { CellPlan } from './comparison-plan.ts';

/** What one cell did and why, in words, from its placement records alone. */
export interface CellExplanation {
  readonly label: string;
  readonly mode: string;
  readonly workers: number;
  readonly fanOut: number;
  readonly prefixTokens: number;
  readonly text: string;
}

/** `placed` are the records of the cell's children in the order of placement. */
export function explainCell(plan: CellPlan, placed: readonly PlacedEvent[]): CellExplanation {
  const { label, mode, workers, fanOut, prefixTokens } = plan;
  const [first, second] = placed;
  if (first === undefined) return { label, mode, workers, fanOut, prefixTokens, text: 'no placement record came' };
  const weighed = second === undefined ? [] : weighing(first, second);
  return { label, mode, workers, fanOut, prefixTokens, text: [`${path(placed)}.`, ...weighed].join(' ') };
}

/** `w1 new-session, then w1 sibling-group x3`. */
function path(placed: readonly PlacedEvent[]): string {
  const steps: { readonly what: string; times: number }[] = [];
  for (const event of placed) {
    const what = `${nameOf(event)} by ${event.reason}`;
    const last = steps.at(-1);
    if (last?.what === what) last.times++;
    else steps.push({ what, times: 1 });
  }
  return `placed on ${steps.map(({ what, times }) => (times === 1 ? what : `${what} (${times} times)`)).join(', ')}`;
}

/** What the second child was weighed by: the first one's worker against the one it went to, or the next best. */
function weighing(first: PlacedEvent, second: PlacedEvent): string[] {
  const there = second.candidates.find((candidate) => candidate.worker === first.worker && candidate.rank === first.rank);
  if (there === undefined) return [];
  const known = `When child 2 came, ${nameOf(there)} (where child 1 was) held ${there.overlapBlocks} of its ${second.requestBlocks} blocks by the engine's events, ${there.predictedBlocks} by prediction, and carried ${there.load.prefillTokens} tokens of claimed prefill`;
  if (second.candidates.length === 1) return [`${known}; there was no other.`];
  const stayed = second.worker === first.worker && second.rank === first.rank;
  const other = stayed ? cheapest(second.candidates.filter((candidate) => candidate !== there)) : second.candidates.find((candidate) => candidate.worker === second.worker && candidate.rank === second.rank);
  if (there.cost === null || other?.cost === undefined || other.cost === null) return [`${known}.`];
  return [`${known}: ${priced(there)} against ${priced(other)}, so it ${stayed ? 'stayed' : `went to ${nameOf(second)}`}.`];
}

/** `w1`, and of a worker's further ranks `w1/1`. */
const nameOf = ({ worker, rank }: { readonly worker: string; readonly rank: number }): string => (rank === 0 ? worker : `${worker}/${rank}`);

const cheapest = (candidates: readonly CandidateRecord[]): CandidateRecord | undefined =>
  [...candidates].sort((a, b) => (a.cost ?? Number.POSITIVE_INFINITY) - (b.cost ?? Number.POSITIVE_INFINITY))[0];

const short = (value: number): string => String(Math.round(value * 100) / 100);

/** `w1 at 516 (prefillBlocks 514, overlapBlocks -256)`. */
function priced(candidate: CandidateRecord): string {
  const terms = Object.entries(candidate.terms).map(([name, value]) => `${name} ${short(value)}`);
  return `${nameOf(candidate)} at ${short(candidate.cost ?? 0)}${terms.length === 0 ? '' : ` (${terms.join(', ')})`}`;
}
