import type { Worker } from 'node:worker_threads';
import { RouterError } from '../../core/router-error.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { Log } from '../../ports/log.ts';
import { startThread } from './start-thread.ts';
import type { LoadedModel, ThreadAnswer, ThreadOptions, ThreadQuestion } from './thread-messages.ts';

export interface ModelThreadOptions extends ThreadOptions {
  /** Questions at once; one more is refused. */
  readonly maxWaiting: number;
  /** After a thread that died none is started for so long. */
  readonly restartPauseMs: number;
  /** A thread that answers nothing for so long, while it is asked, hangs and is ended. */
  readonly hangMs: number;
}

interface Waiting {
  readonly sinceMs: number;
  readonly answered: (tokens: Int32Array) => void;
  readonly failed: (error: RouterError) => void;
}

/** One thread that tokenizes with one model's files, so that nothing of it holds up the router's loop; a new one when it dies. */
export class ModelThread implements Closable {
  readonly #options: ModelThreadOptions;
  readonly #log: Log;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  /** Set while a thread loads, and once it has. */
  #started: Promise<LoadedModel> | null = null;
  #diedAtMs: number | null = null;
  #lastAnswerMs = 0;
  #lastId = 0;
  #closed = false;
  /** Threads that died, hanging ones among them. */
  deaths = 0;
  /** Questions that came when too many waited. */
  refused = 0;

  constructor(options: ModelThreadOptions, log: Log) {
    this.#options = options;
    this.#log = log;
  }

  /** Resolves when the files are loaded. Rejects with `bad-config` where they can't be, with `internal` after a death too near. */
  start(): Promise<LoadedModel> {
    if (this.#closed) return Promise.reject(new RouterError('internal', 'the tokenizer is closed'));
    if (this.#started !== null) return this.#started;
    if (this.#diedAtMs !== null && performance.now() - this.#diedAtMs < this.#options.restartPauseMs) {
      return Promise.reject(new RouterError('internal', `the tokenizer of ${this.#options.directory} died a moment ago`));
    }
    this.#started = this.#load();
    // A later question starts anew; who waits for this one is told by the promise itself.
    this.#started.catch(() => (this.#started = null));
    return this.#started;
  }

  /** Rejects with `bad-request` where the template or the engine refuses the request, with `internal` where the thread dies or is overrun. */
  async ask(question: ThreadQuestion, signal: AbortSignal): Promise<Int32Array> {
    await this.start();
    signal.throwIfAborted();
    if (this.#waiting.size >= this.#options.maxWaiting) {
      this.refused++;
      throw new RouterError('internal', `${this.#waiting.size} prompts wait for the tokenizer of ${this.#options.directory}`);
    }
    const id = ++this.#lastId;
    const given = (): void => this.#givenUp(id);
    try {
      return await new Promise<Int32Array>((answered, failed) => {
        this.#waiting.set(id, { sinceMs: performance.now(), answered, failed });
        signal.addEventListener('abort', given, { once: true });
        this.#worker?.postMessage({ id, question });
      });
    } finally {
      signal.removeEventListener('abort', given);
      this.#waiting.delete(id);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker?.terminate();
    this.#failAll('the tokenizer is closed');
  }

  #load(): Promise<LoadedModel> {
    const { directory, cacheBytes } = this.#options;
    const options: ThreadOptions = { directory, cacheBytes };
    const worker = startThread(options);
    this.#worker = worker;
    return new Promise((loaded, failed) => {
      worker.on('message', (answer: ThreadAnswer) => {
        this.#lastAnswerMs = performance.now();
        if (answer.kind === 'ready') loaded(answer.loaded);
        else if (answer.kind === 'unloadable') failed(new RouterError('bad-config', answer.message));
        else this.#answered(answer);
      });
      worker.on('error', (cause) => this.#log.error({ directory, error: cause.message }, 'tokenizer-thread-failed'));
      worker.on('exit', () => {
        failed(new RouterError('internal', `the tokenizer of ${directory} died while loading`));
        this.#died(worker);
      });
    });
  }

  #answered(answer: Extract<ThreadAnswer, { id: number }>): void {
    const waiting = this.#waiting.get(answer.id);
    if (answer.kind === 'tokens') waiting?.answered(answer.tokens);
    else waiting?.failed(new RouterError('bad-request', answer.message));
  }

  /** Nobody waits for this answer any more. If it took long and nothing else came either, the thread hangs. */
  #givenUp(id: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    waiting.failed(new RouterError('deadline-exceeded', 'the tokenizer took too long'));
    const silentMs = performance.now() - Math.max(waiting.sinceMs, this.#lastAnswerMs);
    if (silentMs >= this.#options.hangMs) void this.#worker?.terminate();
  }

  #died(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#started = null;
    this.#diedAtMs = performance.now();
    if (this.#closed) return;
    this.deaths++;
    this.#log.error({ directory: this.#options.directory, waiting: this.#waiting.size }, 'tokenizer-thread-died');
    this.#failAll('the tokenizer died');
  }

  #failAll(message: string): void {
    for (const { failed } of this.#waiting.values()) failed(new RouterError('internal', message));
  }
}
