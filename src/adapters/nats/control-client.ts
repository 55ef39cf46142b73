import type { PoolId, RankId, WorkerId } from '../../core/identity/ids.ts';
import type { KvSnapshot } from '../../core/kv-stream/kv-event.ts';
import { RouterError } from '../../core/router-error.ts';
import type { ControlClient, SnapshotClient } from '../../ports/kv-bus.ts';
import { collectAnswer } from './collect-answer.ts';
import type { NatsHandle } from './nats-handle.ts';
import { encodeControl, type ControlMessage } from './wire/control.ts';
import { decodeKvSnapshot } from './wire/kv-snapshot.ts';
import { messageOf } from '../../core/router-error.ts';

export interface ControlOptions {
  /** Without any part of the answer for this long, the agent counts as silent. */
  readonly silentMs: number;
}

const defaults: ControlOptions = { silentMs: 10_000 };

/** Asks agents. All calls reject with `no-responder`, `worker-silent`, `cancelled`, or what the agent answered. */
export function controlClient(handle: NatsHandle, options: ControlOptions = defaults): SnapshotClient & ControlClient {
  const ask = (pool: PoolId, worker: WorkerId, message: ControlMessage, signal: AbortSignal): Promise<Uint8Array> =>
    collectAnswer(handle, { subject: handle.names.control(pool, worker), payload: encodeControl(message), worker, silentMs: options.silentMs }, signal);
  return {
    async fetch(pool: PoolId, id: RankId, signal: AbortSignal): Promise<KvSnapshot> {
      const bytes = await ask(pool, id.worker, { op: 'snapshot', rank: id.rank }, signal);
      try {
        return decodeKvSnapshot(bytes, id);
      } catch (error) {
        throw new RouterError('worker-failed', `worker ${id.worker} sent a snapshot of rank ${id.rank} that can't be read: ${messageOf(error)}`, { cause: error });
      }
    },
    tokenize: (pool, worker, body, signal) => ask(pool, worker, { op: 'tokenize', body }, signal),
    async drain(pool, worker, draining, signal): Promise<void> {
      await ask(pool, worker, { op: 'drain', draining }, signal);
    },
  };
}
