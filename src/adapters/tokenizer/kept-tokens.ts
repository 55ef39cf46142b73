import type { PoolId } from '../../core/identity/ids.ts';
import type { Fields } from './chat-fields.ts';
import { promptFieldsOf } from './prompt-fields.ts';
import type { TextTokenizer } from './text-tokenizer.ts';
import { TokenCache } from './token-cache.ts';

/** Keeps what another tokenizer made of whole prompts: for one that is far away. */
export class KeptTokens implements TextTokenizer {
  readonly #tokenizer: TextTokenizer;
  readonly #kept: TokenCache;

  constructor(tokenizer: TextTokenizer, maxBytes: number) {
    this.#tokenizer = tokenizer;
    this.#kept = new TokenCache(maxBytes);
  }

  ofText(pool: PoolId, text: string, fields: Fields, signal: AbortSignal): Promise<ArrayLike<number>> {
    return this.#orMade(`${pool}\ntext\n${text}`, () => this.#tokenizer.ofText(pool, text, fields, signal));
  }

  ofChat(pool: PoolId, fields: Fields, signal: AbortSignal): Promise<ArrayLike<number>> {
    return this.#orMade(`${pool}\nchat\n${JSON.stringify(promptFieldsOf(fields))}`, () => this.#tokenizer.ofChat(pool, fields, signal));
  }

  async #orMade(key: string, make: () => Promise<ArrayLike<number>>): Promise<Int32Array> {
    const kept = this.#kept.take(key);
    if (kept !== null) return kept;
    const tokens = Int32Array.from(await make());
    this.#kept.put(key, tokens);
    return tokens;
  }
}
