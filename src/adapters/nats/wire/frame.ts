import { encode } from '@msgpack/msgpack';
import { RouterError } from '../../../core/router-error.ts';
import { assertNever } from '../../../core/assert-never.ts';
import { parseErrorCode } from './error-code.ts';
import { msgpackFields } from './fields.ts';
import { decodeHeaders, type HttpHeaders } from './headers.ts';

/**
 * One message of an answer. On the wire: one byte of type, the sequence as u32 big-endian, the payload. A heartbeat is
 * not counted: its `seq` is that of the frame to come. A probe is a heartbeat that wants to hear how much was consumed.
 */
export type Frame =
  | { readonly kind: 'head'; readonly seq: number; readonly status: number; readonly headers: HttpHeaders }
  | { readonly kind: 'data'; readonly seq: number; readonly bytes: Uint8Array }
  | { readonly kind: 'heartbeat'; readonly seq: number }
  | { readonly kind: 'probe'; readonly seq: number }
  | { readonly kind: 'end'; readonly seq: number }
  | { readonly kind: 'error'; readonly seq: number; readonly error: RouterError };

const types = { head: 1, data: 2, heartbeat: 3, end: 4, error: 5, probe: 6 } satisfies Record<Frame['kind'], number>;
export const frameOverheadBytes = 5;
const nothing = new Uint8Array(0);

export function encodeFrame(frame: Frame): Uint8Array {
  const payload = payloadOf(frame);
  const bytes = new Uint8Array(frameOverheadBytes + payload.length);
  bytes[0] = types[frame.kind];
  new DataView(bytes.buffer).setUint32(1, frame.seq);
  bytes.set(payload, frameOverheadBytes);
  return bytes;
}

function payloadOf(frame: Frame): Uint8Array {
  switch (frame.kind) {
    case 'head':
      return encode({ v: 1, status: frame.status, headers: frame.headers });
    case 'data':
      return frame.bytes;
    case 'heartbeat':
    case 'probe':
    case 'end':
      return nothing;
    case 'error':
      return encode({ v: 1, code: frame.error.code, message: frame.error.message });
    default:
      return assertNever(frame, 'frame');
  }
}

/** Throws `bad-request` for anything that is no frame. The bytes of a data frame are on the message's memory. */
export function decodeFrame(data: Uint8Array): Frame {
  if (data.length < frameOverheadBytes) throw new RouterError('bad-request', `frame: ${data.length} bytes are too few`);
  const seq = new DataView(data.buffer, data.byteOffset).getUint32(1);
  const payload = data.subarray(frameOverheadBytes);
  switch (data[0]) {
    case types.head:
      return decodeHead(seq, payload);
    case types.data:
      return { kind: 'data', seq, bytes: payload };
    case types.heartbeat:
      return { kind: 'heartbeat', seq };
    case types.probe:
      return { kind: 'probe', seq };
    case types.end:
      return { kind: 'end', seq };
    case types.error:
      return decodeError(seq, payload);
    default:
      throw new RouterError('bad-request', `frame: type ${data[0] ?? 'none'} is unknown`);
  }
}

function decodeHead(seq: number, payload: Uint8Array): Frame {
  const fields = msgpackFields(payload, 'head frame');
  const status = fields.whole('status', 100);
  if (status > 599) fields.refuse('status', 'HTTP status');
  return { kind: 'head', seq, status, headers: decodeHeaders(fields.list('headers'), 'head frame') };
}

function decodeError(seq: number, payload: Uint8Array): Frame {
  const fields = msgpackFields(payload, 'error frame');
  return { kind: 'error', seq, error: new RouterError(parseErrorCode(fields.text('code')), fields.text('message')) };
}
