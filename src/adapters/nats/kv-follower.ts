import type { PoolId, RankId } from '../../core/identity/ids.ts';
import type { KvBatch } from '../../core/kv-stream/kv-event.ts';
import type { Closable, KvFollower } from '../../ports/kv-bus.ts';
import { parseRankSubject } from './bus-names.ts';
import { decodeCounted } from './decode-counted.ts';
import type { NatsHandle } from './nats-handle.ts';
import { StreamTail } from './stream-tail.ts';
import { decodeKvBatch } from './wire/kv-batch.ts';

/**
 * Follows `KIN_KV` from now on: the past comes from snapshots. Every batch after `follow` resolved is delivered, so a
 * snapshot that is asked for then joins without a hole.
 */
export function kvFollower(handle: NatsHandle): KvFollower {
  return {
    async follow(pool: PoolId, onBatch: (id: RankId, batch: KvBatch) => void): Promise<Closable> {
      const tail = new StreamTail(handle, {
        stream: handle.names.streams.kv,
        filter: handle.names.kvOfPool(pool),
        start: { kind: 'new' },
        onMessage: ({ subject, data }) => {
          const from = parseRankSubject(subject);
          const batch = from === null ? null : decodeCounted(handle, subject, () => decodeKvBatch(data));
          if (from !== null && batch !== null) onBatch(from.id, batch);
        },
      });
      await tail.caughtUp;
      return tail;
    },
  };
}
