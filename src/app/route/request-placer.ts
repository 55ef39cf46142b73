import type { PoolId, RankId, RouterId } from '../../core/identity/ids.ts';
import { place } from '../../core/placement/place.ts';
import type { LivePolicy, Placement } from '../../core/placement/placement.ts';
import type { PlacedPlacement } from '../../core/placement/placement-record.ts';
import { toRejectedEvent } from '../../core/placement/placement-record.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PlacementPublisher } from '../../ports/placement-bus.ts';
import type { RouterMetrics } from '../../ports/router-metrics.ts';
import type { Knowledge } from '../placement-view.ts';
import { placementView } from '../placement-view.ts';
import type { AskedRequest } from './asked-request.ts';
import { placementRequestOf } from './asked-request.ts';
import type { RankCooldown } from './rank-cooldown.ts';
import { rejection } from './rejection.ts';

export interface PlacerDeps extends Knowledge {
  readonly router: RouterId;
  readonly policy: () => LivePolicy;
  readonly cooldown: RankCooldown;
  readonly placements: PlacementPublisher;
  readonly metrics: RouterMetrics;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Asks `place` with all that is known at the moment: for a request's first rank, and for the next when one failed it. */
export class RequestPlacer {
  readonly #deps: PlacerDeps;
  /** Placements of each pool so far: what round-robin counts by. */
  readonly #placements = new Map<PoolId, number>();

  constructor(deps: PlacerDeps) {
    this.#deps = deps;
  }

  /** Throws where the pool has no rank for it, and tells of it. */
  first(asked: AskedRequest): PlacedPlacement {
    const { clock, router, placements, metrics } = this.#deps;
    const placement = this.#placeAround(asked, []);
    if (placement.kind === 'placed') return placement;
    const error = rejection(placement, asked);
    placements.publish(toRejectedEvent({ at: clock.isoNow(), router, pool: asked.pool.pool }, asked.client.id, { code: error.code, message: error.message }));
    metrics.rejected(error.code);
    throw error;
  }

  /** Never one that failed this request; null: there is no other. */
  another(asked: AskedRequest, failed: readonly RankId[]): PlacedPlacement | null {
    const placement = this.#placeAround(asked, failed);
    return placement.kind === 'placed' ? placement : null;
  }

  /** Past those that failed other requests a moment ago, while there is another. */
  #placeAround(asked: AskedRequest, failed: readonly RankId[]): Placement {
    const cooling = this.#deps.cooldown.cooling(this.#deps.clock.nowMs());
    const placement = this.#place(asked, [...failed, ...cooling]);
    return placement.kind === 'placed' || cooling.length === 0 ? placement : this.#place(asked, failed);
  }

  #place(asked: AskedRequest, excluded: readonly RankId[]): Placement {
    const { pool } = asked.pool;
    const roundRobin = this.#placements.get(pool) ?? 0;
    const view = placementView(asked, this.#deps, { nowMs: this.#deps.clock.nowMs(), policy: this.#deps.policy(), roundRobin });
    const placement = place(placementRequestOf(asked, excluded), view, this.#deps.random);
    if (placement.kind === 'placed') this.#placements.set(pool, roundRobin + 1);
    return placement;
  }
}
