import type { PlacementEvent } from '../../core/placement/placement-event.ts';
import { parsePoolId } from '../../core/identity/ids.ts';
import type { PoolId } from '../../core/identity/ids.ts';
import { RouterError } from '../../core/router-error.ts';

const names = { placed: 0, first_token: 0, finished: 0, failed: 0, rerouted: 0, rejected: 0, mode_changed: 0 } satisfies Record<PlacementEvent['event'], 0>;

const isEventName = (name: string): boolean => Object.hasOwn(names, name);
/** Requests of a wanted session whose end has not been seen, at most. */
const maxRemembered = 10_000;

/** Which placement events a reader wants: by pool, worker, kinds of event, and session with all that follows of its requests. */
export class PlacementFilter {
  readonly pool: PoolId | null;
  readonly #worker: string | null;
  readonly #session: string | null;
  readonly #events: readonly string[] | null;
  readonly #requests = new Set<string>();

  /** Throws `bad-request` for an event name that does not exist. */
  constructor(query: URLSearchParams) {
    const pool = query.get('pool');
    this.pool = pool === null ? null : poolOf(pool);
    this.#worker = query.get('worker');
    this.#session = query.get('session');
    this.#events = query.get('event')?.split(',') ?? null;
    const unknown = this.#events?.find((name) => !isEventName(name));
    if (unknown !== undefined) throw new RouterError('bad-request', `event ${JSON.stringify(unknown.slice(0, 40))} is not known: give some of ${Object.keys(names).join(', ')}`);
  }

  takes(event: PlacementEvent): boolean {
    if (this.pool !== null && event.pool !== this.pool) return false;
    if (this.#session !== null && !this.#ofSession(event)) return false;
    if (this.#worker !== null && !('worker' in event && event.worker === this.#worker)) return false;
    return this.#events === null || this.#events.includes(event.event);
  }

  /** Only `placed` names the session; what comes later is known by its request. */
  #ofSession(event: PlacementEvent): boolean {
    if (!('requestId' in event)) return false;
    if (event.event === 'placed' && event.session === this.#session && this.#requests.size < maxRemembered) this.#requests.add(event.requestId);
    const wanted = this.#requests.has(event.requestId);
    if (event.event === 'finished' || event.event === 'failed') this.#requests.delete(event.requestId);
    return wanted;
  }
}

function poolOf(text: string): PoolId {
  try {
    return parsePoolId(text);
  } catch (cause) {
    throw new RouterError('bad-request', `pool ${JSON.stringify(text.slice(0, 80))} can't be one`, { cause });
  }
}
