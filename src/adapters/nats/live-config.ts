import { RouterError } from '../../core/router-error.ts';
import type { LivePolicy } from '../../core/placement/placement.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { LiveConfig } from '../../ports/live-config.ts';
import { Bucket } from './bucket.ts';
import { decodeCounted } from './decode-counted.ts';
import type { NatsHandle } from './nats-handle.ts';
import { StreamTail } from './stream-tail.ts';
import { decodePolicy, encodePolicy } from './wire/policy.ts';

const key = 'policy';

/** The policy of all routers, under one key. The last one to write wins. */
export function liveConfig(handle: NatsHandle): LiveConfig {
  const bucket = new Bucket(handle, handle.names.streams.config);
  return {
    async get(): Promise<LivePolicy | null> {
      const found = await bucket.get(key);
      return found.kind === 'found' ? decodePolicy(found.value) : null;
    },
    async put(policy: LivePolicy): Promise<void> {
      const written = await bucket.put(key, encodePolicy(policy), null);
      if (written.kind === 'conflict') throw new RouterError('bus-unavailable', 'the policy was refused by its bucket: try again');
    },
    async follow(onPolicy: (policy: LivePolicy) => void): Promise<Closable> {
      const tail = new StreamTail(handle, {
        stream: bucket.stream,
        filter: bucket.subject(key),
        start: { kind: 'last-per-subject' },
        onMessage: ({ subject, data, operation }) => {
          const policy = operation === null ? decodeCounted(handle, subject, () => decodePolicy(data)) : null;
          if (policy !== null) onPolicy(policy);
        },
      });
      await tail.caughtUp;
      return tail;
    },
  };
}
