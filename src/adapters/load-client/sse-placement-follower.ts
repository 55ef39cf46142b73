import { Agent, request } from 'undici';
import type { PlacementEvent } from '../../core/placement/placement-event.ts';
import { isObject } from '../../core/evidence/trace-fields.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { Log } from '../../ports/log.ts';
import type { PlacementFollower } from '../../ports/placement-bus.ts';
import { sseEvents } from './sse-events.ts';

type Listener = (event: PlacementEvent, sequence: number) => void;

const retryAfterMs = 1_000;

/** Placement events from a router's `GET /placements`, resumed by `Last-Event-ID` when the connection breaks. */
export class SsePlacementFollower implements PlacementFollower {
  readonly #url: string;
  readonly #log: Log;

  constructor(url: string, log: Log) {
    this.#url = url;
    this.#log = log;
  }

  /** Resolves when the router has answered. Rejects with `bus-unavailable` where it does not. */
  async follow(options: { readonly pool: string | null; readonly after: number | null }, onEvent: Listener): Promise<Closable> {
    const stop = new AbortController();
    const agent = new Agent({ bodyTimeout: 0 });
    const path = options.pool === null ? '/placements' : `/placements?pool=${encodeURIComponent(options.pool)}`;
    const connect = async (after: number | null): Promise<AsyncIterable<Uint8Array>> => {
      const headers = { accept: 'text/event-stream', ...(after === null ? {} : { 'last-event-id': String(after) }) };
      const response = await request(`${this.#url}${path}`, { headers, signal: stop.signal, dispatcher: agent });
      if (response.statusCode === 200) return response.body;
      throw new RouterError('bus-unavailable', `${this.#url}${path} answered ${response.statusCode}`);
    };
    const first = await connect(options.after).catch(async (cause: unknown) => {
      await agent.destroy();
      throw new RouterError('bus-unavailable', `router ${this.#url} shows no placements: ${messageOf(cause)}`, { cause });
    });
    const reading = this.#read(first, { connect, onEvent, after: options.after, signal: stop.signal });
    return {
      close: async () => {
        stop.abort();
        await reading;
        await agent.destroy();
      },
    };
  }

  async #read(first: AsyncIterable<Uint8Array>, work: Reading): Promise<void> {
    let after = work.after;
    let body: AsyncIterable<Uint8Array> | null = first;
    while (!work.signal.aborted) {
      try {
        body ??= await work.connect(after);
        for await (const { id, data } of sseEvents(body)) {
          after = id === null ? after : Number(id);
          this.#deliver(data, after ?? 0, work.onEvent);
        }
      } catch (error) {
        if (!work.signal.aborted) this.#log.warn({ router: this.#url, after, error: messageOf(error) }, 'placements-interrupted');
      }
      body = null;
      await pause(retryAfterMs, work.signal);
    }
  }

  #deliver(data: string, sequence: number, onEvent: Listener): void {
    const event = parsePlacementEvent(data);
    if (event === null) this.#log.warn({ router: this.#url, sequence }, 'placement-unreadable');
    else onEvent(event, sequence);
  }
}

interface Reading {
  readonly connect: (after: number | null) => Promise<AsyncIterable<Uint8Array>>;
  readonly onEvent: Listener;
  readonly after: number | null;
  readonly signal: AbortSignal;
}

/** Null where it is no record of version 1. */
function parsePlacementEvent(data: string): PlacementEvent | null {
  try {
    const value: unknown = JSON.parse(data);
    return isObject(value) && value['v'] === 1 && typeof value['event'] === 'string' ? (value as unknown as PlacementEvent) : null;
  } catch {
    // Counted and logged by the caller.
    return null;
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
