import { describe, expect, it } from 'vitest';
import { pieceCutter } from '../../../src/adapters/tokenizer/piece-cutter.ts';

interface Traits {
  readonly special?: boolean;
  readonly normalized?: boolean;
  readonly lstrip?: boolean;
  readonly rstrip?: boolean;
  readonly single_word?: boolean;
}

const token = (content: string, traits: Traits = {}): object => ({ content, special: true, normalized: false, lstrip: false, rstrip: false, single_word: false, ...traits });

function cut(text: string, tokens: readonly object[], preTokenizer: unknown = null): readonly string[] | string {
  const cutter = pieceCutter({ added_tokens: tokens, pre_tokenizer: preTokenizer });
  return 'cut' in cutter ? cutter.cut(text) : cutter.why;
}

describe('a text is cut', () => {
  it('before each special token, and nothing is lost', () => {
    expect(cut('<s>a<e>\n<s>b', [token('<s>'), token('<e>')])).toEqual(['<s>a', '<e>\n', '<s>b']);
    expect(cut('x<s>', [token('<s>')])).toEqual(['x', '<s>']);
    expect(cut('', [token('<s>')])).toEqual([]);
  });

  it('not inside a longer token that begins at the same place', () => {
    expect(cut('a<s><s>>b', [token('<s>'), token('<s>>')])).toEqual(['a', '<s>', '<s>>b']);
  });

  it('not inside a token that began before, special or not', () => {
    expect(cut('a[<s>]b', [token('<s>'), token('[<s>', { special: false })])).toEqual(['a[<s>]b']);
  });

  it('not before a token that is looked for in normalized text', () => {
    expect(cut('a<u>b<s>c', [token('<s>'), token('<u>', { normalized: true })])).toEqual(['a<u>b', '<s>c']);
  });
});

describe('a text is left whole', () => {
  it.each(['lstrip', 'rstrip', 'single_word'] as const)('where a token has %s', (trait) => {
    expect(cut('a<s>', [token('<s>', { [trait]: true })])).toMatch(/"<s>" reaches beyond itself/);
  });

  it('where only the first word of a text gets its space', () => {
    expect(cut('a<s>', [token('<s>')], { type: 'Sequence', pretokenizers: [{ type: 'Metaspace', prepend_scheme: 'first' }] })).toMatch(/beginning/);
    expect(cut('a<s>', [token('<s>')], { type: 'Metaspace', prepend_scheme: 'always' })).toEqual(['a', '<s>']);
  });

  it('where there is nothing to cut at', () => {
    expect(cut('a', [token('<u>', { special: false })])).toMatch(/no special tokens/);
  });
});
