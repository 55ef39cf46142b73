import type { PoolId, WorkerId } from '../../core/identity/ids.ts';
import { messageOf } from '../../core/router-error.ts';
import type { Log } from '../../ports/log.ts';
import type { PromptSource, PromptTokenizer, PromptTokens } from '../../ports/prompt-tokens.ts';
import type { IsolatingEngine } from './isolation-of-request.ts';
import { isolationOfRequest } from './isolation-of-request.ts';
import type { RequestPrompt } from './prompt-of-request.ts';
import { promptOfRequest } from './prompt-of-request.ts';
import type { TextTokenizer } from './text-tokenizer.ts';
import { TokenCache } from './token-cache.ts';

/** A pool's engines, as far as tokens depend on them. */
export interface TokenizedPool extends IsolatingEngine {
  readonly workers: readonly WorkerId[];
}

export interface PromptTokenizerDeps {
  readonly text: TextTokenizer;
  /** Null: no such pool any more. */
  readonly poolOf: (pool: PoolId) => TokenizedPool | null;
  readonly log: Log;
}

export interface PromptTokenizerOptions {
  /** A tokenizer that takes longer is done without: the request goes by load. */
  readonly patienceMs: number;
  readonly cacheBytes: number;
}

const cached = ['messages', 'tools', 'chat_template_kwargs', 'add_generation_prompt', 'continue_final_message', 'chat_template'] as const;

/** The tokens that an engine will make of a request: its own ids, or those of its text, kept for when it comes again. */
export class RequestTokenizer implements PromptTokenizer {
  readonly #deps: PromptTokenizerDeps;
  readonly #options: PromptTokenizerOptions;
  readonly #cache: TokenCache;

  constructor(deps: PromptTokenizerDeps, options: PromptTokenizerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#cache = new TokenCache(options.cacheBytes);
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

  /** Null: the tokenizer failed or took too long; the caller counts it. */
  async #ofText(prompt: Exclude<RequestPrompt, { kind: 'ids' | 'unknown' }>, { pool, body }: PromptSource, signal: AbortSignal): Promise<Int32Array | null> {
    const key = `${pool}\n${prompt.kind}\n${prompt.kind === 'text' ? prompt.text : JSON.stringify(cached.map((name) => prompt.fields[name] ?? null))}`;
    const kept = this.#cache.take(key);
    if (kept !== null) return kept;
    const within = AbortSignal.any([signal, AbortSignal.timeout(this.#options.patienceMs)]);
    try {
      const { text } = this.#deps;
      const tokens = Int32Array.from(await (prompt.kind === 'text' ? text.ofText(pool, prompt.text, body, within) : text.ofChat(pool, prompt.fields, within)));
      this.#cache.put(key, tokens);
      return tokens;
    } catch (error) {
      if (signal.aborted) throw error;
      this.#deps.log.warn({ pool, error: messageOf(error) }, 'prompt-not-tokenized');
      return null;
    }
  }
}
