import { RouterError } from '../router-error.ts';
import type { AnswerVocabulary } from './answer-tokens.ts';
import type { CacheEvent } from './cache-event.ts';
import { EngineJob } from './engine-job.ts';
import type { FinishedRequest, ModelRequest, ProducedToken } from './engine-request.ts';
import type { ModelCounters, ModelLoad, StepOutcome, StepStart } from './engine-step.ts';
import type { PageHasher } from './page-hasher.ts';
import { RadixCache } from './radix-cache.ts';
import { decodeMs, prefillMs, type StepRates } from './step-timing.ts';

export interface EngineModelOptions {
  readonly pageSize: number;
  /** Tokens of KV in all. */
  readonly kvTokens: number;
  /** Prompt tokens that one prefill step computes at most. */
  readonly chunkTokens: number;
  readonly maxRunning: number;
  readonly vocabulary: AnswerVocabulary;
  readonly rates: StepRates;
  readonly hasher: PageHasher;
}

interface PrefillItem {
  readonly job: EngineJob;
  readonly tokens: number;
}

type Step = { readonly kind: 'prefill'; readonly items: readonly PrefillItem[] } | { readonly kind: 'decode'; readonly jobs: readonly EngineJob[] };

/** SGLang counts at most this much of an answer when it asks whether a request fits (`CLIP_MAX_NEW_TOKENS`). */
const countedAnswerTokens = 4096;
/** Events of decoding wait until this many steps were done (`decode_log_interval`), a prefill, or idleness. */
const decodeStepsBetweenEvents = 40;

/**
 * One rank of an SGLang-like engine, without a clock: first come first served, prefill before decode, long prompts in
 * chunks. A step is begun, takes the time it says, and is finished, by real time or by virtual time. Sharing is as
 * measured on a real server: a request reuses what the tree holds when the batch that starts it is formed, so nothing
 * is shared inside one batch, and finished chunks are there for the next. One state machine over one queue and one
 * batch: a little longer than other files, since its steps read only together.
 */
export class EngineModel {
  readonly #options: EngineModelOptions;
  readonly #cache: RadixCache;
  readonly #waiting: EngineJob[] = [];
  readonly #running = new Map<string, EngineJob>();
  /** The one request whose prompt is partly computed. */
  #chunked: EngineJob | null = null;
  #step: Step | null = null;
  readonly counters: ModelCounters = {
    promptTokens: 0,
    cachedTokens: 0,
    answerTokens: 0,
    computedPromptTokens: 0,
    prefillBusyMs: 0,
    prefillSteps: 0,
    decodeSteps: 0,
    retractions: 0,
  };

  constructor(options: EngineModelOptions) {
    this.#options = options;
    this.#cache = new RadixCache({ pageSize: options.pageSize, capacityTokens: this.capacityTokens, hasher: options.hasher });
  }

  /** KV tokens in whole pages. */
  get capacityTokens(): number {
    return this.#options.kvTokens - (this.#options.kvTokens % this.#options.pageSize);
  }

  /** Prompt and answer of one request together, at most: it must fit when it is alone. */
  get longestSequence(): number {
    return this.capacityTokens - this.#options.pageSize;
  }

  get idle(): boolean {
    return this.#step === null && this.#waiting.length === 0 && this.#running.size === 0 && this.#chunked === null;
  }

  /** Takes a request into the queue. Throws `prompt-too-long` where it could never be computed. */
  submit(request: ModelRequest): void {
    const room = this.longestSequence - request.tokens.length;
    if (room < 1) throw new RouterError('prompt-too-long', `prompt of ${request.tokens.length} tokens does not fit into ${this.longestSequence} tokens of KV`);
    const maxNewTokens = Math.min(request.maxNewTokens, room);
    this.#waiting.push(new EngineJob({ ...request, maxNewTokens }, this.#cache, this.#options.pageSize));
  }

  /**
   * Ends a request. One that is not in a step ends at once and is returned; one that is ends with the step, and comes
   * with its outcome. Null also where there is no such request.
   */
  abort(id: string): FinishedRequest | null {
    const place = this.#waiting.findIndex((job) => job.request.id === id);
    const queued = place < 0 ? undefined : this.#waiting.splice(place, 1)[0];
    if (queued !== undefined) return queued.finish({ kind: 'abort', while: queued.cachedTokens === null ? 'waiting' : 'running' });
    const job = this.#running.get(id) ?? this.#activeInPrefill(id);
    if (job === null) return null;
    job.aborted = true;
    return this.#inStep(job) ? null : this.#end(job, { kind: 'abort', while: 'running' });
  }

