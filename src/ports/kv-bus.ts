import type { KvBatch, KvSnapshot } from '../core/kv-stream/kv-event.ts';
import type { DpRank, PoolId, RankId, WorkerId } from '../core/identity/ids.ts';

/** Agent side: KV batches of one worker, in order, resent until the stream has them. */
export interface KvPublisher {
  /** Takes the batch at once. A batch that had to be dropped (bounded buffer full) shows as a gap to routers. */
  publish(pool: PoolId, id: RankId, batch: KvBatch): void;
  /** Batches not yet acknowledged by the stream. */
  readonly pending: number;
  close(): Promise<void>;
}

/** Router side: batches of all ranks of a pool as they come; duplicates and gaps are the receiver's to judge. */
export interface KvFollower {
  follow(pool: PoolId, onBatch: (id: RankId, batch: KvBatch) => void): Promise<Closable>;
}

/** Router side: asks an agent for all that a rank holds. Rejects with `no-responder`, `worker-silent` or `not-found`. */
export interface SnapshotClient {
  fetch(pool: PoolId, id: RankId, signal: AbortSignal): Promise<KvSnapshot>;
}

/** Agent side: answers control requests. */
export interface ControlHandler {
  /** Null: this rank is not followed here. */
  snapshot(rank: DpRank): KvSnapshot | null;
  /** The engine's own tokenizer: its request path and JSON body in, its JSON answer out. */
  tokenize(body: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  drain(draining: boolean): void;
}

export interface ControlServer {
  serve(pool: PoolId, worker: WorkerId, handler: ControlHandler): Promise<Closable>;
}

/** Router side: what is asked of an agent besides requests and snapshots. */
export interface ControlClient {
  tokenize(pool: PoolId, worker: WorkerId, body: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  drain(pool: PoolId, worker: WorkerId, draining: boolean, signal: AbortSignal): Promise<void>;
}

export interface Closable {
  close(): Promise<void>;
}
