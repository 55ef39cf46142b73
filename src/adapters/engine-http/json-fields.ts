export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object under `key`; an empty one where there is none, so that a missing block reads as missing fields. */
export function objectIn(fields: JsonObject, key: string): JsonObject {
  const value = fields[key];
  return isJsonObject(value) ? value : {};
}

/** A finite number that is not negative; null for anything else: what an engine does not say is not 0. */
export function countIn(fields: JsonObject, key: string): number | null {
  const value = fields[key];
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/** A string that is not empty, or null. */
export function textIn(fields: JsonObject, key: string): string | null {
  const value = fields[key];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The objects of the array under `key`; what is no object is left out. */
export function objectsIn(fields: JsonObject, key: string): readonly JsonObject[] {
  const value = fields[key];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** An object from JSON text; null where it is no JSON or no object. */
export function parseJsonObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    // Not JSON is an answer of its own here; the caller says what was asked and what came.
    return null;
  }
}
