import { quantile } from './quantiles.ts';
import type { RequestOutcome } from './request-outcome.ts';
import { computedTokens } from './request-outcome.ts';

/** What a replay came to, as `replay --json` prints it. Tokens are the engines' word, times the client's clock in ms. */
export interface ReplaySummary {
  readonly requests: number;
  readonly errors: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly computedPrefillTokens: number;
  /** Cached over prompt tokens, from 0 to 1. */
  readonly hitRate: number;
  readonly ttftMsP50: number | null;
  readonly ttftMsP99: number | null;
  readonly durationMs: number;
  readonly placementsByReason: Readonly<Record<string, number>>;
  readonly requestsByWorker: Readonly<Record<string, number>>;
  /** The first few different failures, with how often each came. */
  readonly errorMessages: Readonly<Record<string, number>>;
}

const maxMessages = 10;

export function summarizeReplay(outcomes: readonly RequestOutcome[]): ReplaySummary {
  const total = (of: (outcome: RequestOutcome) => number | null): number => outcomes.reduce((sum, outcome) => sum + (of(outcome) ?? 0), 0);
  const ttfts = outcomes.map((outcome) => outcome.ttftMs).filter((ms) => ms !== null);
  const promptTokens = total((outcome) => outcome.promptTokens);
  const cachedTokens = total((outcome) => outcome.cachedTokens);
  const at = (q: number): number | null => (ttfts.length === 0 ? null : Math.round(quantile(ttfts, q) * 10) / 10);
  return {
    requests: outcomes.length,
    errors: outcomes.filter((outcome) => outcome.error !== null).length,
    promptTokens,
    cachedTokens,
    computedPrefillTokens: total(computedTokens),
    hitRate: promptTokens === 0 ? 0 : Math.round((cachedTokens / promptTokens) * 10_000) / 10_000,
    ttftMsP50: at(0.5),
    ttftMsP99: at(0.99),
    durationMs: Math.round(spanMs(outcomes)),
    placementsByReason: countBy(outcomes.map((outcome) => outcome.reason)),
    requestsByWorker: countBy(outcomes.map((outcome) => outcome.worker)),
    errorMessages: Object.fromEntries(Object.entries(countBy(outcomes.map((outcome) => outcome.error))).slice(0, maxMessages)),
  };
}

function spanMs(outcomes: readonly RequestOutcome[]): number {
  const startMs = outcomes.reduce((first, outcome) => Math.min(first, outcome.startedMs), Number.POSITIVE_INFINITY);
  const endMs = outcomes.reduce((last, outcome) => Math.max(last, outcome.endedMs), Number.NEGATIVE_INFINITY);
  return outcomes.length === 0 ? 0 : endMs - startMs;
}

/** How often each text stands there, the most frequent first; null is not counted. */
function countBy(texts: readonly (string | null)[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) if (text !== null) counts.set(text, (counts.get(text) ?? 0) + 1);
  return Object.fromEntries([...counts].sort((a, b) => b[1] - a[1]));
}
