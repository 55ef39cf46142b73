import type { Generation } from './generation.ts';
import { weightVersions } from './meta-info.ts';
import type { SimulatedEngine } from './simulated-engine.ts';

/** `prompt_tokens_details`: null without a cache report; 0.5.9 said null for a cold prompt too. */
function promptDetails(engine: SimulatedEngine, cached: number): object | null {
  if (!engine.options.cacheReport) return null;
  return cached === 0 && !engine.options.wire.routedRank ? null : { cached_tokens: cached };
}

/** Tokens over a request's answers: a prompt counts once, however many answers it has. */
export function tokenSums(generations: readonly Generation[], copies: number): { readonly prompt: number; readonly cached: number; readonly completion: number } {
  const firsts = generations.filter((_, index) => index % copies === 0);
  return {
    prompt: firsts.reduce((sum, { spec }) => sum + spec.tokens.length, 0),
    cached: firsts.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0),
    completion: generations.reduce((sum, { outputIds }) => sum + outputIds.length, 0),
  };
}

/** SGLang's `usage`. */
export function usageOf(engine: SimulatedEngine, generations: readonly Generation[], copies: number): object {
  const { prompt, cached, completion } = tokenSums(generations, copies);
  return {
    prompt_tokens: prompt,
    total_tokens: prompt + completion,
    completion_tokens: completion,
    prompt_tokens_details: promptDetails(engine, cached),
    reasoning_tokens: 0,
    completion_tokens_details: null,
  };
}

export const metadataOf = (generations: readonly Generation[]): object => ({
  weight_version: 'default',
  weight_versions: generations[0] === undefined ? [] : weightVersions(generations[0]),
});
