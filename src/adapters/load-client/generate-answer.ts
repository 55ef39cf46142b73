import { isObject } from '../../core/evidence/trace-fields.ts';

/** What an engine's `/generate` said of one request. */
export interface GenerateAnswer {
  readonly promptTokens: number | null;
  readonly cachedTokens: number | null;
  readonly completionTokens: number | null;
  /** An error inside the answer, also of a stream with status 200. */
  readonly error: string | null;
}

export const noAnswer: GenerateAnswer = { promptTokens: null, cachedTokens: null, completionTokens: null, error: null };

const numberIn = (record: Readonly<Record<string, unknown>>, name: string): number | null => {
  const value = record[name];
  return typeof value === 'number' ? value : null;
};

/** Reads one event (or a whole JSON body) of `/generate`: the last one that has `meta_info` holds for the request. */
export function readAnswer(json: string): GenerateAnswer {
  const value = parse(json);
  if (!isObject(value)) return { ...noAnswer, error: `the answer is no JSON object: ${json.slice(0, 80)}` };
  if ('error' in value) return { ...noAnswer, error: errorText(value['error']) };
  const meta = isObject(value['meta_info']) ? value['meta_info'] : {};
  return {
    promptTokens: numberIn(meta, 'prompt_tokens'),
    cachedTokens: numberIn(meta, 'cached_tokens'),
    completionTokens: numberIn(meta, 'completion_tokens'),
    error: aborted(meta),
  };
}

/** The message of an error body, in any of the shapes that engines and routers use. */
export function errorText(error: unknown): string {
  if (typeof error === 'string') return error;
  if (isObject(error) && typeof error['message'] === 'string') {
    return typeof error['code'] === 'string' ? `${error['code']}: ${error['message']}` : error['message'];
  }
  return JSON.stringify(error) ?? 'unknown error';
}

function aborted(meta: Readonly<Record<string, unknown>>): string | null {
  const reason = meta['finish_reason'];
  return isObject(reason) && reason['type'] === 'abort' ? `aborted: ${errorText(reason['message'])}` : null;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // Told apart by the caller: what is no object is an error of the answer.
    return null;
  }
}
