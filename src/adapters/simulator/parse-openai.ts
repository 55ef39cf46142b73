import type { FastifyRequest } from 'fastify';
import { RouterError } from '../../core/router-error.ts';
import { renderChat } from './chat-template.ts';
import type { GenerationSpec } from './generation.ts';
import { missingField, optionalObject, optionalString, wrongType, type JsonObject } from './json-fields.ts';
import { rankAsked } from './parse-generate.ts';
import { answerRoom, tokensOf } from './prompt-checks.ts';
import { bodyObject } from './request-body.ts';
import { parseSampling } from './sampling.ts';
import { newRid, type SimulatedEngine } from './simulated-engine.ts';

/** What an OpenAI endpoint was asked for: `copies` answers for each prompt, one after the other. */
export interface OpenAiRequest {
  readonly id: string;
  /** Echoed whatever it says: SGLang serves any name. */
  readonly model: string;
  readonly specs: readonly GenerationSpec[];
  readonly copies: number;
  /** Each prompt's text, for `echo`. */
  readonly promptTexts: readonly string[];
  readonly streamUsage: 'none' | 'end' | 'each';
}

export interface OpenAiSource {
  readonly body: JsonObject;
  /** The `X-Data-Parallel-Rank` header; it overrules the body. */
  readonly rankHeader: string | null;
}

/** Throws `bad-json`. */
export function openAiSource(request: FastifyRequest): OpenAiSource {
  const header = request.headers['x-data-parallel-rank'];
  return { body: bodyObject(request), rankHeader: typeof header === 'string' ? header : null };
}

interface Prompt {
  readonly tokens: Int32Array;
  readonly text: string;
}

const defaultCompletionTokens = 16;

function rankOf(engine: SimulatedEngine, { body, rankHeader }: OpenAiSource): number | null {
  if (rankHeader === null || !engine.options.wire.routedRank) return rankAsked(engine, body);
  if (/^-?\d+$/.test(rankHeader)) return Number(rankHeader);
  throw new RouterError('unknown-target', `Invalid X-Data-Parallel-Rank header: must be an integer, got '${rankHeader}'`);
}

function streamUsageOf(body: JsonObject): OpenAiRequest['streamUsage'] {
  const options = optionalObject(body, 'stream_options');
  if (options?.['include_usage'] !== true) return 'none';
  return options['continuous_usage_stats'] === true ? 'each' : 'end';
}

function build(engine: SimulatedEngine, source: OpenAiSource, prompts: readonly Prompt[], limit: { readonly fields: readonly string[]; readonly preset: number | null }): OpenAiRequest {
  const { body } = source;
  const sampling = parseSampling(body, limit.fields, limit.preset);
  const rank = rankOf(engine, source);
  const id = optionalString(body, 'rid') ?? newRid();
  const total = prompts.length * sampling.copies;
  const specs = prompts.flatMap(({ tokens }, index) => {
    const maxNewTokens = answerRoom(engine, tokens.length, sampling.maxNewTokens);
    return Array.from({ length: sampling.copies }, (_, copy) => ({
      rid: total === 1 ? id : `${id}_${index * sampling.copies + copy}`,
      tokens,
      maxNewTokens,
      sampling,
      space: engine.options.wire.namespaces ? { salt: optionalString(body, 'cache_salt'), extraKey: optionalString(body, 'extra_key') } : { salt: null, extraKey: null },
      sessionId: optionalString(body, 'session_id'),
      rank: engine.rankFor(rank),
    }));
  });
  return { id, model: optionalString(body, 'model') ?? 'default', specs, copies: sampling.copies, promptTexts: prompts.map(({ text }) => text), streamUsage: streamUsageOf(body) };
}

/** Throws `bad-request`, `prompt-too-long`, `unknown-target` or, for what is no chat, `bad-json`. */
export function parseChat(engine: SimulatedEngine, source: OpenAiSource): OpenAiRequest {
  const text = renderChat(source.body);
  const ids = engine.options.wire.routedRank ? source.body['input_ids'] : undefined;
  const tokens = Array.isArray(ids) && ids.length > 0 ? tokensOf(engine, ids) : engine.tokenizer.encode(text);
  return build(engine, source, [{ tokens, text: '' }], { fields: ['max_completion_tokens', 'max_tokens'], preset: null });
}

function promptsOf(engine: SimulatedEngine, prompt: unknown): readonly Prompt[] {
  const ofText = (text: string): Prompt => ({ text, tokens: engine.tokenizer.encode(text) });
  const ofIds = (ids: readonly unknown[]): Prompt => {
    const tokens = tokensOf(engine, ids);
    return { tokens, text: engine.tokenizer.decode(tokens) };
  };
  if (prompt === undefined || prompt === null) throw missingField('prompt');
  if (typeof prompt === 'string') return [ofText(prompt)];
  if (!Array.isArray(prompt)) throw wrongType('prompt', 'str or list', prompt);
  const list: unknown[] = prompt;
  if (list.length > 0 && list.every((item) => typeof item === 'string')) return list.map(ofText);
  if (list.length > 0 && list.every((item) => Array.isArray(item))) return list.map(ofIds);
  return [ofIds(list)];
}

export function parseCompletion(engine: SimulatedEngine, source: OpenAiSource): OpenAiRequest {
  const prompts = promptsOf(engine, source.body['prompt']);
  if (prompts.some(({ tokens }) => tokens.length === 0)) throw new RouterError('bad-request', 'Prompt cannot be empty');
  return build(engine, source, prompts, { fields: ['max_tokens'], preset: defaultCompletionTokens });
}
