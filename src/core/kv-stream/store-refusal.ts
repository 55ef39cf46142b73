import type { StoredEvent } from './page-presence.ts';

/** Why a stored event is not followed. */
export type StoreRefusal = 'own-parent' | 'page-size' | 'token-count' | 'tokens-not-in-pairs' | 'tokens-in-pairs' | 'other-parent';

/** What is wrong with a stored event by itself; null where nothing is. */
export function storeRefusal(event: StoredEvent, expected: { readonly pageSize: number; readonly bigram: boolean }): StoreRefusal | null {
  if (event.parent !== null && event.hashes.includes(event.parent)) return 'own-parent';
  if (event.bigram !== expected.bigram) return event.bigram ? 'tokens-in-pairs' : 'tokens-not-in-pairs';
  if (event.pageSize !== expected.pageSize) return 'page-size';
  const tokens = event.hashes.length * event.pageSize * (event.bigram ? 2 : 1);
  const mayListFewer = event.group !== null && event.group.slidingWindow !== null;
  if (event.tokens.length === tokens || (mayListFewer && event.tokens.length > tokens)) return null;
  return 'token-count';
}
