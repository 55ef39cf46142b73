import { setTimeout as delay } from 'node:timers/promises';
import type { StreamInfo } from 'nats';
import { messageOf, RouterError } from '../../core/router-error.ts';
import { openConsumer, type OrderedConsumer, type StartAt } from './ordered-consumer.ts';
import { deferred } from './deferred.ts';
import type { NatsHandle } from './nats-handle.ts';

export interface TailMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  /** In the stream; rises, with holes where other subjects lie between. */
  readonly sequence: number;
  /** `DEL` or `PURGE` in a bucket; null for a value. */
  readonly operation: string | null;
}

export interface TailOptions {
  readonly stream: string;
  /** One subject, which may end in `>`. */
  readonly filter: string;
  readonly start: { readonly kind: 'new' } | { readonly kind: 'last-per-subject' } | { readonly kind: 'after'; readonly sequence: number };
  readonly onMessage: (message: TailMessage) => void;
  /** Reading began, or began again after an interruption. */
  readonly onAttached?: (stream: StreamInfo) => void;
}

const firstRetryMs = 50;
const longestRetryMs = 2_000;

/**
 * Reads one subject of a stream in order and goes on where it was after whatever happens: a restart of the server, a
 * lost consumer, a hole, silence. A stream that was deleted and recreated is read from its start.
 */
export class StreamTail {
  readonly #handle: NatsHandle;
  readonly #options: TailOptions;
  readonly #stop = new AbortController();
  readonly #unlisten: readonly (() => void)[];
  readonly #caughtUp = deferred<void>();
  /** Stream sequence of the last message seen, or passed over at the start. */
  #cursor = 0;
  #created: string | null = null;
  #consumer: OrderedConsumer | null = null;
  #attaching: Promise<void> | null = null;

  constructor(handle: NatsHandle, options: TailOptions) {
    this.#handle = handle;
    this.#options = options;
    this.#unlisten = [handle.onConnected(() => this.#attach()), handle.onDisconnected(() => this.#interrupted('disconnected'))];
    this.#attach();
  }

  /** Whether messages flow; false from an interruption until reading began again. */
  get attached(): boolean {
    return this.#consumer !== null;
  }

  /** Resolves when all was delivered that the stream held at the start; rejects with `bus-unavailable` when closed before. */
  get caughtUp(): Promise<void> {
    return this.#caughtUp.promise;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const unlisten of this.#unlisten) unlisten();
    this.#caughtUp.reject(new RouterError('bus-unavailable', `reading of ${this.#options.stream} was ended before it had caught up`));
    const consumer = this.#consumer;
    this.#consumer = null;
    await Promise.all([consumer?.close(), this.#attaching]);
  }

  #interrupted(why: string): void {
    const consumer = this.#consumer;
    if (consumer === null) return;
    this.#consumer = null;
    this.#handle.counters.tailsRestarted += 1;
    this.#handle.log.info({ stream: this.#options.stream, filter: this.#options.filter, why, sequence: this.#cursor }, 'stream-reading-interrupted');
    void consumer.close();
    this.#attach();
  }

  #attach(): void {
    this.#attaching ??= this.#attachUntilDone().finally(() => {
      this.#attaching = null;
    });
  }

  async #attachUntilDone(): Promise<void> {
    const { signal } = this.#stop;
    // While the connection is down this ends; coming back starts it anew.
    for (let retryMs = firstRetryMs; !signal.aborted && this.#consumer === null && this.#handle.connected; retryMs = Math.min(2 * retryMs, longestRetryMs)) {
      try {
        await this.#open();
      } catch (error) {
        this.#handle.log.warn({ stream: this.#options.stream, error: messageOf(error), retryMs }, 'stream-reading-failed');
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #open(): Promise<void> {
    await this.#handle.provision();
    const info = await this.#handle.manager.streams.info(this.#options.stream);
    const startAt = this.#startIn(info);
    const consumer = await openConsumer(this.#handle, {
      stream: this.#options.stream,
      filter: this.#options.filter,
      startAt,
      onMessage: (message, pending) => this.#deliver(message, pending),
      onBroken: (why) => this.#interrupted(why),
    });
    if (this.#stop.signal.aborted || !this.#handle.connected) return consumer.close();
    this.#consumer = consumer;
    if (consumer.pendingAtStart === 0) this.#caughtUp.resolve();
    this.#options.onAttached?.(info);
  }

  /** Moves the cursor to where reading begins, and says what to ask the server for. */
  #startIn(info: StreamInfo): StartAt {
    const { start } = this.#options;
    const last = info.state.last_seq;
    const first = this.#created === null;
    if (!first && this.#created !== info.created) {
      this.#handle.counters.streamsRecreated += 1;
      this.#handle.log.warn({ stream: this.#options.stream, created: info.created }, 'stream-was-recreated');
      this.#cursor = 0;
    } else if (first && start.kind !== 'last-per-subject') {
      this.#cursor = start.kind === 'new' ? last : Math.min(start.sequence, last);
    }
    this.#created = info.created;
    // A stream that lost its end in a crash goes on below what we saw: what follows must not be passed over.
    this.#cursor = Math.min(this.#cursor, last);
    return start.kind === 'last-per-subject' && this.#cursor === 0 ? { kind: 'last-per-subject' } : { kind: 'sequence', sequence: this.#cursor + 1 };
  }

  #deliver(message: TailMessage, pending: number): void {
    this.#cursor = message.sequence;
    try {
      this.#options.onMessage(message);
    } finally {
      if (pending === 0) this.#caughtUp.resolve();
    }
  }
}
