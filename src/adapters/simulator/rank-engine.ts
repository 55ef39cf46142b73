import type { CacheEvent } from '../../core/engine-model/cache-event.ts';
import { EngineModel, type EngineModelOptions } from '../../core/engine-model/engine-model.ts';
import type { FinishedRequest, ModelRequest, ProducedToken } from '../../core/engine-model/engine-request.ts';
import type { ModelLoad } from '../../core/engine-model/engine-step.ts';
import type { Clock } from '../../ports/clock.ts';

/** What a request's owner hears of it. */
export interface RequestListener {
  /** Its prompt begins to be computed. */
  started(): void;
  /** `last`: its end follows at once. */
  token(produced: ProducedToken, last: boolean): void;
  /** The last word; nothing comes after it. */
  finished(finished: FinishedRequest): void;
}

export interface RankEngineOptions extends EngineModelOptions {
  /** How many times faster than the rates say. */
  readonly speed: number;
}

/** SGLang tells its load only so often while it decodes (`load_snapshot_publish_interval`). */
const decodeStepsBetweenLoads = 15;
/** Steps done at once when real time has run ahead, before anything else gets its turn. */
const mostStepsAtOnce = 32;

/** One rank of the simulated engine in real time: the model's steps, each for as long as it says. */
export class RankEngine {
  readonly model: EngineModel;
  readonly #clock: Clock;
  readonly #speed: number;
  readonly #onEvents: (events: readonly CacheEvent[]) => void;
  readonly #listeners = new Map<string, RequestListener>();
  #load: ModelLoad;
  /** When the running step ends; steps follow without a pause, so late timers do not add up. */
  #stepEndsMs = 0;
  #cancelTimer: (() => void) | null = null;
  /** Whether a step is under way or about to begin. */
  #busy = false;
  #closed = false;

  constructor(options: RankEngineOptions, clock: Clock, onEvents: (events: readonly CacheEvent[]) => void) {
    this.model = new EngineModel(options);
    this.#clock = clock;
    this.#speed = options.speed;
    this.#onEvents = onEvents;
    this.#load = this.model.load();
    this.#tell(this.model.takeEvents());
  }

  /** As the engine tells it, which may lag behind. */
  get load(): ModelLoad {
    return this.#load;
  }

  has(id: string): boolean {
    return this.#listeners.has(id);
  }

  submit(request: ModelRequest, listener: RequestListener): void {
    this.model.submit(request);
    this.#listeners.set(request.id, listener);
    if (this.#busy) return;
    this.#busy = true;
    this.#stepEndsMs = this.#clock.nowMs();
    if (this.#begin()) this.#wait();
    this.#load = this.model.load();
  }

  abort(id: string): void {
    const finished = this.model.abort(id);
    if (finished !== null) this.#finish(finished);
    this.#refreshWhenIdle();
  }

  /** Ends `rid` and what it was divided into (`rid_0`, `rid_1`, ...). */
  abortMatching(rid: string): void {
    for (const id of [...this.#listeners.keys()]) if (id === rid || id.startsWith(`${rid}_`)) this.abort(id);
  }

  abortAll(): void {
    for (const id of [...this.#listeners.keys()]) this.abort(id);
  }

  flush(): boolean {
    if (!this.model.flush()) return false;
    this.#tell(this.model.takeEvents());
    return true;
  }

  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  /** False: there is nothing to do. */
  #begin(): boolean {
    const step = this.#closed ? null : this.model.startStep();
    this.#busy = step !== null;
    if (step === null) {
      this.#refreshWhenIdle();
      return false;
    }
    for (const id of step.started) this.#listeners.get(id)?.started();
    this.#stepEndsMs += step.durationMs / this.#speed;
    return true;
  }

  #wait(): void {
    this.#cancelTimer = this.#clock.after(Math.max(0, this.#stepEndsMs - this.#clock.nowMs()), () => this.#ended());
  }

  #ended(): void {
    this.#cancelTimer = null;
    for (let steps = 0; steps < mostStepsAtOnce && this.#clock.nowMs() >= this.#stepEndsMs; steps++) {
      this.#finishStep();
      if (!this.#begin()) return;
    }
    this.#wait();
  }

  #finishStep(): void {
    const outcome = this.model.finishStep();
    // Events first: whoever reads an answer may rely on its prompt's events being on their way.
    this.#tell(outcome.events);
    const ending = new Set(outcome.finished.map(({ id }) => id));
    for (const produced of outcome.produced) this.#listeners.get(produced.id)?.token(produced, ending.has(produced.id));
    for (const finished of outcome.finished) this.#finish(finished);
    if (outcome.kind === 'prefill' || this.model.counters.decodeSteps % decodeStepsBetweenLoads === 0) this.#load = this.model.load();
  }

  #refreshWhenIdle(): void {
    if (!this.model.idle) return;
    this.#load = this.model.load();
    this.#tell(this.model.takeEvents());
  }

  #finish(finished: FinishedRequest): void {
    const listener = this.#listeners.get(finished.id);
    this.#listeners.delete(finished.id);
    listener?.finished(finished);
  }

  #tell(events: readonly CacheEvent[]): void {
    if (events.length > 0) this.#onEvents(events);
  }
}
