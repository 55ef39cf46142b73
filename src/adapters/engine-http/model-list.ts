import type { JsonObject } from './json-fields.ts';
import { countIn, objectsIn, textIn } from './json-fields.ts';

/** The ids of `/v1/models`: the served name first, then adapters. `fallback` where the list is empty. */
export function modelNamesOf(models: JsonObject, fallback: string | null): readonly string[] {
  const ids = objectsIn(models, 'data').flatMap((model) => textIn(model, 'id') ?? []);
  return ids.length > 0 || fallback === null ? ids : [fallback];
}

/** Tokens, as the first model of the list says; null where it does not. */
export function contextLengthOf(models: JsonObject): number | null {
  const [first] = objectsIn(models, 'data');
  return first === undefined ? null : countIn(first, 'max_model_len');
}
