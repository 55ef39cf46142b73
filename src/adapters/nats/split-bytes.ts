/** A larger one would hold up all that the connection carries besides. */
const preferredFrameBytes = 256 * 1024;

/** Payload bytes of a data frame under the server's limit. */
export const largestFrameBytes = (maxPayload: number, overheadBytes: number): number => Math.min(preferredFrameBytes, maxPayload) - overheadBytes;

/** The pieces in order, on the same memory; none for nothing. */
export function* splitBytes(bytes: Uint8Array, pieceBytes: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}
