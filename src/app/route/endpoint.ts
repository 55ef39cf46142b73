/** The engines' endpoints whose requests are understood; whatever else is let through goes by load. */
export type Endpoint = 'chat' | 'completions' | 'embeddings' | 'generate' | 'other';

const endpoints: Readonly<Record<string, Endpoint>> = {
  '/v1/chat/completions': 'chat',
  '/v1/completions': 'completions',
  '/v1/embeddings': 'embeddings',
  '/generate': 'generate',
};

/** Of a path, with or without a query. */
export const endpointOf = (path: string): Endpoint => endpoints[path.split('?', 1)[0] ?? ''] ?? 'other';

type Fields = Readonly<Record<string, unknown>>;

const isList = (value: unknown): boolean => Array.isArray(value) && typeof value[0] !== 'number';

/** Several prompts, or several answers to one: the engine then wants a list of ids, or makes its own. */
export function isBatch(fields: Fields): boolean {
  const sampling = fields['sampling_params'];
  const answers = typeof sampling === 'object' && sampling !== null && 'n' in sampling ? sampling.n : fields['n'];
  if (Array.isArray(sampling) || (typeof answers === 'number' && answers > 1)) return true;
  return isList(fields['input_ids']) || Array.isArray(fields['text']) || isList(fields['prompt']);
}
