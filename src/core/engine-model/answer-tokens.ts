/** Which ids an answer may hold: `wordBase` to before `vocabSize`, and the one that ends it. */
export interface AnswerVocabulary {
  readonly wordBase: number;
  readonly vocabSize: number;
  readonly endToken: number;
}

/** The model's state after some tokens. Every token goes into it, so it is all an answer depends on. */
export type AnswerState = number;

const step = (state: number, token: number): number => {
  const h = Math.imul(state ^ token, 0x9e3779b1);
  return h ^ (h >>> 15);
};

const scramble = (state: number): number => {
  const h = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  return Math.imul(h ^ (h >>> 13), 0xc2b2ae35) >>> 0;
};

/** An answer may end by itself from here on, with this chance at each token: about 190 tokens on average. */
const shortestAnswer = 128;
const endEvery = 64;

export function stateAfter(tokens: ArrayLike<number>, state: AnswerState = 0x6b696e): AnswerState {
  let now = state;
  for (let i = 0; i < tokens.length; i++) now = step(now, tokens[i] ?? 0);
  return now;
}

export const advance = (state: AnswerState, token: number): AnswerState => step(state, token);

/**
 * The next token: a pure function of all tokens before it, so one prompt has one answer on every engine, and a prompt
 * that ends with the beginning of an answer gets its rest.
 */
export function nextToken(state: AnswerState, { wordBase, vocabSize, endToken }: AnswerVocabulary, mayEnd: { readonly answered: number } | null): number {
  const mixed = scramble(state);
  if (mayEnd !== null && mayEnd.answered >= shortestAnswer && mixed % endEvery === 0) return endToken;
  return wordBase + (Math.floor(mixed / endEvery) % (vocabSize - wordBase));
}
