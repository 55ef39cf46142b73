/** What an engine says of one request's tokens; null where it does not say. */
export interface Usage {
  readonly promptTokens: number | null;
  readonly cachedTokens: number | null;
  readonly completionTokens: number | null;
}

export const noUsage: Usage = { promptTokens: null, cachedTokens: null, completionTokens: null };

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const count = (fields: Fields, name: string): number | null => {
  const value = fields[name];
  return typeof value === 'number' ? value : null;
};

/** Of a whole answer, or of one event of a stream: `/generate` has `meta_info`, OpenAI's endpoints `usage`. */
export function usageIn(value: unknown): Usage {
  if (Array.isArray(value)) return value.map(usageIn).reduce(added, { promptTokens: 0, cachedTokens: 0, completionTokens: 0 });
  if (!isObject(value)) return noUsage;
  const meta = value['meta_info'];
  if (isObject(meta)) return { promptTokens: count(meta, 'prompt_tokens'), cachedTokens: count(meta, 'cached_tokens'), completionTokens: count(meta, 'completion_tokens') };
  const usage = value['usage'];
  if (!isObject(usage)) return noUsage;
  const details = usage['prompt_tokens_details'];
  return { promptTokens: count(usage, 'prompt_tokens'), cachedTokens: isObject(details) ? count(details, 'cached_tokens') : null, completionTokens: count(usage, 'completion_tokens') };
}

/** One that is not known leaves the sum unknown. */
const plus = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a + b);

const added = (a: Usage, b: Usage): Usage => ({
  promptTokens: plus(a.promptTokens, b.promptTokens),
  cachedTokens: plus(a.cachedTokens, b.cachedTokens),
  completionTokens: plus(a.completionTokens, b.completionTokens),
});

export function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // An answer that can't be read has no usage; it reaches the client as it is.
    return null;
  }
}
