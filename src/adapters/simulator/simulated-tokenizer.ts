import type { AnswerVocabulary } from '../../core/engine-model/answer-tokens.ts';

/** Ids 0 to 255 are UTF-8 bytes, these follow, and all ids after them are words of three syllables. */
export const specialTokens = ['<|begin|>', '<|end|>', '<|system|>', '<|user|>', '<|assistant|>', '<|tool|>'] as const;

const byteCount = 256;
const wordBase = byteCount + specialTokens.length;
const consonants = 'bdfgklmnprstvz';
const vowels = 'aeiou';
const syllables = consonants.length * vowels.length;
const pieces = new RegExp(`( (?:[${consonants}][${vowels}]){3}(?![A-Za-z]))|(${specialTokens.map((token) => token.replace(/[|]/g, '\\|')).join('|')})`);

/** The most ids that have a word: 342,738. */
export const mostVocabulary = wordBase + syllables ** 3;

const specialId = (token: (typeof specialTokens)[number]): number => byteCount + specialTokens.indexOf(token);

function syllable(index: number): string {
  return (consonants[Math.floor(index / vowels.length)] ?? '') + (vowels[index % vowels.length] ?? '');
}

function wordOf(id: number): string {
  const rank = id - wordBase;
  return ` ${syllable(Math.floor(rank / syllables ** 2) % syllables)}${syllable(Math.floor(rank / syllables) % syllables)}${syllable(rank % syllables)}`;
}

function idOf(word: string): number {
  let rank = 0;
  for (let at = 1; at < word.length; at += 2) rank = rank * syllables + consonants.indexOf(word.charAt(at)) * vowels.length + vowels.indexOf(word.charAt(at + 1));
  return wordBase + rank;
}

/**
 * The simulated model's tokenizer: what it says comes back as the same ids, so that a conversation that is sent again
 * shares the pages of its answers, as with a real model.
 */
export class SimulatedTokenizer {
  readonly vocabulary: AnswerVocabulary;

  constructor(vocabSize: number) {
    this.vocabulary = { wordBase, vocabSize, endToken: specialId('<|end|>') };
  }

  encode(text: string): Int32Array {
    const ids: number[] = [];
    for (const piece of text.split(pieces)) {
      if (piece === undefined || piece === '') continue;
      const special = specialTokens.findIndex((token) => token === piece);
      const word = special < 0 && piece.length === 7 && pieces.test(piece) ? idOf(piece) : wordBase + syllables ** 3;
      if (special >= 0) ids.push(byteCount + special);
      else if (word < this.vocabulary.vocabSize) ids.push(word);
      else for (const byte of Buffer.from(piece, 'utf8')) ids.push(byte);
    }
    return Int32Array.from(ids);
  }

  /** Special tokens are left out, as engines do unless told otherwise; halves of characters become U+FFFD. */
  decode(ids: ArrayLike<number>): string {
    let text = '';
    let bytes: number[] = [];
    const flush = (): void => {
      if (bytes.length > 0) text += Buffer.from(bytes).toString('utf8');
      bytes = [];
    };
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] ?? 0;
      if (id < byteCount) bytes.push(id);
      else {
        flush();
        if (id >= wordBase) text += wordOf(id);
      }
    }
    flush();
    return text;
  }
}
