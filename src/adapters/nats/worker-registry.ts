import type { Subscription } from 'nats';
import type { WorkerRegistration } from '../../core/identity/registration.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { Registered, WorkerRegistry } from '../../ports/worker-registry.ts';
import { Bucket } from './bucket.ts';
import { decodeCounted } from './decode-counted.ts';
import { answerLife, askWhoLives } from './life-probe.ts';
import type { NatsHandle } from './nats-handle.ts';
import { decodeRegistration, encodeRegistration } from './wire/registration.ts';

/** Entries of `KIN_WORKERS`, key `<pool>.<worker>`: three renewals in the time that one lives. */
export function workerRegistry(handle: NatsHandle): WorkerRegistry {
  const bucket = new Bucket(handle, handle.names.streams.workers);
  return {
    async register(registration: WorkerRegistration): Promise<Registered> {
      const kept = new KeptRegistration(handle, bucket, registration);
      await kept.begin((await bucket.ttlMs()) / renewalsPerLife);
      return kept;
    },
  };
}

type Claim = { readonly kind: 'written' } | { readonly kind: 'taken'; readonly by: string };

const claimAttempts = 5;
const renewalsPerLife = 3;

class KeptRegistration implements Registered {
  readonly #handle: NatsHandle;
  readonly #bucket: Bucket;
  readonly #key: string;
  #registration: WorkerRegistration;
  #revision = 0;
  /** Writes one after the other: each compares with the revision of the one before. */
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  #life: Subscription | null = null;
  #unlisten: () => void = () => undefined;

  constructor(handle: NatsHandle, bucket: Bucket, registration: WorkerRegistration) {
    this.#handle = handle;
    this.#bucket = bucket;
    this.#registration = registration;
    this.#key = `${registration.pool}.${registration.worker}`;
  }

  async begin(renewMs: number): Promise<void> {
    const { pool, worker, life } = this.#registration;
    // Read before asking: whoever takes the name after that is found by the write, which compares with this revision.
    const before = await this.#bucket.get(this.#key);
    const holder = await askWhoLives(this.#handle, pool, worker);
    if (holder.kind !== 'nobody') throw this.#collision(holder.kind === 'alive' ? `life ${holder.life}` : 'it does not answer');
    this.#life = answerLife(this.#handle, pool, worker, life);
    this.#revision = before.revision;
    const claim = await this.#claim().catch((error: unknown) => {
      this.#stop();
      throw error;
    });
    if (claim.kind === 'taken') {
      this.#stop();
      throw this.#collision(`life ${claim.by}`);
    }
    this.#timer = setInterval(() => this.#renew(), renewMs);
    this.#timer.unref();
    this.#unlisten = this.#handle.onConnected(() => this.#renew());
  }

  update(registration: WorkerRegistration): Promise<void> {
    this.#registration = registration;
    return this.#enqueue(async () => this.#settle(await this.#claim()));
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#writing.catch(() => undefined);
    // Without a connection the entry goes by its age.
    if (!this.#handle.connected || this.#revision === 0) return;
    await this.#bucket.delete(this.#key, this.#revision).catch((error: unknown) => this.#handle.log.warn({ key: this.#key, error: messageOf(error) }, 'registration-not-removed'));
  }

  #renew(): void {
    if (!this.#handle.connected) return;
    this.#enqueue(async () => this.#settle(await this.#claim())).catch((error: unknown) => {
      this.#handle.counters.renewalsFailed += 1;
      this.#handle.log.warn({ key: this.#key, error: messageOf(error) }, 'registration-not-renewed');
    });
  }

  #enqueue(write: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(write);
    this.#writing = done.catch(() => undefined);
    return done;
  }

  #settle(claim: Claim): void {
    if (claim.kind === 'written') return;
    this.#stop();
    this.#handle.log.error({ key: this.#key, by: claim.by }, 'registration-taken');
    throw this.#collision(`life ${claim.by}`);
  }

  /** Writes over the entry with our revision, or over what is ours or nobody's; never over another's. */
  async #claim(): Promise<Claim> {
    const value = encodeRegistration(this.#registration);
    for (let attempt = 0; attempt < claimAttempts; attempt++) {
      const written = await this.#bucket.put(this.#key, value, this.#revision);
      if (written.kind === 'written') {
        this.#revision = written.revision;
        return { kind: 'written' };
      }
      const found = await this.#bucket.get(this.#key);
      const other = found.kind === 'found' ? this.#otherLife(found.value) : null;
      if (other !== null) return { kind: 'taken', by: other };
      this.#revision = found.revision;
    }
    throw new RouterError('bus-unavailable', `registration ${this.#key} was changed by others ${claimAttempts} times while it was written`);
  }

  /** Null: ours, or nothing that can be read. */
  #otherLife(value: Uint8Array): string | null {
    const other = decodeCounted(this.#handle, this.#bucket.subject(this.#key), () => decodeRegistration(value));
    return other === null || other.life === this.#registration.life ? null : other.life;
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#unlisten();
    this.#life?.unsubscribe();
    this.#life = null;
  }

  #collision(who: string): RouterError {
    const { pool, worker } = this.#registration;
    return new RouterError('bad-config', `worker ${worker} of pool ${pool} is already there (${who}): give this agent another --name, or stop the other`);
  }
}
