import type { Epoch, PoolId, WorkerId, DpRank } from './ids.ts';

/** How the agent reads the engine's events. `none`: no events, or a version whose events can't be trusted. */
export type EventSource =
  | { readonly kind: 'zmq' }
  | { readonly kind: 'none'; readonly why: string };

export const isolationParts = ['salt', 'extra-key', 'lora'] as const;
/** What can keep the KV of equal tokens apart. */
export type IsolationPart = (typeof isolationParts)[number];

/** What an agent says of its worker in `KIN_WORKERS`; renewed while it lives, gone when it does not. */
export interface WorkerRegistration {
  readonly v: 1;
  readonly pool: PoolId;
  readonly worker: WorkerId;
  /** This life of the agent: a worker that comes back under its name has another. */
  readonly life: Epoch;
  readonly engineUrl: string;
  readonly engineKind: 'sglang' | 'vllm';
  readonly engineVersion: string;
  /** What clients may name in `model`. */
  readonly models: readonly string[];
  readonly ranks: readonly DpRank[];
  readonly blockSize: number;
  readonly pageSize: number;
  /** The longest prompt plus answer, in tokens; null where the engine does not say. */
  readonly contextLength: number | null;
  /** Token ids are below this; null where unknown. */
  readonly vocabSize: number | null;
  readonly maxRunningRequests: number | null;
  readonly capacityTokens: number | null;
  /** Where the engine has its tokenizer, for a router that can read the same folder; null where it does not say. */
  readonly tokenizerPath: string | null;
  readonly events: EventSource;
  /** What the events don't name: of a prompt that is kept apart by it they tell nothing. */
  readonly unnamedInEvents: readonly IsolationPart[];
  readonly draining: boolean;
}
