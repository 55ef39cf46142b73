import type { StorageTier } from './kv-event.ts';

/**
 * An engine's own name for a page or block, made comparable: integers as unsigned 64-bit in decimal digits (so the
 * int64 and uint64 forms of one hash are equal), byte strings as `x` and hexadecimal digits.
 */
export type EngineHash = string;

/** One KV event as an engine said it, whichever of the wire's generations it came in. */
export type EngineEvent =
  | {
      readonly kind: 'stored';
      readonly hashes: readonly EngineHash[];
      readonly parent: EngineHash | null;
      /** All tokens of the run, `pageSize` a page (twice that where `bigram`). */
      readonly tokens: Int32Array;
      readonly pageSize: number;
      readonly tier: StorageTier;
      readonly lora: string | null;
      readonly salt: string | null;
      /** vLLM's KV cache group and what kind of attention it is; null for SGLang. */
      readonly group: EngineGroup | null;
      /** Pages are over pairs of neighbouring tokens (speculative decoding); `tokens` then holds both of each pair, flat. */
      readonly bigram: boolean;
    }
  | { readonly kind: 'removed'; readonly hashes: readonly EngineHash[]; readonly tier: StorageTier; readonly group: number | null }
  | { readonly kind: 'cleared' };

export interface EngineGroup {
  readonly index: number;
  readonly kind: string;
  /** Tokens; null without a window. */
  readonly slidingWindow: number | null;
}

/** One message of an engine's event socket. Events that could not be read are counted by reason, the rest is kept. */
export interface EngineBatch {
  readonly seq: number;
  /** The rank it names itself; null where it does not. */
  readonly rank: number | null;
  readonly events: readonly EngineEvent[];
  readonly invalid: readonly string[];
  /** Its stores name no tier: SGLang 0.5.5 or older, whose hashes can't be followed, or a vLLM of early 2025. */
  readonly withoutTiers?: true;
}
