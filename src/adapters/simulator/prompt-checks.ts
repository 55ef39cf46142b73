import { RouterError } from '../../core/router-error.ts';
import type { SimulatedEngine } from './simulated-engine.ts';

/** Tokens of a request's list, checked. The real engine dies of an id outside its vocabulary; this one says 400. */
export function tokensOf(engine: SimulatedEngine, ids: readonly unknown[]): Int32Array {
  const tokens = new Int32Array(ids.length);
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i];
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id >= engine.options.vocabSize) {
      throw new RouterError('bad-request', `input_ids holds ${JSON.stringify(id)} at ${i}, token ids are from 0 to ${engine.options.vocabSize - 1}`);
    }
    tokens[i] = id;
  }
  return tokens;
}

/** How many tokens the answer may have. Throws `prompt-too-long` in the engine's own words. */
export function answerRoom(engine: SimulatedEngine, promptTokens: number, maxNewTokens: number | null): number {
  const { contextLength } = engine.options;
  if (promptTokens >= contextLength) {
    throw new RouterError('prompt-too-long', `The input (${promptTokens} tokens) is longer than the model's context length (${contextLength} tokens).`);
  }
  const longest = engine.rank(0).model.longestSequence;
  if (promptTokens >= longest) {
    throw new RouterError('prompt-too-long', `Input length (${promptTokens} tokens) exceeds the maximum allowed length (${longest} tokens). Use a shorter input or enable --allow-auto-truncate.`);
  }
  if (maxNewTokens === null) return contextLength - promptTokens;
  if (engine.options.wire.longAnswers === 'cut') return Math.min(maxNewTokens, contextLength - promptTokens);
  const total = promptTokens + maxNewTokens;
  if (total <= contextLength) return maxNewTokens;
  throw new RouterError(
    'prompt-too-long',
    `Requested token count exceeds the model's maximum context length of ${contextLength} tokens. You requested a total of ${total} tokens: ${promptTokens} tokens from the input messages and ${maxNewTokens} tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.`,
  );
}
