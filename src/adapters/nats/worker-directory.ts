import { millis } from 'nats';
import type { WorkerRegistration } from '../../core/identity/registration.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { WorkerDirectory, WorkerListener } from '../../ports/worker-registry.ts';
import { Bucket } from './bucket.ts';
import { decodeCounted } from './decode-counted.ts';
import type { NatsHandle } from './nats-handle.ts';
import { StreamTail, type TailMessage } from './stream-tail.ts';
import { everyUnlessLate } from './unless-late.ts';
import { decodeRegistration } from './wire/registration.ts';

/** Follows `KIN_WORKERS` by its stream: `watch` of the client saw nothing for seconds after a restart of the server. */
export function workerDirectory(handle: NatsHandle): WorkerDirectory {
  return {
    async follow(listener: WorkerListener): Promise<Closable> {
      const followed = new FollowedWorkers(handle, listener);
      await followed.caughtUp();
      return followed;
    },
  };
}

interface Known {
  readonly registration: WorkerRegistration;
  /** The entry as it came, to tell a renewal from a change. */
  readonly text: string;
  renewedAtMs: number;
}

const sweepsPerLife = 12;

class FollowedWorkers implements Closable {
  readonly #handle: NatsHandle;
  readonly #listener: WorkerListener;
  readonly #bucket: Bucket;
  readonly #known = new Map<string, Known>();
  readonly #tail: StreamTail;
  #ttlMs = Number.POSITIVE_INFINITY;
  #stopSweeping: (() => void) | null = null;

  constructor(handle: NatsHandle, listener: WorkerListener) {
    this.#handle = handle;
    this.#listener = listener;
    this.#bucket = new Bucket(handle, handle.names.streams.workers);
    this.#tail = new StreamTail(handle, {
      stream: this.#bucket.stream,
      filter: this.#bucket.subject('>'),
      start: { kind: 'last-per-subject' },
      onMessage: (message) => this.#apply(message),
      onAttached: ({ config }) => this.#attached(millis(config.max_age)),
    });
  }

  caughtUp(): Promise<void> {
    return this.#tail.caughtUp;
  }

  async close(): Promise<void> {
    this.#stopSweeping?.();
    await this.#tail.close();
  }

  /** A bucket tells nobody when an entry expires, so we count its life ourselves; after an interruption, anew. */
  #attached(ttlMs: number): void {
    this.#ttlMs = ttlMs;
    const now = performance.now();
    for (const known of this.#known.values()) known.renewedAtMs = now;
    this.#stopSweeping ??= everyUnlessLate(ttlMs / sweepsPerLife, (nowMs) => this.#expire(nowMs));
  }

  #apply({ subject, data, operation }: TailMessage): void {
    const key = this.#bucket.keyOf(subject);
    if (operation !== null) return this.#forget(key, 'removed');
    const registration = decodeCounted(this.#handle, subject, () => decodeRegistration(data));
    if (registration === null || `${registration.pool}.${registration.worker}` !== key) return;
    const text = new TextDecoder().decode(data);
    const before = this.#known.get(key);
    this.#known.set(key, { registration, text, renewedAtMs: performance.now() });
    if (before?.text !== text) this.#listener.registered(registration);
  }

  #expire(nowMs: number): void {
    // While nothing can be heard, nobody is dead: all workers would vanish because NATS was restarted.
    if (!this.#tail.attached) return;
    const deadline = nowMs - this.#ttlMs;
    for (const [key, known] of this.#known) if (known.renewedAtMs < deadline) this.#forget(key, 'expired');
  }

  #forget(key: string, why: string): void {
    const known = this.#known.get(key);
    if (known === undefined) return;
    this.#known.delete(key);
    this.#handle.log.info({ key, why }, 'worker-gone');
    this.#listener.gone(known.registration.pool, known.registration.worker);
  }
}
