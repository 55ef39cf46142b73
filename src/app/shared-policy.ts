import type { RouterId } from '../core/identity/ids.ts';
import { parsePoolId } from '../core/identity/ids.ts';
import type { LivePolicy } from '../core/placement/placement.ts';
import { toModeChangedEvent } from '../core/placement/placement-record.ts';
import type { Clock } from '../ports/clock.ts';
import type { Closable } from '../ports/kv-bus.ts';
import type { LiveConfig } from '../ports/live-config.ts';
import type { Log } from '../ports/log.ts';
import type { PlacementPublisher } from '../ports/placement-bus.ts';

export interface SharedPolicyDeps {
  readonly router: RouterId;
  readonly config: LiveConfig;
  readonly placements: PlacementPublisher;
  readonly clock: Clock;
  readonly log: Log;
}

/** A change of mode is about all pools. */
const allPools = parsePoolId('-');

/** How long a change may take to come back to the router that made it. */
const echoPatienceMs = 2_000;

const same = (a: LivePolicy, b: LivePolicy): boolean => a.mode === b.mode && a.parentAffinity === b.parentAffinity;

/** The mode in force: the flags' until one was set for all routers, then that one. */
export class SharedPolicy {
  readonly #deps: SharedPolicyDeps;
  readonly #waiting = new Set<() => void>();
  #policy: LivePolicy;
  #following: Closable | null = null;

  constructor(initial: LivePolicy, deps: SharedPolicyDeps) {
    this.#policy = initial;
    this.#deps = deps;
  }

  get current(): LivePolicy {
    return this.#policy;
  }

  async start(): Promise<void> {
    this.#following = await this.#deps.config.follow((policy) => this.#apply(policy));
  }

  /** Resolves when this router has heard it too, as all others do; the order of changes is the same for all. */
  async set(policy: LivePolicy): Promise<void> {
    let stopWaiting: () => void = () => undefined;
    const heard = new Promise<void>((resolve) => {
      const heardIt = (): void => {
        if (same(this.#policy, policy)) resolve();
      };
      this.#waiting.add(heardIt);
      const giveUp = this.#deps.clock.after(echoPatienceMs, resolve);
      stopWaiting = () => {
        giveUp();
        this.#waiting.delete(heardIt);
      };
    });
    try {
      await this.#deps.config.put(policy);
      if (!same(this.#policy, policy)) await heard;
    } finally {
      stopWaiting();
    }
  }

  async close(): Promise<void> {
    await this.#following?.close();
  }

  #apply(policy: LivePolicy): void {
    if (!same(this.#policy, policy)) {
      const { router, placements, clock, log } = this.#deps;
      if (this.#following === null) log.warn({ flags: this.#policy, inForce: policy }, 'mode-set-before-overrules-flags');
      else log.info({ from: this.#policy, to: policy }, 'mode-changed');
      this.#policy = policy;
      placements.publish(toModeChangedEvent({ at: clock.isoNow(), router, pool: allPools }, policy));
    }
    for (const heard of [...this.#waiting]) heard();
  }
}
