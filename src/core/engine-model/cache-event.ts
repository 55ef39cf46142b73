/** What keeps two equal prompts apart in the cache. An empty string is none, as SGLang has it. */
export interface CacheNamespace {
  readonly salt: string | null;
  /** In neither hash nor event: SGLang's own gap, which the model keeps. */
  readonly extraKey: string | null;
}

/** One change of the cache. `digests` holds whole digests one after the other; `tokens` all tokens of the run; `runs` the digests of each run of pages that left, in the order in which they left. */
export type CacheEvent =
  | {
      readonly kind: 'stored';
      readonly digests: Uint8Array;
      /** Null: the run starts a prompt. */
      readonly parent: Uint8Array | null;
      readonly tokens: Int32Array;
      readonly salt: string | null;
      /** The session of the request that stored it. */
      readonly sessionId: string | null;
    }
  | { readonly kind: 'removed'; readonly runs: readonly Uint8Array[] }
  | { readonly kind: 'cleared' };

export type StoredRun = Omit<Extract<CacheEvent, { kind: 'stored' }>, 'kind'>;
