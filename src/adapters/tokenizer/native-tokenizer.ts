import { Tokenizer } from 'tokenizers';
import { isFields } from './chat-fields.ts';
import { pieceCutter } from './piece-cutter.ts';
import type { PieceCutter, Uncuttable } from './piece-cutter.ts';
import { joined, PieceTokenizer } from './piece-tokenizer.ts';
import type { TextEncoder } from './piece-tokenizer.ts';

/** A model's own tokenizer; `encode` runs on Node's pool of threads, what comes of it is copied here. */
export class NativeTokenizer implements TextEncoder {
  readonly #tokenizer: Tokenizer;
  readonly #pieces: PieceTokenizer | null;
  readonly #around: Around | null;
  /** Null: texts are tokenized in pieces. */
  readonly wholeBecause: string | null;

  /** `description`: the text of `tokenizer.json`. Rejects for what is none. */
  static async load(description: string, cacheBytes: number): Promise<NativeTokenizer> {
    const tokenizer = Tokenizer.fromString(description);
    // Engines want all of a prompt's tokens and no others, whatever the file says.
    tokenizer.disableTruncation();
    tokenizer.disablePadding();
    const fields: unknown = JSON.parse(description);
    const cutter = isFields(fields) ? pieceCutter(fields) : { why: 'its file is no object' };
    return new NativeTokenizer(tokenizer, { cutter, cacheBytes, around: await putAround(tokenizer) });
  }

  private constructor(tokenizer: Tokenizer, { cutter, cacheBytes, around }: { readonly cutter: PieceCutter | Uncuttable; readonly cacheBytes: number; readonly around: Around | null }) {
    this.#tokenizer = tokenizer;
    this.#pieces = 'cut' in cutter ? new PieceTokenizer(cutter, this, cacheBytes) : null;
    this.#around = around;
    this.wholeBecause = 'cut' in cutter ? null : cutter.why;
  }

  /** Of a rendered chat: its template wrote what belongs around it. */
  async ofRendered(text: string): Promise<Int32Array> {
    return this.#pieces === null ? await this.#whole(text, false) : await this.#pieces.tokensOf(text);
  }

  /** Of a prompt as a client wrote it, with what the tokenizer puts around every text. */
  async ofText(text: string): Promise<Int32Array> {
    if (this.#pieces === null || this.#around === null) return await this.#whole(text, true);
    return joined([this.#around.before, await this.#pieces.tokensOf(text), this.#around.behind]);
  }

  async encode(texts: readonly string[]): Promise<readonly Int32Array[]> {
    const [only] = texts;
    if (only !== undefined && texts.length === 1) return [await this.#whole(only, false)];
    const encodings = await this.#tokenizer.encodeBatch([...texts], { addSpecialTokens: false });
    return encodings.map((encoding) => Int32Array.from(encoding.getIds()));
  }

  async #whole(text: string, addSpecialTokens: boolean): Promise<Int32Array> {
    return Int32Array.from((await this.#tokenizer.encode(text, null, { addSpecialTokens })).getIds());
  }
}

interface Around {
  readonly before: Int32Array;
  readonly behind: Int32Array;
}

/** What the tokenizer puts around texts; null where that is not the same for two of them. */
async function putAround(tokenizer: Tokenizer): Promise<Around | null> {
  const seen = await Promise.all(['a', 'two words'].map((text) => aroundOne(tokenizer, text)));
  const [first, second] = seen;
  if (first === undefined || second === undefined || first === null || second === null) return null;
  const same = String(first.before) === String(second.before) && String(first.behind) === String(second.behind);
  return same ? first : null;
}

async function aroundOne(tokenizer: Tokenizer, text: string): Promise<Around | null> {
  const [all, own] = await Promise.all([true, false].map(async (addSpecialTokens) => (await tokenizer.encode(text, null, { addSpecialTokens })).getIds()));
  if (all === undefined || own === undefined || own.length === 0) return null;
  for (let at = 0; at + own.length <= all.length; at++) {
    if (own.every((token, place) => all[at + place] === token)) return { before: Int32Array.from(all.slice(0, at)), behind: Int32Array.from(all.slice(at + own.length)) };
  }
  return null;
}
