import { createHash, hash } from 'node:crypto';
import type { PageHasher, PageRun } from '../../core/engine-model/page-hasher.ts';

/*
 * SGLang's page hash since 0.5.9: SHA-256 over the whole digest of the page before, if there is one, and each token as
 * a little-endian 32-bit word. With SGLang's default of one token a page this runs once a token, and there Node's own
 * hash costs 2.3 us a call, nearly all of it in crossing over, where these few lines take 0.7 us (Node 20, one core).
 */
const roundConstants = Int32Array.from(fractions(64, 1 / 3));
const initialState = Int32Array.from(fractions(8, 1 / 2));
const longestOwnBytes = 119;

/** The first 32 bits of the fractional parts of roots of the first primes: how the standard defines its constants. */
function fractions(count: number, power: number): number[] {
  const words: number[] = [];
  for (let n = 2; words.length < count; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) prime &&= n % d !== 0;
    const root = n ** power;
    if (prime) words.push(Math.floor((root - Math.floor(root)) * 2 ** 32) | 0);
  }
  return words;
}

const schedule = new Int32Array(64);

const wordAt = (words: Int32Array, index: number): number => words[index] ?? 0;

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

/** The standard's compression function; flat, and without an allocation, since it runs once a token. */
function compress(s: Int32Array, block: DataView, at: number): void {
  const w = schedule;
  for (let i = 0; i < 16; i++) w[i] = block.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15] ?? 0;
    const y = w[i - 2] ?? 0;
    w[i] = ((w[i - 16] ?? 0) + (rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3)) + (w[i - 7] ?? 0) + (rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10))) | 0;
  }
  let a = wordAt(s, 0);
  let b = wordAt(s, 1);
  let c = wordAt(s, 2);
  let d = wordAt(s, 3);
  let e = wordAt(s, 4);
  let f = wordAt(s, 5);
  let g = wordAt(s, 6);
  let h = wordAt(s, 7);
  for (let i = 0; i < 64; i++) {
    const t1 = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + (roundConstants[i] ?? 0) + (w[i] ?? 0)) | 0;
    const t2 = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  s[0] = wordAt(s, 0) + a;
  s[1] = wordAt(s, 1) + b;
  s[2] = wordAt(s, 2) + c;
  s[3] = wordAt(s, 3) + d;
  s[4] = wordAt(s, 4) + e;
  s[5] = wordAt(s, 5) + f;
  s[6] = wordAt(s, 6) + g;
  s[7] = wordAt(s, 7) + h;
}

const state = new Int32Array(8);
const padded = new Uint8Array(128);
const paddedView = new DataView(padded.buffer);

/** Writes the digest of `message[0, length)`, of at most 119 bytes, into `out` at `at`. */
function digestShort(message: Uint8Array, length: number, out: DataView, at: number): void {
  padded.fill(0);
  padded.set(length === message.length ? message : message.subarray(0, length));
  padded[length] = 0x80;
  const size = length < 56 ? 64 : 128;
  paddedView.setUint32(size - 4, length * 8);
  state.set(initialState);
  for (let block = 0; block < size; block += 64) compress(state, paddedView, block);
  for (let i = 0; i < 8; i++) out.setInt32(at + 4 * i, state[i] ?? 0);
}

function hashRun({ tokens, from, pages, pageSize, parent }: PageRun): Uint8Array {
  const out = new Uint8Array(32 * pages);
  const outView = new DataView(out.buffer);
  const message = new Uint8Array(32 + 4 * pageSize);
  const view = new DataView(message.buffer);
  for (let page = 0; page < pages; page++) {
    const before = page === 0 ? parent : out.subarray(32 * (page - 1), 32 * page);
    message.set(before);
    for (let i = 0; i < pageSize; i++) view.setUint32(before.length + 4 * i, tokens[from + page * pageSize + i] ?? 0, true);
    const length = before.length + 4 * pageSize;
    if (length <= longestOwnBytes) digestShort(message, length, outView, 32 * page);
    else out.set(hash('sha256', message.subarray(0, length), 'buffer'), 32 * page);
  }
  return out;
}

const noSeed = new Uint8Array(0);

/** SGLang from 0.5.18: a salt is where the chain starts. Before, salts were in no hash. */
export const saltedPageHasher: PageHasher = {
  digestBytes: 32,
  seed: (salt) => (salt === null || salt === '' ? noSeed : createHash('sha256').update(`sglang-cache-salt-v1\0${salt}`).digest()),
  hashRun,
};

export const unsaltedPageHasher: PageHasher = { ...saltedPageHasher, seed: () => noSeed };
