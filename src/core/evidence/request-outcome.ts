/** What a client saw of one request: times by its own clock, tokens by the engine's word, placement by the router's headers. */
export interface RequestOutcome {
  readonly status: number;
  /** Why it failed; null when it did not. */
  readonly error: string | null;
  readonly startedMs: number;
  readonly endedMs: number;
  /** From sending to the first byte of the first event; null when none came. */
  readonly ttftMs: number | null;
  /** The engine's figures; null where it gave none. */
  readonly promptTokens: number | null;
  readonly cachedTokens: number | null;
  readonly completionTokens: number | null;
  readonly requestId: string | null;
  readonly worker: string | null;
  readonly rank: number | null;
  readonly reason: string | null;
}

/** Prompt tokens that the engine says it computed itself; null where it gave no figures. */
export function computedTokens(outcome: RequestOutcome): number | null {
  if (outcome.promptTokens === null || outcome.cachedTokens === null) return null;
  return outcome.promptTokens - outcome.cachedTokens;
}
