import type { RankView } from './placement.ts';
import type { Score } from './mode-rule.ts';

/** What a request that waits at an engine is taken to have left to compute; the engine only counts them. */
const waitingPromptTokens = 1024;

/**
 * The work a new request finds on a rank, in blocks: prompt tokens claimed and not computed, what the engine says is
 * waiting, and one block for each request that shares its steps. A report is late and counts our requests again, but
 * it does so on every rank alike; without it, requests that came past the routers would not count at all.
 */
export function workAhead({ load }: RankView, blockSize: number): Score {
  const prefill = load.prefillTokens / blockSize;
  const waiting = ((load.reportedWaiting ?? 0) * waitingPromptTokens) / blockSize;
  const sharing = load.requests + (load.reportedRunning ?? 0);
  return { cost: prefill + waiting + sharing, terms: { prefill, waiting, sharing } };
}
