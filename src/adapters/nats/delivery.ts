import type { Msg } from 'nats';

/** Where a message of a consumer stands, as its reply subject says. */
export interface Delivery {
  readonly streamSequence: number;
  /** Counted by the consumer, without holes. */
  readonly deliverySequence: number;
  /** Messages that the consumer still has to deliver. */
  readonly pending: number;
}

/**
 * `$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<delivery seq>.<time>.<pending>`, since 2.10 in some set-ups
 * with domain and account before the stream and a random token at the end. Null for a message of no consumer.
 */
export function deliveryOf(message: Msg): Delivery | null {
  const tokens = message.reply?.split('.') ?? [];
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return null;
  const at = tokens.length === 9 ? 5 : 7;
  const [streamSequence = Number.NaN, deliverySequence = Number.NaN, , pending = Number.NaN] = tokens.slice(at, at + 4).map(Number);
  if (!Number.isSafeInteger(streamSequence) || !Number.isSafeInteger(deliverySequence) || !Number.isSafeInteger(pending)) return null;
  return { streamSequence, deliverySequence, pending };
}

/** Heartbeats (and flow control) carry status 100, "nobody listens there" 503. */
export const isStatus = (message: Msg, code: number): boolean => message.data.length === 0 && message.headers?.code === code;

export function headerOf(message: Msg, name: string): string | null {
  const value = message.headers?.get(name) ?? '';
  return value === '' ? null : value;
}
