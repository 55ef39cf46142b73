import type { LivePolicy } from '../core/placement/placement.ts';
import { noHashes } from '../core/identity/sequence-hash.ts';
import type { Readiness, RankStatus, RouterView, ServedModel } from '../ports/router-view.ts';
import type { Knowledge } from './placement-view.ts';
import type { SharedPolicy } from './shared-policy.ts';

export interface OverviewDeps extends Knowledge {
  readonly policy: SharedPolicy;
  /** Whether the bus can be reached at this moment. */
  readonly connected: () => boolean;
  readonly counters: () => Readonly<Record<string, number>>;
}

/** What a router shows of itself, read off its state when asked. */
export class RouterOverview implements RouterView {
  readonly #deps: OverviewDeps;

  constructor(deps: OverviewDeps) {
    this.#deps = deps;
  }

  /** Ready as soon as one rank can take a request: what is held where may still be coming in. */
  readiness(): Readiness {
    const ranks = this.ranks();
    const serving = ranks.filter(({ draining }) => !draining);
    const connected = this.#deps.connected();
    const missing = serving.length > 0 ? null : ranks.length > 0 ? 'all workers are draining' : 'no worker is registered';
    const why = connected ? missing : 'the NATS server is not connected';
    return {
      ready: why === null,
      why,
      ranks: ranks.length,
      trustedRanks: ranks.filter(({ trust }) => trust === 'trusted').length,
      untrustedRanks: ranks.filter(({ trust }) => trust === 'untrusted').length,
    };
  }

  ranks(): readonly RankStatus[] {
    const { pools, ledger } = this.#deps;
    return pools.pools().flatMap(({ pool }) =>
      pools.ranks(pool).map(({ id, registration, draining, trust, load, loadAgeMs, heldBlocks }) => ({
        pool,
        id,
        engineUrl: registration.engineUrl,
        engineKind: registration.engineKind,
        engineVersion: registration.engineVersion,
        models: registration.models,
        draining,
        trust,
        heldBlocks,
        reported: load,
        reportAgeMs: loadAgeMs,
        claimed: ledger.loadOf(id, noHashes),
      })),
    );
  }

  models(): readonly ServedModel[] {
    return this.#deps.pools.pools().flatMap(({ pool, models, contextLength }) => models.map((id) => ({ id, pool, contextLength })));
  }

  policy(): LivePolicy {
    return this.#deps.policy.current;
  }

  setPolicy(policy: LivePolicy): Promise<void> {
    return this.#deps.policy.set(policy);
  }

  gauges(): { readonly claims: number; readonly sessions: number; readonly predictions: number } {
    const { ledger, sessions, predictions } = this.#deps;
    return { claims: ledger.size, sessions: sessions.size, predictions: predictions.size };
  }

  counters(): Readonly<Record<string, number>> {
    return this.#deps.counters();
  }
}
