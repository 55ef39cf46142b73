import type { RankId } from '../identity/ids.ts';
import { rankKey } from '../identity/ids.ts';

/**
 * The rank that a key belongs to among some: each rank's hash with the key is its bid, the highest wins. Everyone who
 * knows the same ranks, in any order, names the same one, and a rank that goes moves only the keys it had.
 */
export function rendezvous<T>(key: string, ranks: readonly [T, ...T[]], idOf: (rank: T) => RankId): T {
  const start = hashText(key, offsetBasis);
  return ranks.reduce((best, rank) => (bidsHigher(start, idOf(rank), idOf(best)) ? rank : best));
}

function bidsHigher(start: number, id: RankId, best: RankId): boolean {
  const difference = bidOf(start, id) - bidOf(start, best);
  return difference > 0 || (difference === 0 && rankKey(id) < rankKey(best));
}

const offsetBasis = 0x811c9dc5 | 0;

const bidOf = (start: number, id: RankId): number => scramble(hashText(rankKey(id), start)) >>> 0;

/** FNV-1a over UTF-16 code units, going on from `hash`. */
function hashText(text: string, hash: number): number {
  let h = hash;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h;
}

/** FNV alone leaves names that differ in their last digit close together; this spreads every bit over all. */
function scramble(word: number): number {
  let h = word ^ (word >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}
