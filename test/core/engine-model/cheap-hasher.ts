import type { PageHasher } from '../../../src/core/engine-model/page-hasher.ts';

/** Eight bytes a page, chained: enough to tell pages of a test apart. */
export const cheapHasher: PageHasher = {
  digestBytes: 8,
  seed: (salt) => (salt === null || salt === '' ? new Uint8Array(0) : new TextEncoder().encode(salt)),
  hashRun({ tokens, from, pages, pageSize, parent }) {
    const out = new Uint8Array(8 * pages);
    for (let page = 0; page < pages; page++) {
      const at = from + page * pageSize;
      const before = page === 0 ? parent : out.subarray(8 * (page - 1), 8 * page);
      out.set(pageDigest([...before, -1, ...tokens.subarray(at, at + pageSize)]), 8 * page);
    }
    return out;
  },
};

function pageDigest(words: readonly number[]): Uint8Array {
  let low = 7;
  let high = 11;
  for (const word of words) {
    low = Math.imul(low ^ word, 0x01000193) + 1;
    high = Math.imul(high + word + 3, 0xc2b2ae35) ^ (low >>> 7);
  }
  return new Uint8Array(Int32Array.of(low, high).buffer);
}

/** Digests as text, one a page. */
export function digestNames(digests: Uint8Array, digestBytes = 8): string[] {
  return Array.from({ length: digests.length / digestBytes }, (_, page) => Buffer.from(digests.subarray(page * digestBytes, (page + 1) * digestBytes)).toString('hex'));
}
