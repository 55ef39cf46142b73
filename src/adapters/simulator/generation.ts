import { RouterError } from '../../core/router-error.ts';
import type { CacheNamespace } from '../../core/engine-model/cache-event.ts';
import type { FinishedRequest, ProducedToken } from '../../core/engine-model/engine-request.ts';
import type { RequestListener } from './rank-engine.ts';
import type { Sampling } from './sampling.ts';
import { wallSeconds, type SimulatedEngine } from './simulated-engine.ts';

/** One answer that is asked for. */
export interface GenerationSpec {
  readonly rid: string;
  readonly tokens: Int32Array;
  readonly maxNewTokens: number;
  readonly sampling: Sampling;
  readonly space: CacheNamespace;
  readonly sessionId: string | null;
  readonly rank: number;
}

/** Seconds since 1970 at which things happened; null: not yet. */
export interface GenerationTimes {
  readonly received: number;
  readonly dispatched: number;
  started: number | null;
  firstToken: number | null;
  finished: number | null;
}

/** One request in the engine, as its client sees it grow. */
export class Generation implements RequestListener {
  readonly spec: GenerationSpec;
  readonly outputIds: number[] = [];
  readonly times: GenerationTimes;
  readonly done: Promise<void>;
  readonly #engine: SimulatedEngine;
  readonly #onUpdate: () => void;
  #resolveDone: () => void = () => undefined;
  #text = '';
  #finished: FinishedRequest | null = null;
  #stopText: string | null = null;
  #cachedTokens = 0;
  #retractions = 0;

  /** `onUpdate` is called after each token and at the end. */
  constructor(spec: GenerationSpec, engine: SimulatedEngine, receivedAt: number, onUpdate: () => void) {
    this.spec = spec;
    this.#engine = engine;
    this.#onUpdate = onUpdate;
    this.times = { received: receivedAt, dispatched: wallSeconds(), started: null, firstToken: null, finished: null };
    this.done = new Promise((resolve) => {
      this.#resolveDone = resolve;
    });
  }

  /** Throws `bad-request` when its rid is already at work. */
  start(): void {
    const { rid, tokens, maxNewTokens, sampling, space, sessionId, rank } = this.spec;
    if (this.#engine.runs(rid)) throw new RouterError('bad-request', `Duplicate request ID detected: ${rid}`);
    const { ignoreEnd, stopTokens } = sampling;
    this.#engine.rank(rank).submit({ id: rid, tokens, maxNewTokens, ignoreEnd, stopTokens, space, sessionId }, this);
  }

  get text(): string {
    return this.#text;
  }

  get finishedRequest(): FinishedRequest | null {
    return this.#finished;
  }

  /** The text that ended it, where one of the request's stop texts did. */
  get stopText(): string | null {
    return this.#stopText;
  }

  get cachedTokens(): number {
    return this.#cachedTokens;
  }

  get retractions(): number {
    return this.#retractions;
  }

  abort(): void {
    if (this.#finished === null) this.#engine.rank(this.spec.rank).abort(this.spec.rid);
  }

  started(): void {
    this.times.started ??= wallSeconds();
  }

  token(produced: ProducedToken, last: boolean): void {
    this.times.firstToken ??= wallSeconds();
    this.#cachedTokens = produced.cachedTokens;
    this.#retractions = produced.retractions;
    this.outputIds.push(produced.token);
    const before = this.#text.length;
    this.#text += this.#engine.tokenizer.decode([produced.token]);
    this.#stopAt(before);
    if (last) return;
    if (this.#stopText !== null) this.#engine.rank(this.spec.rank).abort(this.spec.rid);
    else this.#onUpdate();
  }

  finished(finished: FinishedRequest): void {
    this.times.finished = wallSeconds();
    this.#finished = finished;
    this.#cachedTokens = finished.cachedTokens ?? 0;
    this.#retractions = finished.retractions;
    this.#onUpdate();
    this.#resolveDone();
  }

  /** Cuts the text before a stop text that the newest token completed. */
  #stopAt(before: number): void {
    for (const stop of this.spec.sampling.stopTexts) {
      const at = stop === '' ? -1 : this.#text.indexOf(stop, Math.max(0, before - stop.length));
      if (at < 0) continue;
      this.#text = this.#text.slice(0, at);
      this.#stopText = stop;
      return;
    }
  }
}
