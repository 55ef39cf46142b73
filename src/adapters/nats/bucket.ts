import { headers, millis, NatsError, type JetStreamPublishOptions } from 'nats';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { NatsHandle } from './nats-handle.ts';

/** A value with the revision to compare and set against. */
export interface Entry {
  readonly value: Uint8Array;
  readonly revision: number;
}

/** What is under a key: gone keeps the revision of its marker, which the next write is compared with. */
export type Found = ({ readonly kind: 'found' } & Entry) | { readonly kind: 'absent'; readonly revision: number };

export type Written = { readonly kind: 'written'; readonly revision: number } | { readonly kind: 'conflict' };

const wrongLastSequence = 10071;

/** Reads and compare-and-sets the keys of one bucket. All reject with `bus-unavailable` where the server does not answer. */
export class Bucket {
  readonly #handle: NatsHandle;
  readonly #name: string;

  constructor(handle: NatsHandle, name: string) {
    this.#handle = handle;
    this.#name = name;
  }

  get stream(): string {
    return `KV_${this.#name}`;
  }

  subject(key: string): string {
    return `$KV.${this.#name}.${key}`;
  }

  keyOf(subject: string): string {
    return subject.slice(this.subject('').length);
  }

  /** How long an entry lives without being written again; infinite where it lives for ever. */
  async ttlMs(): Promise<number> {
    const info = await this.#handle.manager.streams.info(this.stream).catch((error: unknown) => {
      throw this.#unavailable('*', error);
    });
    return info.config.max_age === 0 ? Number.POSITIVE_INFINITY : millis(info.config.max_age);
  }

  async get(key: string): Promise<Found> {
    try {
      const message = await this.#handle.manager.streams.getMessage(this.stream, { last_by_subj: this.subject(key) });
      const gone = message.header.get('KV-Operation') !== '';
      return gone ? { kind: 'absent', revision: message.seq } : { kind: 'found', value: message.data, revision: message.seq };
    } catch (error) {
      if (error instanceof NatsError && error.code === '404') return { kind: 'absent', revision: 0 };
      throw this.#unavailable(key, error);
    }
  }

  /** With `revision` only if the key's last write has that one (0: if there is none); null writes in any case. */
  put(key: string, value: Uint8Array, revision: number | null): Promise<Written> {
    return this.#write(key, value, { ...(revision === null ? {} : { expect: { lastSubjectSequence: revision } }) });
  }

  delete(key: string, revision: number): Promise<Written> {
    const marker = headers();
    marker.set('KV-Operation', 'DEL');
    return this.#write(key, new Uint8Array(0), { headers: marker, expect: { lastSubjectSequence: revision } });
  }

  async #write(key: string, value: Uint8Array, options: Partial<JetStreamPublishOptions>): Promise<Written> {
    // The client would keep it until it reconnects, and then throw it away.
    if (!this.#handle.connected) throw this.#unavailable(key, new Error('not connected'));
    try {
      const ack = await this.#handle.jetstream.publish(this.subject(key), value, options);
      return { kind: 'written', revision: ack.seq };
    } catch (error) {
      if (error instanceof NatsError && error.api_error?.err_code === wrongLastSequence) return { kind: 'conflict' };
      throw this.#unavailable(key, error);
    }
  }

  #unavailable(key: string, cause: unknown): RouterError {
    return new RouterError('bus-unavailable', `key ${key} of bucket ${this.#name} could not be reached: ${messageOf(cause)}`, { cause });
  }
}
