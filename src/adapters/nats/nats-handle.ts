import { setTimeout as delay } from 'node:timers/promises';
import { createInbox, Events, headers, type JetStreamClient, type JetStreamManager, type Msg, type MsgHdrs, type NatsConnection, type Status, type Subscription } from 'nats';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { Log } from '../../ports/log.ts';
import { newBusCounters, type BusCounters } from './bus-counters.ts';
import type { BusNames } from './bus-names.ts';
import { provision, type ProvisionOptions } from './provision.ts';

/** A connection to the bus: what the ports in this folder are built on. */
export interface NatsHandle {
  readonly names: BusNames;
  readonly log: Log;
  readonly counters: BusCounters;
  readonly jetstream: JetStreamClient;
  readonly manager: JetStreamManager;
  /** False from the moment a loss was noticed until the server answered again. */
  readonly connected: boolean;
  readonly serverVersion: string;
  /** Bytes of the largest message that the server takes. */
  readonly maxPayload: number;
  /** Both return a function that ends the listening. */
  onConnected(listener: () => void): () => void;
  onDisconnected(listener: () => void): () => void;
  /** A `listener` that throws is logged and counted; the reader of the connection never sees it. */
  subscribe(subject: string, listener: (message: Msg) => void): Subscription;
  /** Throws `bus-unavailable` when not connected, `payload-too-large` when the server would refuse it. */
  publish(subject: string, payload: Uint8Array, options?: { readonly reply?: string; readonly messageId?: string }): void;
  newInbox(): string;
  /** Resolves when the server has all that was said before (subscriptions too), or the connection was lost. */
  flush(): Promise<void>;
  /** Streams and buckets are there when this resolves. */
  provision(): Promise<void>;
  close(): Promise<void>;
}

export interface HandleParts {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly names: BusNames;
  readonly inboxPrefix: string;
  readonly limits: ProvisionOptions;
  readonly log: Log;
}

const flushTimeoutMs = 1_000;

/** The one place that touches the client library's connection. Everything of the folder goes through it. */
export class OwnedHandle implements NatsHandle {
  readonly names: BusNames;
  readonly log: Log;
  readonly counters = newBusCounters();
  readonly jetstream: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly #connection: NatsConnection;
  readonly #inboxPrefix: string;
  readonly #limits: ProvisionOptions;
  readonly #connectedListeners = new Set<() => void>();
  readonly #disconnectedListeners = new Set<() => void>();
  #connected = true;
  #provisioning: Promise<void> | null = null;
  readonly #statusEnded: Promise<void>;

  constructor(parts: HandleParts) {
    this.#connection = parts.connection;
    this.manager = parts.manager;
    this.jetstream = parts.connection.jetstream({ timeout: 2_000 });
    this.names = parts.names;
    this.#inboxPrefix = parts.inboxPrefix;
    this.#limits = parts.limits;
    this.log = parts.log;
    this.#statusEnded = this.#watchStatus();
  }

  get connected(): boolean {
    return this.#connected && !this.#connection.isClosed();
  }

  get serverVersion(): string {
    return this.#connection.info?.version ?? 'unknown';
  }

  get maxPayload(): number {
    return this.#connection.info?.max_payload ?? 1_048_576;
  }

  onConnected(listener: () => void): () => void {
    this.#connectedListeners.add(listener);
    return () => void this.#connectedListeners.delete(listener);
  }

  onDisconnected(listener: () => void): () => void {
    this.#disconnectedListeners.add(listener);
    return () => void this.#disconnectedListeners.delete(listener);
  }

  subscribe(subject: string, listener: (message: Msg) => void): Subscription {
    return this.#connection.subscribe(subject, {
      callback: (error, message) => {
        // A refused subscription: without an owner to tell, it must at least be seen.
        if (error !== null) this.log.error({ subject, error: error.message }, 'nats-subscription-failed');
        else this.#guard(() => listener(message), subject);
      },
    });
  }

  publish(subject: string, payload: Uint8Array, options: { readonly reply?: string; readonly messageId?: string } = {}): void {
    // The client would keep it and throw it away when it reconnects.
    if (!this.connected) throw new RouterError('bus-unavailable', 'the connection to NATS is down: it is being restored');
    if (payload.length > this.maxPayload) throw tooLarge(payload.length, this.maxPayload);
    const headers = options.messageId === undefined ? undefined : idHeaders(options.messageId);
    this.#connection.publish(subject, payload, { ...(options.reply === undefined ? {} : { reply: options.reply }), ...(headers === undefined ? {} : { headers }) });
  }

  newInbox(): string {
    return createInbox(this.#inboxPrefix);
  }

  async flush(): Promise<void> {
    // Rejects where the connection is lost meanwhile; subscriptions are made anew on the next one.
    await this.#connection.flush().catch(() => undefined);
  }

  provision(): Promise<void> {
    this.#provisioning ??= provision(this.manager, this.names, this.#limits).finally(() => {
      this.#provisioning = null;
    });
    return this.#provisioning;
  }

  async close(): Promise<void> {
    // `drain` of this client leaves the connection open when it is down; flushing can wait for ever then.
    if (this.#connected) await Promise.race([this.flush(), delay(flushTimeoutMs, undefined, { ref: false })]);
    await this.#connection.close();
    await this.#statusEnded;
  }

  async #watchStatus(): Promise<void> {
    const statuses = this.#connection.status()[Symbol.asyncIterator]();
    // The client's iterator does not end when its connection is closed.
    const closed = this.#connection.closed().then(() => null);
    for (let next = await Promise.race([statuses.next(), closed]); next !== null && next.done !== true; next = await Promise.race([statuses.next(), closed])) {
      this.#status(next.value);
    }
  }

  #status({ type, data }: Status): void {
    if (type === Events.Disconnect) this.#disconnected();
    else if (type === Events.Reconnect) this.#reconnected();
    else if (type === Events.Error) this.log.warn({ error: typeof data === 'string' ? data : '' }, 'nats-error');
  }

  #disconnected(): void {
    if (!this.#connected) return;
    this.#connected = false;
    this.counters.disconnects += 1;
    this.log.warn({ server: this.#connection.getServer() }, 'nats-disconnected');
    for (const listener of this.#disconnectedListeners) this.#guard(listener, 'disconnected');
  }

  #reconnected(): void {
    this.#connected = true;
    this.log.info({ server: this.#connection.getServer(), serverVersion: this.serverVersion }, 'nats-reconnected');
    // The memory stream does not survive a restart of the server.
    this.provision().catch((error: unknown) => this.log.warn({ error: messageOf(error) }, 'nats-provision-failed'));
    for (const listener of this.#connectedListeners) this.#guard(listener, 'connected');
  }

  /** A throw in a callback would end the client's reader without a word. */
  #guard(run: () => void, subject: string): void {
    try {
      run();
    } catch (error) {
      this.counters.callbackFailures += 1;
      this.log.error({ subject, error: messageOf(error) }, 'nats-callback-failed');
    }
  }
}

function idHeaders(messageId: string): MsgHdrs {
  const made = headers();
  made.set('Nats-Msg-Id', messageId);
  return made;
}

function tooLarge(bytes: number, limit: number): RouterError {
  return new RouterError('payload-too-large', `a message of ${bytes} bytes does not fit, the nats-server takes ${limit}: raise max_payload in its configuration, or send less`);
}
