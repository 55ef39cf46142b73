import { AckPolicy, DeliverPolicy, nanos, nuid, ReplayPolicy, type ConsumerConfig, type Msg, type Subscription } from 'nats';
import { deliveryOf, headerOf, isStatus } from './delivery.ts';
import type { NatsHandle } from './nats-handle.ts';
import type { TailMessage } from './stream-tail.ts';
import { everyUnlessLate } from './unless-late.ts';

export type StartAt = { readonly kind: 'last-per-subject' } | { readonly kind: 'sequence'; readonly sequence: number };

export interface ConsumerOptions {
  readonly stream: string;
  readonly filter: string;
  readonly startAt: StartAt;
  readonly onMessage: (message: TailMessage, pending: number) => void;
  /** Called once, and never after `close`: the consumer is of no more use. */
  readonly onBroken: (why: string) => void;
}

const heartbeatMs = 1_000;
const missedHeartbeats = 3;
/** When nobody listens any more, the server forgets the consumer after this. */
const inactiveMs = 30_000;

/**
 * One ephemeral push consumer with flow control: messages in order, until something breaks. Our own, because the
 * client's ordered pull consumer waits out a backoff after a restart of the server, can't be stopped while it does,
 * and takes twice as long to catch up (4.1 s against 8 to 10 s for a million messages on 2.9).
 */
export async function openConsumer(handle: NatsHandle, options: ConsumerOptions): Promise<OrderedConsumer> {
  const consumer = new OrderedConsumer(handle, options);
  try {
    await consumer.create();
    return consumer;
  } catch (error) {
    await consumer.close();
    throw error;
  }
}

export class OrderedConsumer {
  readonly #handle: NatsHandle;
  readonly #options: ConsumerOptions;
  readonly #name = `kin_${nuid.next()}`;
  readonly #inbox: string;
  readonly #subscription: Subscription;
  readonly #stopWatching: () => void;
  #delivered = 0;
  #lastHeardMs = performance.now();
  #over = false;
  #created = false;
  #pendingAtStart = 0;

  constructor(handle: NatsHandle, options: ConsumerOptions) {
    this.#handle = handle;
    this.#options = options;
    this.#inbox = handle.newInbox();
    this.#subscription = handle.subscribe(this.#inbox, (message) => this.#receive(message));
    this.#stopWatching = everyUnlessLate(heartbeatMs, (nowMs) => this.#checkSilence(nowMs));
  }

  /** What the stream held for us when the consumer was made. */
  get pendingAtStart(): number {
    return this.#pendingAtStart;
  }

  async create(): Promise<void> {
    const info = await this.#handle.manager.consumers.add(this.#options.stream, this.#config());
    this.#created = true;
    this.#pendingAtStart = info.num_pending + info.delivered.consumer_seq;
    this.#lastHeardMs = performance.now();
  }

  async close(): Promise<void> {
    if (this.#over && !this.#created) return;
    this.#end();
    const created = this.#created;
    this.#created = false;
    // One that can't be deleted now goes by itself after `inactiveMs`.
    if (created && this.#handle.connected) await this.#handle.manager.consumers.delete(this.#options.stream, this.#name).catch(() => undefined);
  }

  #config(): Partial<ConsumerConfig> {
    const { startAt, filter } = this.#options;
    return {
      name: this.#name,
      deliver_subject: this.#inbox,
      filter_subject: filter,
      ack_policy: AckPolicy.None,
      replay_policy: ReplayPolicy.Instant,
      max_deliver: 1,
      flow_control: true,
      idle_heartbeat: nanos(heartbeatMs),
      inactive_threshold: nanos(inactiveMs),
      mem_storage: true,
      num_replicas: 1,
      ...(startAt.kind === 'last-per-subject' ? { deliver_policy: DeliverPolicy.LastPerSubject } : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: startAt.sequence }),
    };
  }

  #receive(message: Msg): void {
    if (this.#over) return;
    this.#lastHeardMs = performance.now();
    if (isStatus(message, 100)) return this.#answerStatus(message);
    const delivery = deliveryOf(message);
    if (delivery === null) {
      this.#handle.counters.undecodable += 1;
      return;
    }
    if (delivery.deliverySequence !== this.#delivered + 1) return this.#break('hole');
    this.#delivered = delivery.deliverySequence;
    const { subject, data } = message;
    this.#options.onMessage({ subject, data, sequence: delivery.streamSequence, operation: headerOf(message, 'KV-Operation') }, delivery.pending);
  }

  /** Flow control is answered, so that the server goes on; a heartbeat says what should have come by now. */
  #answerStatus(message: Msg): void {
    const stalled = headerOf(message, 'Nats-Consumer-Stalled');
    const answerTo = stalled ?? (message.reply !== undefined && message.reply !== '' ? message.reply : null);
    if (answerTo !== null && this.#handle.connected) this.#handle.publish(answerTo, new Uint8Array(0));
    const sent = headerOf(message, 'Nats-Last-Consumer');
    if (sent !== null && Number(sent) > this.#delivered) this.#break('missed');
  }

  #checkSilence(nowMs: number): void {
    if (this.#created && nowMs - this.#lastHeardMs > missedHeartbeats * heartbeatMs) this.#break('silent');
  }

  #break(why: string): void {
    if (this.#over) return;
    this.#end();
    this.#options.onBroken(why);
  }

  #end(): void {
    this.#over = true;
    this.#stopWatching();
    this.#subscription.unsubscribe();
  }
}
