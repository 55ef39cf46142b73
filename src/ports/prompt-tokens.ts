import type { PoolId } from '../core/identity/ids.ts';
import type { Isolation } from '../core/identity/chain-seed.ts';

/** A client's request, as far as its tokens matter: an endpoint's path and its parsed JSON body. */
export interface PromptSource {
  readonly pool: PoolId;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The tokens an engine will make of a request, or why they can't be known. */
export type PromptTokens =
  | { readonly kind: 'known'; readonly tokens: ArrayLike<number>; readonly isolation: Isolation }
  | { readonly kind: 'unknown'; readonly why: string };

export interface PromptTokenizer {
  tokensOf(source: PromptSource, signal: AbortSignal): Promise<PromptTokens>;
}
