import { RouterError } from '../../../core/router-error.ts';
import type { SequenceHashes } from '../../../core/identity/sequence-hash.ts';

const bytesPerHash = 8;

/** Eight bytes a hash, low word first, each little-endian, as the words lie in memory; not copied. */
export const bytesOfHashes = (hashes: SequenceHashes): Uint8Array => new Uint8Array(hashes.buffer, hashes.byteOffset, hashes.byteLength);

/** On memory of its own, since a message's bytes may start anywhere. Throws `bad-request` for half hashes. */
export function hashesOfBytes(bytes: Uint8Array, what: string): SequenceHashes {
  if (bytes.length % bytesPerHash !== 0) throw new RouterError('bad-request', `${what}: ${bytes.length} bytes are no hashes of ${bytesPerHash}`);
  const words = new Int32Array(bytes.length / 4);
  new Uint8Array(words.buffer).set(bytes);
  return words as SequenceHashes;
}
