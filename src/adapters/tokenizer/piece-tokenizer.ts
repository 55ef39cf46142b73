import type { PieceCutter } from './piece-cutter.ts';
import { TokenCache } from './token-cache.ts';

/** Tokens of texts as they are: nothing is put before or behind them. */
export interface TextEncoder {
  encode(texts: readonly string[]): Promise<readonly Int32Array[]>;
}

/** Tokenizes a text in its pieces and keeps each: of a long conversation only what is new is tokenized. */
export class PieceTokenizer {
  readonly #cutter: PieceCutter;
  readonly #encoder: TextEncoder;
  readonly #kept: TokenCache;
  /** Asked for and not there yet: the children of one agent come at once, with one prefix. */
  readonly #underWay = new Map<string, Promise<Int32Array>>();

  constructor(cutter: PieceCutter, encoder: TextEncoder, cacheBytes: number) {
    this.#cutter = cutter;
    this.#encoder = encoder;
    this.#kept = new TokenCache(cacheBytes);
  }

  async tokensOf(text: string): Promise<Int32Array> {
    const pieces = this.#cutter.cut(text);
    const kept = pieces.map((piece) => this.#kept.take(piece));
    const missing = new Set(pieces.filter((piece, place) => kept[place] === null && !this.#underWay.has(piece)));
    if (missing.size > 0) this.#encodeAll([...missing]);
    const parts = pieces.map(async (piece, place) => kept[place] ?? (await this.#underWay.get(piece)) ?? nothing);
    return joined(await Promise.all(parts));
  }

  #encodeAll(pieces: readonly string[]): void {
    const encoded = this.#encoder.encode(pieces);
    for (const [place, piece] of pieces.entries()) {
      const one = encoded.then((all) => all[place] ?? nothing);
      this.#underWay.set(piece, one);
      void one.then((tokens) => this.#kept.put(ownCopy(piece), tokens), () => undefined).finally(() => this.#underWay.delete(piece));
    }
  }
}

const nothing = new Int32Array(0);

/** A slice would keep the whole text that it was cut from in memory. */
const ownCopy = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le');

export function joined(parts: readonly Int32Array[]): Int32Array {
  const whole = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
