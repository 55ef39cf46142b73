import type { IsolationPart } from '../core/identity/registration.ts';

type Fields = Readonly<Record<string, unknown>>;

const isGiven = (value: unknown): boolean => (value ?? '') !== '';

/** By what a request's KV is kept apart from that of equal tokens. An empty text is none, as the engines have it. */
export function partsKeptApartBy(fields: Fields, models: readonly string[]): readonly IsolationPart[] {
  const parts: IsolationPart[] = [];
  if (isGiven(fields['cache_salt'])) parts.push('salt');
  if (isGiven(fields['extra_key'])) parts.push('extra-key');
  if (isGiven(fields['lora_path']) || namesAdapter(fields['model'], models)) parts.push('lora');
  return parts;
}

/** `model:adapter`, unless that is a model's own name. */
const namesAdapter = (model: unknown, models: readonly string[]): boolean => typeof model === 'string' && model.includes(':') && !models.includes(model);
