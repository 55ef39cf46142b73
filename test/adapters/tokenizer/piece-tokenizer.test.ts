import { describe, expect, it } from 'vitest';
import { PieceTokenizer } from '../../../src/adapters/tokenizer/piece-tokenizer.ts';
import type { TextEncoder } from '../../../src/adapters/tokenizer/piece-tokenizer.ts';

/** A token of each character. */
class Letters implements TextEncoder {
  readonly asked: string[][] = [];
  fails = false;

  encode(texts: readonly string[]): Promise<readonly Int32Array[]> {
    this.asked.push([...texts]);
    return this.fails ? Promise.reject(new Error('broken')) : Promise.resolve(texts.map((text) => Int32Array.from(text, (letter) => letter.charCodeAt(0))));
  }
}

const cutter = { cut: (text: string): readonly string[] => text.split(/(?=<)/) };
const ids = (text: string): number[] => Array.from(text, (letter) => letter.charCodeAt(0));

describe('pieces', () => {
  it('are tokenized once: a text that grew costs what is new', async () => {
    const letters = new Letters();
    const tokenizer = new PieceTokenizer(cutter, letters, 10_000);
    await tokenizer.tokensOf('<one<two');
    expect(Array.from(await tokenizer.tokensOf('<one<two<three'))).toEqual(ids('<one<two<three'));
    expect(letters.asked).toEqual([['<one', '<two'], ['<three']]);
  });

  it('that are asked for at once are tokenized once', async () => {
    const letters = new Letters();
    const tokenizer = new PieceTokenizer(cutter, letters, 10_000);
    await Promise.all([tokenizer.tokensOf('<one<one<a'), tokenizer.tokensOf('<one<b')]);
    expect(letters.asked).toEqual([['<one', '<a'], ['<b']]);
  });

  it('that failed are tried again', async () => {
    const letters = new Letters();
    const tokenizer = new PieceTokenizer(cutter, letters, 10_000);
    letters.fails = true;
    await expect(tokenizer.tokensOf('<one')).rejects.toThrow('broken');
    letters.fails = false;
    expect(Array.from(await tokenizer.tokensOf('<one'))).toEqual(ids('<one'));
  });

  it('go when there are too many, and come back right', async () => {
    const letters = new Letters();
    const tokenizer = new PieceTokenizer(cutter, letters, 40);
    await tokenizer.tokensOf('<one<two');
    expect(Array.from(await tokenizer.tokensOf('<one<two'))).toEqual(ids('<one<two'));
    expect(letters.asked.length).toBe(2);
  });
});
