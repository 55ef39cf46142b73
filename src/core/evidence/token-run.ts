import { seededRandom } from './seeded-random.ts';

// Every model that we know has more tokens than this, and the first hundred are where the special ones live.
const firstToken = 100;
const tokenLimit = 30_000;

/** `length` token ids that are a function of `key` alone: equal keys give equal tokens, and a longer run starts with the shorter one. */
export function tokenRun(key: string, length: number): Int32Array {
  const random = seededRandom(key);
  return Int32Array.from({ length }, () => firstToken + Math.floor(random() * (tokenLimit - firstToken)));
}
