import type { PoolId } from '../../core/identity/ids.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { Log } from '../../ports/log.ts';
import type { EngineKind, Fields } from './chat-fields.ts';
import { ModelThread } from './model-thread.ts';
import { promptFieldsOf } from './prompt-fields.ts';
import type { TextTokenizer } from './text-tokenizer.ts';

export interface ModelTokenizerOptions {
  readonly directory: string;
  /** Engines prepare messages in different ways. */
  readonly kindOf: (pool: PoolId) => EngineKind;
  /** For tokens of pieces of texts, with the pieces themselves. */
  readonly cacheBytes: number;
}

/** Longer than a caller's patience, so that one long prompt is not taken for a thread that hangs. */
const hangMs = 10_000;
const restartPauseMs = 1_000;
const maxWaiting = 256;

/** A model's own tokenizer and chat template, in a thread of this process. */
export class ModelTokenizer implements TextTokenizer, Closable {
  readonly #thread: ModelThread;
  readonly #kindOf: (pool: PoolId) => EngineKind;

  constructor({ directory, kindOf, cacheBytes }: ModelTokenizerOptions, log: Log) {
    this.#thread = new ModelThread({ directory, cacheBytes, maxWaiting, restartPauseMs, hangMs }, log);
    this.#kindOf = kindOf;
  }

  get deaths(): number {
    return this.#thread.deaths;
  }

  get refused(): number {
    return this.#thread.refused;
  }

  ofText(_pool: PoolId, text: string, _fields: Fields, signal: AbortSignal): Promise<ArrayLike<number>> {
    return this.#thread.ask({ kind: 'text', text }, signal);
  }

  ofChat(pool: PoolId, fields: Fields, signal: AbortSignal): Promise<ArrayLike<number>> {
    return this.#thread.ask({ kind: 'chat', fields: promptFieldsOf(fields), engine: this.#kindOf(pool) }, signal);
  }

  /** Rejects with `bad-config` where the folder has no tokenizer. Gives why chats or pieces are not done here, nulls where they are. */
  load(): ReturnType<ModelThread['start']> {
    return this.#thread.start();
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}

/** A tokenizer that is ready, from a folder as Hugging Face lays it out. Rejects with `bad-config`. */
export async function loadModelTokenizer(options: ModelTokenizerOptions, log: Log): Promise<ModelTokenizer> {
  const tokenizer = new ModelTokenizer(options, log);
  try {
    const { wholeBecause, noChatsBecause } = await tokenizer.load();
    log.info({ directory: options.directory, wholeBecause, noChatsBecause }, 'tokenizer-loaded');
    return tokenizer;
  } catch (error) {
    await tokenizer.close();
    throw error;
  }
}
