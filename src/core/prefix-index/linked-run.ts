import type { SequenceHashes } from '../identity/sequence-hash.ts';
import { lastLinked, linkedAt } from './block-slots.ts';

/**
 * The last place in an extent that the chain reaches in a row: hash `at` is at place `first`, and the places behind
 * are asked for the hashes behind. One compare where the whole row is the chain's: an equal hash says that all before
 * it in the row are equal.
 */
export function lastMatching(chunk: Int32Array, base: number, first: number, hashes: SequenceHashes, at: number): number {
  const inRow = lastLinked(chunk[base + linkedAt] ?? 0, first);
  const asked = first + (hashes.length >> 1) - at - 1;
  const last = asked < inRow ? asked : inRow;
  const shift = 2 * (at - first);
  if (chunk[base + 2 * last] === hashes[shift + 2 * last] && chunk[base + 2 * last + 1] === hashes[shift + 2 * last + 1]) return last;
  let place = first;
  while (chunk[base + 2 * place + 2] === hashes[shift + 2 * place + 2] && chunk[base + 2 * place + 3] === hashes[shift + 2 * place + 3]) place++;
  return place;
}
