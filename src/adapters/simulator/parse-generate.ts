import { RouterError } from '../../core/router-error.ts';
import type { GenerationSpec } from './generation.ts';
import { isObject, optionalNumber, optionalObject, optionalString, wrongType, type JsonObject } from './json-fields.ts';
import { answerRoom, tokensOf } from './prompt-checks.ts';
import { parseSampling, type Sampling } from './sampling.ts';
import { newRid, type SimulatedEngine } from './simulated-engine.ts';

/** What `/generate` was asked for. */
export interface GenerateRequest {
  readonly specs: readonly GenerationSpec[];
  /** Whether the answer is a list. */
  readonly batch: boolean;
  readonly returnPromptTokens: boolean;
}

const defaultNewTokens = 128;

function promptsOf(engine: SimulatedEngine, body: JsonObject): { readonly prompts: readonly Int32Array[]; readonly batch: boolean } {
  const ids = body['input_ids'];
  if (ids !== undefined && ids !== null) {
    if (!Array.isArray(ids)) throw wrongType('input_ids', 'list or null', ids);
    if (ids.length === 0) throw new RouterError('bad-request', 'input_ids cannot be empty.');
    const list: unknown[] = ids;
    if (list.every((item) => Array.isArray(item))) return { prompts: list.map((item) => tokensOf(engine, item)), batch: true };
    return { prompts: [tokensOf(engine, list)], batch: false };
  }
  const text = body['text'];
  if (typeof text === 'string') return { prompts: [engine.tokenizer.encode(text)], batch: false };
  if (Array.isArray(text) && text.every((item) => typeof item === 'string')) return { prompts: text.map((item) => engine.tokenizer.encode(item)), batch: true };
  if (text === undefined || text === null) throw new RouterError('bad-request', 'Either text, input_ids or input_embeds should be provided.');
  throw wrongType('text', 'str, list or null', text);
}

/** A value for each prompt, from one value for all or a list. */
function perPrompt<T>(body: JsonObject, field: string, index: number, accept: (value: unknown) => value is T): T | null {
  const value = body[field];
  const own: unknown = Array.isArray(value) ? value[index] : value;
  if (own === undefined || own === null) return null;
  if (accept(own)) return own;
  throw wrongType(field, 'a value or a list of them', own);
}

const isString = (value: unknown): value is string => typeof value === 'string';

function ridOf(body: JsonObject, index: number, { total }: { readonly total: number }): string {
  const rid = body['rid'];
  if (isString(rid)) return total === 1 ? rid : `${rid}_${index}`;
  if (Array.isArray(rid) && isString(rid[index])) return rid[index];
  return newRid();
}

/** The rank that a body asks for, by its present or its former name. */
export function rankAsked(engine: SimulatedEngine, body: JsonObject): number | null {
  const present = engine.options.wire.routedRank ? optionalNumber(body, 'routed_dp_rank') : null;
  return present ?? optionalNumber(body, 'data_parallel_rank');
}

function refuseWhatIsOff(engine: SimulatedEngine, body: JsonObject): void {
  const lora = body['lora_path'];
  if (isString(lora)) {
    throw new RouterError(
      'bad-request',
      `LoRA adapter '${lora}' was requested, but LoRA is not enabled. Please launch the server with --enable-lora flag and preload adapters using --lora-paths or /load_lora_adapter endpoint.`,
    );
  }
  const session = optionalObject(body, 'session_params')?.['id'];
  if (isString(session) && !engine.openSessions.has(session)) throw new RouterError('bad-request', `Invalid request: session id ${session} does not exist`);
}

/** Parses a body of `/generate`. Throws `bad-request`, `prompt-too-long` or, for a wrong type, `bad-json`. */
export function parseGenerate(engine: SimulatedEngine, body: JsonObject): GenerateRequest {
  const { prompts, batch } = promptsOf(engine, body);
  refuseWhatIsOff(engine, body);
  const rank = rankAsked(engine, body);
  const samplings: Sampling[] = prompts.map((_, index) => parseSampling(perPrompt(body, 'sampling_params', index, isObject) ?? {}, ['max_new_tokens'], defaultNewTokens));
  const total = samplings.reduce((sum, sampling) => sum + sampling.copies, 0);
  const specs = prompts.flatMap((tokens, index) => {
    const sampling = samplings[index] ?? parseSampling({}, [], defaultNewTokens);
    if (tokens.length === 0) throw new RouterError('bad-request', 'input_ids cannot be empty.');
    const maxNewTokens = answerRoom(engine, tokens.length, sampling.maxNewTokens);
    const space = engine.options.wire.namespaces
      ? { salt: perPrompt(body, 'cache_salt', index, isString), extraKey: perPrompt(body, 'extra_key', index, isString) }
      : { salt: null, extraKey: null };
    return Array.from({ length: sampling.copies }, (_, copy) => ({
      rid: ridOf(body, index * sampling.copies + copy, { total }),
      tokens,
      maxNewTokens,
      sampling,
      space,
      sessionId: optionalString(body, 'session_id'),
      rank: engine.rankFor(rank),
    }));
  });
  return { specs, batch: batch || total > 1, returnPromptTokens: body['return_prompt_token_ids'] === true };
}
