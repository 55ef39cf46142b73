/** Keys in their order and the types of their values; lists by their first item. */
export type JsonShape = string | readonly JsonShape[] | readonly (readonly [string, JsonShape])[];

/** Null or an object, as the cache happens to be warm: compared elsewhere. */
const eitherWay = new Set(['cached_tokens_details', 'matched_stop', 'matched']);

export function jsonShape(value: unknown): JsonShape {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? [] : [jsonShape(value[0])];
  if (typeof value !== 'object') return typeof value;
  return Object.entries(value).map(([key, inner]) => [key, eitherWay.has(key) ? 'any' : jsonShape(inner)] as const);
}

/** The shapes of a stream's events, repeated ones once, with its end marker. */
export function streamShape(text: string): JsonShape[] {
  const shapes = text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => event.replace(/^data: /, ''))
    .map((data) => (data === '[DONE]' ? data : jsonShape(JSON.parse(data))));
  return shapes.filter((shape, index) => JSON.stringify(shape) !== JSON.stringify(shapes[index - 1]));
}
