import type { CacheEvent } from './cache-event.ts';
import type { FinishedRequest, ProducedToken } from './engine-request.ts';

export interface StepStart {
  readonly durationMs: number;
  /** Requests whose prompt begins to be computed with this step. */
  readonly started: readonly string[];
}

export interface StepOutcome {
  readonly kind: 'prefill' | 'decode';
  readonly produced: readonly ProducedToken[];
  readonly finished: readonly FinishedRequest[];
  /** What the engine sends on its event socket now; empty when it waits with that. */
  readonly events: readonly CacheEvent[];
}

export interface ModelLoad {
  /** Requests that decode; one in prefill is neither running nor waiting, as SGLang counts. */
  readonly runningRequests: number;
  readonly waitingRequests: number;
  readonly waitingTokens: number;
  readonly waitingUncachedTokens: number;
  /** Tokens that running requests keep, shared ones once. */
  readonly usedTokens: number;
}

/** Sums since the start. */
export interface ModelCounters {
  promptTokens: number;
  cachedTokens: number;
  answerTokens: number;
  computedPromptTokens: number;
  prefillBusyMs: number;
  prefillSteps: number;
  decodeSteps: number;
  retractions: number;
}
