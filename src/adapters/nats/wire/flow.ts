import { RouterError } from '../../../core/router-error.ts';

/** What a router says to a running request: how much of its body was consumed in all, or that it is over. */
export type Flow = { readonly kind: 'consumed'; readonly totalBytes: number } | { readonly kind: 'cancel' };

const types = { consumed: 1, cancel: 2 } satisfies Record<Flow['kind'], number>;
const consumedBytes = 9;

/** One byte of type; for `consumed` the total as u64 big-endian: a total, so that a lost message costs nothing. */
export function encodeFlow(flow: Flow): Uint8Array {
  if (flow.kind === 'cancel') return Uint8Array.of(types.cancel);
  const bytes = new Uint8Array(consumedBytes);
  bytes[0] = types.consumed;
  new DataView(bytes.buffer).setBigUint64(1, BigInt(flow.totalBytes));
  return bytes;
}

export function decodeFlow(data: Uint8Array): Flow {
  if (data[0] === types.cancel && data.length === 1) return { kind: 'cancel' };
  if (data[0] === types.consumed && data.length === consumedBytes) {
    const totalBytes = Number(new DataView(data.buffer, data.byteOffset).getBigUint64(1));
    if (Number.isSafeInteger(totalBytes)) return { kind: 'consumed', totalBytes };
  }
  throw new RouterError('bad-request', `flow message of ${data.length} bytes is not understood`);
}
