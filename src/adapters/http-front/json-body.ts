import { messageOf, RouterError } from '../../core/router-error.ts';
import { isNestedDeeper } from './json-depth.ts';

/** No request needs as many, and engines give up at about a thousand. */
const deepestNesting = 256;

export type JsonObject = Readonly<Record<string, unknown>>;

/** The body's fields. Throws `bad-json` without quoting the body: prompts are in no error. */
export function jsonObject(body: Uint8Array): JsonObject {
  const value = parsed(body);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.fromEntries(Object.entries(value));
  throw new RouterError('bad-json', 'the body must be a JSON object');
}

function parsed(body: Uint8Array): unknown {
  if (body.length === 0) throw new RouterError('bad-json', 'the body is empty: send a JSON object');
  if (isNestedDeeper(body, deepestNesting)) throw new RouterError('bad-json', `the body is nested deeper than ${deepestNesting} levels: send a flatter one`);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch (cause) {
    const place = /position \d+/.exec(messageOf(cause))?.[0];
    throw new RouterError('bad-json', `the body is no JSON${place === undefined ? '' : ` (at ${place})`}: send a JSON object in UTF-8`);
  }
}
