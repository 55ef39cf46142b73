import type { PlacementEvent } from '../../core/placement/placement-event.ts';
import { messageOf } from '../../core/router-error.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { PlacementFollower, PlacementPublisher } from '../../ports/placement-bus.ts';
import { decodeCounted } from './decode-counted.ts';
import type { NatsHandle } from './nats-handle.ts';
import { StreamTail } from './stream-tail.ts';
import { decodePlacementEvent, encodePlacementEvent } from './wire/placement-record.ts';

const maxWaiting = 2_048;

interface Waiting {
  readonly subject: string;
  readonly payload: Uint8Array;
}

/** Placement events out and in: JSON that the stream captures, so that any NATS client can read it. */
export class NatsPlacementBus implements PlacementPublisher, PlacementFollower {
  readonly #handle: NatsHandle;
  readonly #waiting: Waiting[] = [];

  constructor(handle: NatsHandle) {
    this.#handle = handle;
    handle.onConnected(() => this.#sendWaiting());
  }

  publish(event: PlacementEvent): void {
    const worker = 'worker' in event ? event.worker : '';
    this.#send({ subject: this.#handle.names.placement(event.pool, worker, event.event), payload: encodePlacementEvent(event) });
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
      this.#handle.publish(message.subject, message.payload);
    } catch (error) {
      // The record is lost, the request it tells of is not.
      this.#handle.counters.placementsDropped += 1;
      this.#handle.log.warn({ subject: message.subject, error: messageOf(error) }, 'placement-event-dropped');
    }
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
