import type { PoolId, WorkerId } from '../../core/identity/ids.ts';
import { messageOf } from '../../core/router-error.ts';
import type { Log } from '../../ports/log.ts';
import type { ComparedCount, PromptSource, PromptTokenizer, PromptTokens } from '../../ports/prompt-tokens.ts';
import type { IsolatingEngine } from './isolation-of-request.ts';
import { isolationOfRequest } from './isolation-of-request.ts';
import type { RequestPrompt } from './prompt-of-request.ts';
import { promptOfRequest } from './prompt-of-request.ts';
import type { TextTokenizer } from './text-tokenizer.ts';

/** A pool's engines, as far as tokens depend on them. */
export interface TokenizedPool extends IsolatingEngine {
  readonly workers: readonly WorkerId[];
}

export interface PromptTokenizerDeps {
  readonly text: TextTokenizer;
  /** Null: no such pool any more. */
  readonly poolOf: (pool: PoolId) => TokenizedPool | null;
  /** Told what engines count. */
  readonly counted: (compared: ComparedCount) => void;
  readonly log: Log;
}

export interface PromptTokenizerOptions {
  /** A tokenizer that takes longer is done without: the request goes by load. */
  readonly patienceMs: number;
}

/** The tokens that an engine will make of a request: its own ids, or those of its text. */
export class RequestTokenizer implements PromptTokenizer {
  readonly #deps: PromptTokenizerDeps;
  readonly #options: PromptTokenizerOptions;

  constructor(deps: PromptTokenizerDeps, options: PromptTokenizerOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  async tokensOf(source: PromptSource, signal: AbortSignal): Promise<PromptTokens> {
    const prompt = promptOfRequest(source.path, source.body);
    if (prompt.kind === 'unknown') return prompt;
    const pool = this.#deps.poolOf(source.pool);
    const isolation = pool === null ? null : isolationOfRequest(source.body, pool);
    if (isolation === null) return { kind: 'unknown', why: 'several-prompts' };
    const tokens = prompt.kind === 'ids' ? prompt.ids : await this.#ofText(prompt, source, signal);
    return tokens === null ? { kind: 'unknown', why: 'tokenizer-failed' } : { kind: 'known', tokens, isolation };
  }

  counted(compared: ComparedCount): void {
    this.#deps.counted(compared);
  }

  /** Null: the tokenizer failed or took too long; the caller counts it. */
  async #ofText(prompt: Exclude<RequestPrompt, { kind: 'ids' | 'unknown' }>, { pool, body }: PromptSource, signal: AbortSignal): Promise<ArrayLike<number> | null> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(this.#options.patienceMs)]);
    try {
      const { text } = this.#deps;
      return await (prompt.kind === 'text' ? text.ofText(pool, prompt.text, body, within) : text.ofChat(pool, prompt.fields, within));
    } catch (error) {
      if (signal.aborted) throw error;
      this.#deps.log.warn({ pool, error: messageOf(error) }, 'prompt-not-tokenized');
      return null;
    }
  }
}
