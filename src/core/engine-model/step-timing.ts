/** How long the engine's steps take. */
export interface StepRates {
  /** Milliseconds of any prefill step. */
  readonly prefillStepMs: number;
  /** Milliseconds a prompt token. */
  readonly prefillTokenMs: number;
  /** Milliseconds a pair of a prompt token and a token before it. */
  readonly prefillPairMs: number;
  readonly decodeStepMs: number;
  readonly decodeSequenceMs: number;
  /** Milliseconds a token of context of all that decode. */
  readonly decodeContextMs: number;
}

/**
 * An 8B model on one H100, estimated: a 16k prompt takes 0.73 s, a 128k one 15.6 s. From `auto.md`, section 2, of this
 * project's design (s 5 ms, beta 33 us, gamma 1.3 ns, a 7 ms, b 20 us, c 52 ns; 430,000 KV tokens). Trust ratios.
 */
export const rates8bOnH100: StepRates = {
  prefillStepMs: 5,
  prefillTokenMs: 0.033,
  prefillPairMs: 1.3e-6,
  decodeStepMs: 7,
  decodeSequenceMs: 0.02,
  decodeContextMs: 5.2e-5,
};

/** Part of a prompt that one prefill step computes: `tokens` of them after `context`. */
export interface PrefillPart {
  readonly tokens: number;
  readonly context: number;
}

export function prefillMs(rates: StepRates, parts: readonly PrefillPart[]): number {
  return parts.reduce(
    (sum, { tokens, context }) => sum + rates.prefillTokenMs * tokens + rates.prefillPairMs * tokens * (context + tokens / 2),
    rates.prefillStepMs,
  );
}

export function decodeMs(rates: StepRates, sequences: number, contextTokens: number): number {
  return rates.decodeStepMs + rates.decodeSequenceMs * sequences + rates.decodeContextMs * contextTokens;
}
