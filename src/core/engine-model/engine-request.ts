import type { CacheNamespace } from './cache-event.ts';

/** What is asked of the engine, already checked: at least one token, all inside the vocabulary, not too long. */
export interface ModelRequest {
  /** Unique among those that are not finished. */
  readonly id: string;
  readonly tokens: Int32Array;
  readonly maxNewTokens: number;
  /** Neither the model's own end nor a stop token ends the answer. */
  readonly ignoreEnd: boolean;
  readonly stopTokens: ReadonlySet<number>;
  readonly space: CacheNamespace;
  readonly sessionId: string | null;
}

export type FinishReason =
  | { readonly kind: 'length' }
  | { readonly kind: 'stop'; readonly token: number }
  | { readonly kind: 'abort'; readonly while: 'waiting' | 'running' };

export interface FinishedRequest {
  readonly id: string;
  readonly reason: FinishReason;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Null: it never started. */
  readonly cachedTokens: number | null;
  readonly retractions: number;
}

/** One token of an answer; `index` 0 is the first. */
export interface ProducedToken {
  readonly id: string;
  readonly token: number;
  readonly index: number;
  readonly cachedTokens: number;
  readonly retractions: number;
}
