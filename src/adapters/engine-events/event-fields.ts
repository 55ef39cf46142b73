/** An event's fields by the names that the newest wire gives them; absent and nil are the same. */
export type EventFields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is EventFields => typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);

/*
 * The order of array events. SGLang 0.4.7 to 0.5.19 and vLLM until 2026 share it as far as `medium`; then SGLang has a
 * map of named fields (0.5.18, 0.5.19) where vLLM goes on with single ones.
 */
const arrayFields: Readonly<Record<string, readonly string[]>> = {
  BlockStored: ['block_hashes', 'parent_block_hash', 'token_ids', 'block_size', 'lora_id', 'medium', 'lora_name', 'extra_keys', 'group_idx', 'kv_cache_spec_kind', 'kv_cache_spec_sliding_window'],
  BlockRemoved: ['block_hashes', 'medium', 'group_idx'],
  AllBlocksCleared: [],
};

/** The fields of an event as it stands on the wire, map or array; null for anything else. Fields we don't know are left. */
export function eventFields(event: unknown): EventFields | null {
  if (!Array.isArray(event)) return isFields(event) ? event : null;
  const [type, ...values] = event as readonly unknown[];
  if (typeof type !== 'string') return null;
  const named: Record<string, unknown> = { type };
  (arrayFields[type] ?? []).forEach((name, place) => {
    const value = values[place];
    if (isFields(value)) Object.assign(named, value);
    else named[name] = value;
  });
  return { ...named, type };
}
