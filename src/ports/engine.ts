import type { DpRank } from '../core/identity/ids.ts';
import type { IsolationPart } from '../core/identity/registration.ts';
import type { EngineRequest, EngineResponse } from './request-transport.ts';
import type { EngineBatch } from '../core/kv-stream/engine-event.ts';
import type { ReportedLoad } from '../core/load/load-snapshot.ts';
import type { Closable } from './kv-bus.ts';

/** What an engine says of itself over HTTP. */
export interface EngineDescription {
  readonly kind: 'sglang' | 'vllm';
  readonly version: string;
  readonly models: readonly string[];
  readonly tokenizerPath: string | null;
  readonly ranks: readonly DpRank[];
  readonly pageSize: number;
  readonly contextLength: number | null;
  readonly vocabSize: number | null;
  readonly maxRunningRequests: number | null;
  readonly capacityTokens: number | null;
  /** EAGLE kinds: pages are over neighbouring pairs of tokens. */
  readonly bigram: boolean;
  /** Null: it publishes no KV events; `why` says what to start it with. */
  /** What its events don't name, though it keeps prompts apart by it. */
  readonly unnamedInEvents: readonly IsolationPart[];
  readonly events: { readonly ranks: readonly RankEventEndpoints[]; readonly topic: string } | { readonly why: string };
}

export interface RankEventEndpoints {
  readonly rank: DpRank;
  /** `tcp://host:port` to subscribe to. `bind`: the engine connects, so the agent must bind. */
  readonly endpoint: string;
  readonly bind: boolean;
  readonly replayEndpoint: string | null;
}

export interface EngineLoad extends ReportedLoad {
  readonly rank: DpRank;
}

/** An engine's HTTP side, as the agent uses it. */
export interface EngineClient {
  /** Rejects with `engine-unreachable`, or `bad-config` where it is no engine we know. */
  describe(signal: AbortSignal): Promise<EngineDescription>;
  /** Passes a request on. Rejects with `engine-unreachable`; the body throws `worker-failed` when the engine dies. */
  send(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse>;
  /** Ends a request at the engine, whatever it is doing. */
  abort(requestId: string): Promise<void>;
  loads(signal: AbortSignal): Promise<readonly EngineLoad[]>;
  close(): Promise<void>;
}

/** What happens on one rank's event socket, in order. */
export interface EngineEventListener {
  batch(rank: DpRank, batch: EngineBatch): void;
  /** A message that is no batch: `reason` is a short fixed word, to count by. */
  invalid(rank: DpRank, reason: string): void;
}

/** The engine's KV event sockets, with the replay sockets behind them. */
export interface EngineEventSource {
  /** Resolves when subscribed. Frames of a rank arrive in order; what was missed is asked of the replay socket by `replay`. */
  subscribe(events: readonly RankEventEndpoints[], topic: string, listener: EngineEventListener): Promise<Closable>;
  /** The batches from `from` on that the engine still has, oldest first; null where there is no answer in time. */
  replay(endpoints: RankEventEndpoints, from: number, signal: AbortSignal): Promise<readonly EngineBatch[] | null>;
}
