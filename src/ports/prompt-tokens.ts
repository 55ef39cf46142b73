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

/** One prompt's tokens as they were told by a `PromptTokenizer`, and as the engine counted them. */
export interface ComparedCount {
  readonly pool: PoolId;
  readonly ours: number;
  readonly engines: number;
}

export interface PromptTokenizer {
  tokensOf(source: PromptSource, signal: AbortSignal): Promise<PromptTokens>;
  /** Hears of every prompt that an engine counted, so that a tokenizer which is not the engines' is found out. */
  counted(compared: ComparedCount): void;
}
