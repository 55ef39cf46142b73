import { nuid } from 'nats';
import type { PlacementEvent } from '../../core/placement/placement-event.ts';
import { messageOf } from '../../core/router-error.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { PlacementFollower, PlacementPublisher } from '../../ports/placement-bus.ts';
import { decodeCounted } from './decode-counted.ts';
import type { NatsHandle } from './nats-handle.ts';
import { RecentlySent } from './recently-sent.ts';
import { StreamTail } from './stream-tail.ts';
import { decodePlacementEvent, encodePlacementEvent } from './wire/placement-record.ts';

const maxWaiting = 2_048;
/** What a server that was killed had been sent so shortly before, it may not have stored. */
const doubtfulMs = 2_000;

interface Waiting {
  readonly subject: string;
  readonly payload: Uint8Array;
  /** The stream stores what comes twice under one id once. */
  readonly messageId: string;
}

/** Placement events out and in: JSON that the stream captures, so that any NATS client can read it. */
export class NatsPlacementBus implements PlacementPublisher, PlacementFollower {
  readonly #handle: NatsHandle;
  readonly #waiting: Waiting[] = [];
  readonly #sent = new RecentlySent<Waiting>({ doubtfulMs, most: maxWaiting });
  readonly #name = nuid.next();
  #published = 0;

  constructor(handle: NatsHandle) {
    this.#handle = handle;
    handle.onDisconnected(() => this.#doubt());
    handle.onConnected(() => this.#sendWaiting());
  }

  publish(event: PlacementEvent): void {
    this.#published += 1;
    const worker = 'worker' in event ? event.worker : '';
    this.#send({ subject: this.#handle.names.placement(event.pool, worker, event.event), payload: encodePlacementEvent(event), messageId: `${this.#name}.${this.#published}` });
  }

  async follow(options: { readonly pool: string | null; readonly after: number | null }, onEvent: (event: PlacementEvent, sequence: number) => void): Promise<Closable> {
    const handle = this.#handle;
    const tail = new StreamTail(handle, {
      stream: handle.names.streams.placement,
      filter: handle.names.placementsOf(options.pool),
      start: options.after === null ? { kind: 'new' } : { kind: 'after', sequence: options.after },
      onMessage: ({ subject, data, sequence }) => {
        const event = decodeCounted(handle, subject, () => decodePlacementEvent(data));
        if (event !== null) onEvent(event, sequence);
      },
    });
    await tail.caughtUp;
    return tail;
  }

  #send(message: Waiting): void {
    if (!this.#handle.connected) return this.#keep(message);
    try {
      this.#handle.publish(message.subject, message.payload, { messageId: message.messageId });
      this.#sent.add(message, performance.now());
    } catch (error) {
      // The record is lost, the request it tells of is not.
      this.#handle.counters.placementsDropped += 1;
      this.#handle.log.warn({ subject: message.subject, error: messageOf(error) }, 'placement-event-dropped');
    }
  }

  /** The connection is lost, and with it perhaps what was sent just before: an end that is never told leaves a claim. */
  #doubt(): void {
    for (const message of this.#sent.take(performance.now())) this.#keep(message);
  }

  /** The oldest go first: what they claim is over soonest. */
  #keep(message: Waiting): void {
    this.#waiting.push(message);
    if (this.#waiting.length <= maxWaiting) return;
    this.#waiting.shift();
    this.#handle.counters.placementsDropped += 1;
  }

  #sendWaiting(): void {
    for (const message of this.#waiting.splice(0)) this.#send(message);
  }
}
