import { RouterError } from '../../core/router-error.ts';

export interface PromptLimits {
  /** Null: the engine does not say. */
  readonly contextLength: number | null;
  readonly vocabSize: number | null;
}

/** Throws `prompt-too-long` for a prompt that leaves no room for an answer. */
export function checkLength(promptTokens: number, { contextLength }: PromptLimits): void {
  if (contextLength === null || promptTokens < contextLength) return;
  throw new RouterError('prompt-too-long', `the prompt has ${promptTokens} tokens, the model's context is ${contextLength}: send at most ${contextLength - 1}`);
}

/** Where clients give token ids themselves: one prompt, or a list of them. */
const idFields = ['input_ids', 'prompt', 'input'] as const;

/** Throws `bad-request` for a token id outside the vocabulary: it would kill an SGLang server. */
export function checkTokenIds(fields: Readonly<Record<string, unknown>>, { vocabSize }: PromptLimits): void {
  for (const name of idFields) {
    const value = fields[name];
    if (Array.isArray(value)) checkIds(name, value, vocabSize);
  }
}

function checkIds(name: string, ids: readonly unknown[], vocabSize: number | null): void {
  const end = vocabSize ?? Number.POSITIVE_INFINITY;
  for (let place = 0; place < ids.length; place++) {
    const id = ids[place];
    if (Array.isArray(id)) checkIds(name, id, vocabSize);
    if (typeof id !== 'number' || (Number.isInteger(id) && id >= 0 && id < end)) continue;
    const range = vocabSize === null ? 'whole numbers from 0' : `whole numbers from 0 to ${vocabSize - 1}, the vocabulary has ${vocabSize}`;
    throw new RouterError('bad-request', `${name} holds ${id} at place ${place}, token ids are ${range}`);
  }
}
