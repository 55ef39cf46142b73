import { encode } from '@msgpack/msgpack';
import { assertNever } from '../../../core/assert-never.ts';
import { parseDpRank, type DpRank } from '../../../core/identity/ids.ts';
import { msgpackFields } from './fields.ts';

/** What can be asked of an agent. The answer is data frames and an end, or an error frame. */
export type ControlMessage =
  | { readonly op: 'snapshot'; readonly rank: DpRank }
  | { readonly op: 'tokenize'; readonly body: Uint8Array }
  | { readonly op: 'drain'; readonly draining: boolean };

export const encodeControl = (message: ControlMessage): Uint8Array => encode({ v: 1, ...message });

export function decodeControl(data: Uint8Array): ControlMessage {
  const fields = msgpackFields(data, 'control message');
  fields.version(1);
  const op = fields.oneOf('op', ['snapshot', 'tokenize', 'drain']);
  switch (op) {
    case 'snapshot':
      return { op, rank: parseDpRank(fields.whole('rank')) };
    case 'tokenize':
      return { op, body: fields.bytes('body') };
    case 'drain':
      return { op, draining: fields.flag('draining') };
    default:
      return assertNever(op, 'control message');
  }
}
