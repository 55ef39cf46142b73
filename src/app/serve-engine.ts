import { messageOf } from '../core/router-error.ts';
import type { ServeEngineDeps, ServeEngineOptions } from './engine-life.ts';
import { EngineLife } from './engine-life.ts';

type State = 'starting' | 'serving' | 'engine-gone' | 'stopped';

const moves = {
  starting: ['serving', 'stopped'],
  serving: ['engine-gone', 'stopped'],
  'engine-gone': ['serving', 'stopped'],
  stopped: [],
} as const satisfies Record<State, readonly State[]>;

const describePatienceMs = 10_000;
/** How often an engine that is gone is looked for: it is to have work again within 2 s of being back. */
const lookPeriodMs = 500;

/**
 * The agent beside one engine: serves its requests, tells what it holds and how busy it is. While the engine is gone
 * the worker is not registered; when it is back, it is a new life with nothing assumed of the old one.
 */
export class EngineAgent {
  readonly #deps: ServeEngineDeps;
  readonly #options: ServeEngineOptions;
  #state: State = 'starting';
  #life: EngineLife | null = null;
  #cancelLook: () => void = () => undefined;
  #changing: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();

  constructor(options: ServeEngineOptions, deps: ServeEngineDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  get state(): State {
    return this.#state;
  }

  /** Resolves when registered. Rejects with `engine-unreachable`, or `bad-config` (no engine, pages that don't fit, name taken). */
  async start(): Promise<void> {
    await this.#begin();
  }

  /** Tells routers, lets running requests end until `signal` aborts, then leaves. */
  async close(signal: AbortSignal): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#stop.abort();
    this.#cancelLook();
    await this.#changing;
    this.#move('stopped');
    await this.#life?.drain({ draining: true });
    await this.#life?.close(signal);
    this.#life = null;
  }

  async #begin(): Promise<void> {
    const description = await this.#describe();
    const life: EngineLife = new EngineLife({ description, onGone: (error) => this.#gone(life, error) }, this.#options, this.#deps);
    await life.start();
    this.#life = life;
    this.#move('serving');
    const { worker, pool } = this.#options;
    const { version, kind, ranks, pageSize } = description;
    this.#deps.log.info({ worker, pool, kind, version, ranks: ranks.length, pageSize, events: life.eventSource }, 'worker-registered');
  }

  async #describe(): ReturnType<ServeEngineDeps['engine']['describe']> {
    const patience = new AbortController();
    const abort = (): void => patience.abort();
    const cancel = this.#deps.clock.after(describePatienceMs, abort);
    this.#stop.signal.addEventListener('abort', abort, { once: true });
    try {
      return await this.#deps.engine.describe(patience.signal);
    } finally {
      cancel();
      this.#stop.signal.removeEventListener('abort', abort);
    }
  }

  #gone(life: EngineLife, error: unknown): void {
    if (this.#life !== life || this.#state !== 'serving') return;
    this.#move('engine-gone');
    this.#life = null;
    const { worker, engineUrl } = this.#options;
    this.#deps.log.error({ worker, engineUrl, error: messageOf(error) }, 'engine-gone');
    // What runs has lost its engine: nothing to wait for.
    this.#changing = life
      .close(AbortSignal.abort())
      .catch((cause: unknown) => this.#deps.log.warn({ worker, error: messageOf(cause) }, 'close-failed'))
      .finally(() => this.#lookLater());
  }

  #lookLater(): void {
    if (this.#stop.signal.aborted) return;
    this.#cancelLook = this.#deps.clock.after(lookPeriodMs, () => {
      this.#changing = this.#begin().catch((error: unknown) => {
        this.#deps.log.debug({ worker: this.#options.worker, error: messageOf(error) }, 'engine-still-gone');
        this.#lookLater();
      });
    });
  }

  #move(to: State): void {
    const allowed: readonly State[] = moves[this.#state];
    if (!allowed.includes(to)) throw new Error(`agent of worker ${this.#options.worker} can't go from ${this.#state} to ${to}`);
    this.#state = to;
  }
}
