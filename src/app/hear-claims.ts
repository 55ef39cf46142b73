import type { RequestId, RouterId } from '../core/identity/ids.ts';
import { requestId } from '../core/identity/ids.ts';
import { assertNever } from '../core/assert-never.ts';
import type { ClaimLedger } from '../core/load/claim-ledger.ts';
import { claimOfEvent } from '../core/placement/placement-claim.ts';
import type { PlacementEvent } from '../core/placement/placement-event.ts';
import { messageOf } from '../core/router-error.ts';
import type { Clock } from '../ports/clock.ts';
import type { Closable } from '../ports/kv-bus.ts';
import type { Log } from '../ports/log.ts';
import type { PlacementFollower } from '../ports/placement-bus.ts';
import type { RouterMetrics } from '../ports/router-metrics.ts';

export interface HearClaimsDeps {
  readonly router: RouterId;
  readonly ledger: ClaimLedger;
  readonly placements: PlacementFollower;
  readonly metrics: RouterMetrics;
  readonly clock: Clock;
  readonly log: Log;
}

/** A request of a router that vanished is never said to end: nothing runs longer than this, so its claim goes. */
export const longestClaimMs = 600_000;
const sweepMs = 5_000;
/** Above so many, the oldest are given up. */
const maxClaims = 100_000;

/** Books what the other routers place, as they tell it, so that replicas see each other's load at once. */
export async function hearClaims(deps: HearClaimsDeps): Promise<Closable> {
  const claims = new ForeignClaims(deps);
  const following = await deps.placements.follow({ pool: null, after: null }, (event) => claims.hear(event));
  const stopSweep = deps.clock.every(sweepMs, () => claims.expire());
  return {
    close: async () => {
      stopSweep();
      await following.close();
    },
  };
}

class ForeignClaims {
  readonly #deps: HearClaimsDeps;
  /** When each was taken, the oldest first. */
  readonly #takenMs = new Map<RequestId, number>();

  constructor(deps: HearClaimsDeps) {
    this.#deps = deps;
  }

  hear(event: PlacementEvent): void {
    if (event.router === this.#deps.router) return;
    switch (event.event) {
      case 'placed':
        return this.#take(event);
      case 'first_token':
        return this.#deps.ledger.firstToken(requestId(event.requestId));
      case 'finished':
      case 'failed':
      case 'rerouted':
        return this.#release(requestId(event.requestId));
      case 'rejected':
      case 'mode_changed':
        return;
      default:
        return assertNever(event, 'placement event');
    }
  }

  expire(): void {
    const before = this.#deps.clock.nowMs() - longestClaimMs;
    for (const [id, takenMs] of this.#takenMs) {
      if (takenMs > before) return;
      this.#giveUp(id);
    }
  }

  #makeRoom(): void {
    const [oldest] = this.#takenMs.keys();
    if (this.#takenMs.size > maxClaims && oldest !== undefined) this.#giveUp(oldest);
  }

  #giveUp(id: RequestId): void {
    this.#release(id);
    this.#deps.metrics.foreignClaimLost('expired');
  }

  #take(event: Extract<PlacementEvent, { event: 'placed' }>): void {
    try {
      const claim = claimOfEvent(event);
      this.#deps.ledger.take(claim);
      this.#takenMs.delete(claim.requestId);
      this.#takenMs.set(claim.requestId, this.#deps.clock.nowMs());
      this.#makeRoom();
    } catch (error) {
      this.#deps.metrics.foreignClaimLost('unreadable');
      this.#deps.log.warn({ router: event.router, requestId: event.requestId, error: messageOf(error) }, 'foreign-claim-unreadable');
    }
  }

  #release(id: RequestId): void {
    if (this.#takenMs.delete(id)) this.#deps.ledger.release(id);
  }
}
