import type { Isolation } from '../../core/identity/chain-seed.ts';
import { mergedSalt } from '../../core/identity/merged-salt.ts';

export interface IsolatingEngine {
  readonly kind: 'sglang' | 'vllm';
  readonly models: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

const textOrNull = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** What keeps this request's KV apart; null where it is given as lists, one for each of several prompts. */
export function isolationOfRequest(fields: Fields, { kind, models }: IsolatingEngine): Isolation | null {
  const given = [fields['lora_path'], fields['cache_salt'], fields['extra_key']];
  if (given.some((value) => (value ?? null) !== null && typeof value !== 'string')) return null;
  const salt = textOrNull(fields['cache_salt']);
  // The agent sends an extra key on as part of the salt: events name no extra key.
  const merged = kind === 'sglang' ? mergedSalt(salt, textOrNull(fields['extra_key'])) : salt;
  return { lora: textOrNull(fields['lora_path']) ?? adapterOf(fields['model'], models), salt: merged };
}

/** `model:adapter`, unless that is a model's own name. */
function adapterOf(model: unknown, models: readonly string[]): string | null {
  if (typeof model !== 'string' || models.includes(model)) return null;
  const colon = model.indexOf(':');
  return colon < 0 ? null : textOrNull(model.slice(colon + 1));
}
