import type { PoolId } from '../../core/identity/ids.ts';
import type { LoadSnapshot } from '../../core/load/load-snapshot.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { LoadFollower, LoadPublisher } from '../../ports/worker-registry.ts';
import { parseRankSubject } from './bus-names.ts';
import { decodeCounted } from './decode-counted.ts';
import type { NatsHandle } from './nats-handle.ts';
import { StreamTail } from './stream-tail.ts';
import { decodeLoad, encodeLoad } from './wire/load-report.ts';

/** The stream keeps the last report of each rank. One that can't be sent is old by the time it could. */
export function loadPublisher(handle: NatsHandle): LoadPublisher {
  return {
    publish(pool: PoolId, load: LoadSnapshot): void {
      if (handle.connected) handle.publish(handle.names.load(pool, load.id), encodeLoad(load));
      else handle.counters.loadsDropped += 1;
    },
  };
}

/** Tells the last report of each rank first, then every new one. */
export function loadFollower(handle: NatsHandle): LoadFollower {
  return {
    async follow(pool: PoolId, onLoad: (load: LoadSnapshot) => void): Promise<Closable> {
      const tail = new StreamTail(handle, {
        stream: handle.names.streams.load,
        filter: handle.names.loadOfPool(pool),
        start: { kind: 'last-per-subject' },
        onMessage: ({ subject, data }) => {
          const from = parseRankSubject(subject);
          const load = from === null ? null : decodeCounted(handle, subject, () => decodeLoad(data, from.id));
          if (load !== null) onLoad(load);
        },
      });
      await tail.caughtUp;
      return tail;
    },
  };
}