  /** Begins the next step; null when there is nothing to do, or a step is under way. */
  startStep(): StepStart | null {
    if (this.#step !== null) return null;
    const items = this.#formPrefill();
    if (items.length > 0) return this.#startPrefill(items);
    if (this.#running.size === 0) return null;
    return this.#startDecode();
  }

  finishStep(): StepOutcome {
    const step = this.#step;
    if (step === null) throw new RouterError('internal', 'no engine step to finish');
    this.#step = null;
    const produced: ProducedToken[] = [];
    const finished: FinishedRequest[] = [];
    if (step.kind === 'prefill') for (const item of step.items) this.#finishPrefill(item, produced, finished);
    else for (const job of step.jobs) this.#finishDecode(job, produced, finished);
    this.counters.answerTokens += produced.length;
    return { kind: step.kind, produced, finished, events: this.#eventsAfter(step) };
  }

  /** Empties the cache if nothing runs or waits; false when it is busy. */
  flush(): boolean {
    if (!this.idle) return false;
    this.#cache.clear();
    return true;
  }

  /** Events that wait though no step will bring them: at the start, and after a flush or an abort. */
  takeEvents(): readonly CacheEvent[] {
    return this.#cache.drainEvents();
  }

  load(): ModelLoad {
    const { lockedTokens, heldTokens } = this.#cache.usage;
    let waitingTokens = 0;
    let cached = 0;
    for (const { request } of this.#waiting) {
      waitingTokens += request.tokens.length;
      cached += this.#cache.peek(request.space, { tokens: request.tokens, length: request.tokens.length - 1 });
    }
    return {
      runningRequests: this.#running.size,
      waitingRequests: this.#waiting.length,
      waitingTokens,
      waitingUncachedTokens: waitingTokens - cached,
      usedTokens: lockedTokens + heldTokens,
    };
  }

  /** Tokens in the tree, locked ones and those outside of the tree. */
  get cacheUsage(): RadixCache['usage'] {
    return this.#cache.usage;
  }

  get evictedTokens(): number {
    return this.#cache.evictedTokens;
  }

  #activeInPrefill(id: string): EngineJob | null {
    if (this.#chunked?.request.id === id) return this.#chunked;
    if (this.#step?.kind !== 'prefill') return null;
    return this.#step.items.find(({ job }) => job.request.id === id)?.job ?? null;
  }

  #inStep(job: EngineJob): boolean {
    if (this.#step === null) return false;
    return this.#step.kind === 'prefill' ? this.#step.items.some((item) => item.job === job) : this.#step.jobs.includes(job);
  }

  #formPrefill(): PrefillItem[] {
    const items: PrefillItem[] = [];
    let budget = this.#options.chunkTokens;
    const started = this.#chunked;
    if (started !== null) {
      const tokens = this.#chunkOf(started, budget);
      if (!this.#growSurely(started, tokens)) return [];
      items.push({ job: started, tokens });
      budget -= this.#pages(tokens);
      this.#chunked = tokens < started.missingTokens ? started : null;
    }
    while (this.#chunked === null && budget >= this.#options.pageSize && this.#running.size + items.length < this.#options.maxRunning) {
      const item = this.#admit(budget, items);
      if (item === null) break;
      items.push(item);
      budget -= this.#pages(item.tokens);
      if (item.tokens < item.job.missingTokens) this.#chunked = item.job;
    }
    return items;
  }

  /** The first in the queue, if it fits beside what runs; nobody overtakes it. */
  #admit(budget: number, batch: readonly PrefillItem[]): PrefillItem | null {
    const job = this.#waiting[0];
    if (job === undefined) return null;
    job.start();
    const alone = this.#running.size === 0 && batch.length === 0;
    const tokens = this.#chunkOf(job, budget);
    const wanted = this.#pages(job.missingTokens) + Math.min(job.answerTokensLeft, countedAnswerTokens);
    const fits = alone || wanted <= this.#cache.obtainableTokens - this.#promised(batch);
    if (tokens === 0 || !fits || !job.grow(tokens)) {
      job.stepBack();
      return null;
    }
    this.#waiting.shift();
    return { job, tokens };
  }

  /** Tokens that those already admitted will still want. */
  #promised(batch: readonly PrefillItem[]): number {
    let sum = 0;
    for (const job of this.#running.values()) sum += Math.min(job.answerTokensLeft, countedAnswerTokens);
    for (const { job, tokens } of batch) sum += this.#pages(job.missingTokens - tokens) + Math.min(job.answerTokensLeft, countedAnswerTokens);
    return sum;
  }

  /** The rest of a prompt if the budget takes it, else whole pages of it. */
  #chunkOf(job: EngineJob, budget: number): number {
    if (this.#pages(job.missingTokens) <= budget) return job.missingTokens;
    return Math.min(job.missingTokens, budget - (budget % this.#options.pageSize));
  }

  /** Room for one that has already started: others give way, the latest first. */
  #growSurely(job: EngineJob, tokens: number): boolean {
    while (!job.grow(tokens)) {
      if (!this.#retractOne(job)) return false;
    }
    return true;
  }

  #retractOne(spared: EngineJob): boolean {
    const victim = [...this.#running.values()].filter((job) => job !== spared).at(-1);
    if (victim === undefined) return false;
    this.#running.delete(victim.request.id);
    victim.retract();
    this.#waiting.unshift(victim);
    this.counters.retractions++;
    return true;
  }

  #startPrefill(items: readonly PrefillItem[]): StepStart {
    this.#step = { kind: 'prefill', items };
    const durationMs = prefillMs(this.#options.rates, items.map(({ job, tokens }) => ({ tokens, context: job.computedTokens })));
    this.counters.prefillBusyMs += durationMs;
    this.counters.prefillSteps++;
    return { durationMs, started: items.filter(({ job }) => job.cachedTokens === null).map(({ job }) => job.request.id) };
  }

  #startDecode(): StepStart {
    for (const job of [...this.#running.values()]) {
      if (this.#running.has(job.request.id)) this.#growSurely(job, 1);
    }
    const jobs = [...this.#running.values()];
    this.#step = { kind: 'decode', jobs };
    this.counters.decodeSteps++;
    const context = jobs.reduce((sum, job) => sum + job.computedTokens + 1, 0);
    return { durationMs: decodeMs(this.#options.rates, jobs.length, context), started: [] };
  }

  #finishPrefill({ job, tokens }: PrefillItem, produced: ProducedToken[], finished: FinishedRequest[]): void {
    if (job.cachedTokens === null) {
      this.counters.promptTokens += job.request.tokens.length;
      this.counters.cachedTokens += job.computedTokens;
    }
    this.counters.computedPromptTokens += tokens;
    job.computedPrompt(tokens);
    if (job.aborted) finished.push(this.#end(job, { kind: 'abort', while: 'running' }));
    else if (job.missingTokens === 0) {
      this.#running.set(job.request.id, job);
      this.#produce(job, produced, finished);
    }
  }

  #finishDecode(job: EngineJob, produced: ProducedToken[], finished: FinishedRequest[]): void {
    job.computedAnswer();
    if (job.aborted) finished.push(this.#end(job, { kind: 'abort', while: 'running' }));
    else this.#produce(job, produced, finished);
  }

  #produce(job: EngineJob, produced: ProducedToken[], finished: FinishedRequest[]): void {
    const { vocabulary } = this.#options;
    if (job.answerTokensLeft > 0) produced.push(job.produce(vocabulary));
    const reason = job.ended(vocabulary);
    if (reason !== null) finished.push(this.#end(job, reason));
  }

  #end(job: EngineJob, reason: FinishedRequest['reason']): FinishedRequest {
    this.#running.delete(job.request.id);
    if (this.#chunked === job) this.#chunked = null;
    return job.finish(reason);
  }

  #eventsAfter(step: Step): readonly CacheEvent[] {
    const due = step.kind === 'prefill' || this.idle || this.counters.decodeSteps % decodeStepsBetweenEvents === 0;
    return due ? this.#cache.drainEvents() : [];
  }

  #pages(tokens: number): number {
    return Math.ceil(tokens / this.#options.pageSize) * this.#options.pageSize;
  }
}
