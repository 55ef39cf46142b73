/** Tokens of what was tokenized lately, by the text that was asked; bounded by the size of texts and tokens together. */
export class TokenCache {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Int32Array>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Null: not kept. What is found counts as used just now. */
  take(text: string): Int32Array | null {
    const found = this.#entries.get(text);
    if (found === undefined) return null;
    this.#entries.delete(text);
    this.#entries.set(text, found);
    return found;
  }

  /** What is larger than all there may be is not kept, and drives nothing out. */
  put(text: string, tokens: Int32Array): void {
    this.#drop(text);
    if (sizeOf(text, tokens) > this.#maxBytes) return;
    this.#entries.set(text, tokens);
    this.#bytes += sizeOf(text, tokens);
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(text: string): void {
    const tokens = this.#entries.get(text);
    if (tokens === undefined) return;
    this.#entries.delete(text);
    this.#bytes -= sizeOf(text, tokens);
  }
}

/** Strings take two bytes a unit at most. */
const sizeOf = (text: string, tokens: Int32Array): number => 2 * text.length + tokens.byteLength;
