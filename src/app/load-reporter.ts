import type { DpRank, PoolId, WorkerId } from '../core/identity/ids.ts';
import { messageOf } from '../core/router-error.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineClient, EngineLoad } from '../ports/engine.ts';
import type { Log } from '../ports/log.ts';
import type { LoadPublisher } from '../ports/worker-registry.ts';

export interface LoadReporterDeps {
  readonly engine: EngineClient;
  readonly loads: LoadPublisher;
  readonly clock: Clock;
  readonly log: Log;
  readonly heldBlocks: (rank: DpRank) => number;
  /** The engine could not be reached several times in a row. Told once. */
  readonly onGone: (error: unknown) => void;
}

export interface LoadReporterOptions {
  readonly pool: PoolId;
  readonly worker: WorkerId;
  readonly ranks: readonly DpRank[];
  readonly periodMs: number;
}

/** Two in a row: one refused connection can be a busy accept queue, and requests say by themselves that it failed. */
const failuresUntilGone = 2;
/** An engine under load may answer late; it is not gone for that. Its loads are unknown meanwhile. */
const patienceMs = 2_000;
const silencesUntilGone = 8;
/** A change asks for a report at once, but not more often than this. */
const soonMs = 50;

type Reading = { readonly kind: 'loads'; readonly loads: readonly EngineLoad[] } | { readonly kind: 'silent' } | { readonly kind: 'unreachable'; readonly error: unknown };

/** Publishes each rank's load every period and soon after a change; by it notices when the engine is gone. */
export class LoadReporter {
  readonly #deps: LoadReporterDeps;
  readonly #options: LoadReporterOptions;
  readonly #closed = new AbortController();
  #cancelTimer: () => void = () => undefined;
  #reporting: Promise<void> | null = null;
  #lastMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #silences = 0;
  #gone = false;

  constructor(options: LoadReporterOptions, deps: LoadReporterDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Resolves when the first report is published. */
  start(): Promise<void> {
    return this.#report();
  }

  /** Something has changed: reports soon. */
  nudge(): void {
    if (this.#reporting !== null) return;
    const sinceMs = this.#deps.clock.nowMs() - this.#lastMs;
    this.#schedule(Math.max(0, soonMs - sinceMs));
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#cancelTimer();
    await this.#reporting;
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer();
    if (this.#closed.signal.aborted || this.#gone) return;
    this.#cancelTimer = this.#deps.clock.after(delayMs, () => void this.#report());
  }

  #report(): Promise<void> {
    this.#cancelTimer();
    this.#reporting ??= this.#read().then((reading) => {
      this.#reporting = null;
      this.#lastMs = this.#deps.clock.nowMs();
      if (this.#closed.signal.aborted) return;
      this.#judge(reading);
      this.#schedule(this.#options.periodMs);
    });
    return this.#reporting;
  }

  async #read(): Promise<Reading> {
    const patience = new AbortController();
    const abort = (): void => patience.abort();
    this.#closed.signal.addEventListener('abort', abort, { once: true });
    const cancel = this.#deps.clock.after(patienceMs, abort);
    try {
      return { kind: 'loads', loads: await this.#deps.engine.loads(patience.signal) };
    } catch (error) {
      return patience.signal.aborted ? { kind: 'silent' } : { kind: 'unreachable', error };
    } finally {
      cancel();
      this.#closed.signal.removeEventListener('abort', abort);
    }
  }

  #judge(reading: Reading): void {
    this.#failures = reading.kind === 'unreachable' ? this.#failures + 1 : 0;
    this.#silences = reading.kind === 'silent' ? this.#silences + 1 : 0;
    // It goes on without a word of the engine too: it says that the agent lives.
    this.#publish(reading.kind === 'loads' ? reading.loads : []);
    if (this.#failures < failuresUntilGone && this.#silences < silencesUntilGone) return;
    this.#gone = true;
    this.#deps.onGone(reading.kind === 'unreachable' ? reading.error : new Error(`no answer in ${patienceMs} ms, ${silencesUntilGone} times`));
  }

  #publish(loads: readonly EngineLoad[]): void {
    const { pool, worker, ranks } = this.#options;
    for (const rank of ranks) {
      const load = loads.find((each) => each.rank === rank);
      const snapshot = {
        id: { worker, rank },
        runningRequests: load?.runningRequests ?? null,
        waitingRequests: load?.waitingRequests ?? null,
        usedTokens: load?.usedTokens ?? null,
        capacityTokens: load?.capacityTokens ?? null,
        maxRunningRequests: load?.maxRunningRequests ?? null,
        waitingUncachedTokens: load?.waitingUncachedTokens ?? null,
        heldBlocks: this.#deps.heldBlocks(rank),
      };
      try {
        this.#deps.loads.publish(pool, snapshot);
      } catch (error) {
        // The next report comes in a moment and says more than this one; routers see the age of the last.
        this.#deps.log.debug({ worker, rank, error: messageOf(error) }, 'load-not-published');
      }
    }
  }
}
