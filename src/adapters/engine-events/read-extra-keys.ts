import { isAbsent, readName, UnreadableEvent } from './read-values.ts';

export interface ExtraKeys {
  /** Named at the first page of a prompt only; the pages after it belong to it by their parent. */
  readonly salt: string | null;
  /** Leading pages whose keys we understand. */
  readonly readable: number;
}

/**
 * vLLM's `extra_keys`: for each page nil, or the adapter's name (on every page) and the cache salt (on the prompt's
 * first page only). Anything else, such as the hash of an image, makes a page that no prompt of plain tokens can have:
 * it and those after it are left out, and what hangs on them is never credited.
 */
export function readExtraKeys(value: unknown, page: { readonly lora: string | null; readonly startsPrompt: boolean; readonly pages: number }): ExtraKeys {
  if (isAbsent(value)) return { salt: null, readable: page.pages };
  if (!Array.isArray(value)) throw new UnreadableEvent('bad-extra-keys');
  let salt: string | null = null;
  for (const [index, keys] of (value as readonly unknown[]).slice(0, page.pages).entries()) {
    const rest = withoutLora(keys, page.lora);
    if (rest.length === 0) continue;
    const [first] = rest;
    if (index > 0 || !page.startsPrompt || rest.length > 1 || typeof first !== 'string') return { salt, readable: index };
    salt = readName(first, 'bad-salt');
  }
  return { salt, readable: page.pages };
}

function withoutLora(keys: unknown, lora: string | null): readonly unknown[] {
  if (isAbsent(keys)) return [];
  const list: readonly unknown[] = Array.isArray(keys) ? (keys as readonly unknown[]) : [keys];
  return lora !== null && list[0] === lora ? list.slice(1) : list;
}
