import { RouterError } from '../../core/router-error.ts';
import { optionalNumber, stringList, wrongType, type JsonObject } from './json-fields.ts';

/** What of a request's sampling the simulated model heeds. */
export interface Sampling {
  /** Null: as many as fit. */
  readonly maxNewTokens: number | null;
  readonly ignoreEnd: boolean;
  readonly stopTokens: ReadonlySet<number>;
  readonly stopTexts: readonly string[];
  readonly copies: number;
}

const mostCopies = 128;

function stopTokensOf(params: JsonObject): ReadonlySet<number> {
  const value = params['stop_token_ids'];
  if (value === undefined || value === null) return new Set();
  if (!Array.isArray(value) || !value.every((id) => typeof id === 'number')) throw wrongType('stop_token_ids', 'list or null', value);
  return new Set(value);
}

/** `params` is `/generate`'s `sampling_params` or an OpenAI body; `limitField` says how this one names its limit. */
export function parseSampling(params: JsonObject, limitFields: readonly string[], defaultLimit: number | null): Sampling {
  const temperature = optionalNumber(params, 'temperature') ?? 1;
  if (!(temperature >= 0)) throw new RouterError('bad-request', `temperature must be a non-negative finite number, got ${temperature}.`);
  const named = limitFields.find((field) => params[field] !== undefined);
  const maxNewTokens = named === undefined ? defaultLimit : optionalNumber(params, named);
  if (maxNewTokens !== null && maxNewTokens < 0) throw new RouterError('bad-request', `max_new_tokens must be at least 0, got ${maxNewTokens}.`);
  const copies = optionalNumber(params, 'n') ?? 1;
  if (!Number.isInteger(copies) || copies < 1 || copies > mostCopies) throw new RouterError('bad-request', `n must be from 1 to ${mostCopies}, got ${copies}.`);
  return { maxNewTokens, ignoreEnd: params['ignore_eos'] === true, stopTokens: stopTokensOf(params), stopTexts: stringList(params, 'stop'), copies };
}
