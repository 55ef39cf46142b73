import { randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { RouterError } from '../../../core/router-error.ts';
import type { Generation } from '../generation.ts';
import { optionalString } from '../json-fields.ts';
import { matchedStop } from '../meta-info.ts';
import { tokenSums } from '../openai-usage.ts';
import { openAiSource, type OpenAiRequest, type OpenAiSource } from '../parse-openai.ts';
import type { SimulatedEngine } from '../simulated-engine.ts';

export const systemFingerprint = 'vllm-0.32.0-simulated';

/** The fingerprint in a choice's last chunk, unless a chunk with the usage comes after it. */
export const lastFingerprint = ({ streamUsage }: OpenAiRequest, finish: string | null): object => (finish !== null && streamUsage === 'none' ? { system_fingerprint: systemFingerprint } : {});

/** The request's body, of a model that is served. Throws `bad-json`, or `unknown-model`. */
export function vllmSource(engine: SimulatedEngine, request: FastifyRequest): OpenAiSource {
  const source = openAiSource(request);
  const model = optionalString(source.body, 'model');
  const { modelName } = engine.options;
  if (model === null || model === modelName) return source;
  throw new RouterError('unknown-model', `The model \`${model}\` does not exist. Valid aliases: ${modelName}.`);
}

/** A response's id: the client's own where it sent one. */
export function vllmId(prefix: 'cmpl' | 'chatcmpl', request: FastifyRequest): string {
  const asked = request.headers['x-request-id'];
  return `${prefix}-${typeof asked === 'string' ? asked : randomBytes(8).toString('hex')}`;
}

/** The stop text or token that the request named; the model's own end is none. */
export function stopReason(engine: SimulatedEngine, generation: Generation): string | number | null {
  const matched = matchedStop(generation);
  return matched === engine.tokenizer.vocabulary.endToken ? null : matched;
}

interface Usage {
  readonly prompt_tokens: number;
  readonly total_tokens: number;
  readonly completion_tokens: number;
}

export function vllmUsage(generations: readonly Generation[], copies: number): Usage {
  const { prompt, completion } = tokenSums(generations, copies);
  return { prompt_tokens: prompt, total_tokens: prompt + completion, completion_tokens: completion };
}

/** `usage` of a whole answer; `created`: tokens of the blocks that the prompt made, where the endpoint tells them. */
export function wholeUsage(engine: SimulatedEngine, request: OpenAiRequest, { generations, created }: { readonly generations: readonly Generation[]; readonly created: number | null }): object {
  const details = { cached_tokens: tokenSums(generations, request.copies).cached, created_cache_tokens: created, multimodal_tokens: null };
  return { ...vllmUsage(generations, request.copies), prompt_tokens_details: engine.options.cacheReport ? details : null, completion_tokens_details: null };
}
