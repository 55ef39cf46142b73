import { decode } from '@msgpack/msgpack';
import type { EngineBatch, EngineEvent } from '../../core/kv-stream/engine-event.ts';
import { isSoundMsgpack } from './check-msgpack.ts';
import { isFields } from './event-fields.ts';
import { readEvent } from './read-event.ts';
import { UnreadableEvent } from './read-values.ts';

/** What a message with a sequence number says when its payload can't be read at all: it counts, and it says nothing. */
export const unreadableBatch = 'unreadable-batch';

/**
 * One message of an engine's event socket, in any form of any release of SGLang and vLLM: events as arrays or as maps,
 * in a batch that is an array or a map. Never throws: what can't be read is counted in `invalid` by its reason, and the
 * rest of the batch stands.
 */
export function decodeBatch(payload: Uint8Array, seq: number): EngineBatch {
  const body = readBody(payload);
  if (body === null) return { seq, rank: null, events: [], invalid: [unreadableBatch] };
  const events: EngineEvent[] = [];
  const invalid: string[] = [];
  for (const value of body.events) {
    const reading = tryRead(value);
    if (reading.event !== null) events.push(reading.event);
    if (reading.leftOut !== null) invalid.push(reading.leftOut);
  }
  const batch = { seq, rank: body.rank, events, invalid };
  return body.events.some(namesNoTier) ? { ...batch, withoutTiers: true } : batch;
}

function tryRead(value: unknown): ReturnType<typeof readEvent> {
  try {
    return readEvent(value);
  } catch (error) {
    if (error instanceof UnreadableEvent) return { event: null, leftOut: error.reason };
    throw error;
  }
}

/** The array that SGLang 0.4.7 to 0.5.5 send: it ends before the tier. */
const namesNoTier = (event: unknown): boolean => Array.isArray(event) && event[0] === 'BlockStored' && event.length <= 6;

interface BatchBody {
  readonly events: readonly unknown[];
  readonly rank: number | null;
}

const rankFields = ['data_parallel_rank', 'attn_dp_rank', 'dp_rank', 'rank'];

function readBody(payload: Uint8Array): BatchBody | null {
  const value = decodeMsgpack(payload);
  if (Array.isArray(value)) {
    const [, events, rank] = value as readonly unknown[];
    return Array.isArray(events) ? { events, rank: rankOf(rank) } : null;
  }
  if (!isFields(value) || !Array.isArray(value['events'])) return null;
  const rank = rankFields.map((name) => value[name]).find((found) => found !== undefined && found !== null);
  return { events: value['events'] as readonly unknown[], rank: rankOf(rank) };
}

const rankOf = (value: unknown): number | null => (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 65_535 ? value : null);

/** 64-bit integers as bigint: a hash read as a double would lose its last digits. Undefined where it is not msgpack. */
function decodeMsgpack(payload: Uint8Array): unknown {
  if (!isSoundMsgpack(payload)) return undefined;
  try {
    return decode(payload, { useBigInt64: true });
  } catch {
    // What passes the check and still does not decode (a map's key that is no string, say) is counted by the caller.
    return undefined;
  }
}
