import type { TraceRequest } from './trace.ts';
import type { TraceRecord } from './trace-fields.ts';
import { badTrace, blockIdsOf, isObject, numberOf, recordOf, textOf, tokensOf } from './trace-fields.ts';

/** One `request_end` of Dynamo's request trace, with the block size that it was hashed with. */
export interface DynamoRequest {
  readonly blockTokens: number;
  readonly request: TraceRequest;
}

/** Sinks may wrap each record as `{timestamp, event}`. */
const unwrapDynamo = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  isObject(fields['event']) ? fields['event'] : fields;

export const isDynamo = (fields: Readonly<Record<string, unknown>>): boolean => {
  const { schema } = unwrapDynamo(fields);
  return typeof schema === 'string' && schema.startsWith('dynamo.request.trace.');
};

/**
 * A record of `dynamo.request.trace.v1`: `request_received_ms`, `output_tokens`, and under `replay` the block size, the
 * prompt's length and its rolling 64-bit hashes. Null for tool and payload records. Times are as recorded, not yet from 0.
 */
export function parseDynamoRecord(record: TraceRecord): DynamoRequest | null {
  const event: TraceRecord = { where: record.where, fields: unwrapDynamo(record.fields) };
  if (event.fields['event_type'] !== 'request_end') return null;
  const request = recordOf(event.fields['request'], `${record.where}, request`);
  if (!isObject(request.fields['replay'])) throw badTrace(record.where, 'has no request.replay: record the trace with replay metadata (request_end records)');
  const replay = recordOf(request.fields['replay'], `${record.where}, request.replay`);
  const context: TraceRecord = { where: record.where, fields: isObject(event.fields['agent_context']) ? event.fields['agent_context'] : {} };
  const blockTokens = tokensOf(replay, 'trace_block_size', 1);
  const promptTokens = tokensOf(replay, 'input_length', 1);
  return {
    blockTokens,
    request: {
      atMs: 'request_received_ms' in request.fields ? numberOf(request, 'request_received_ms', 0) : numberOf(event, 'event_time_unix_ms', 0),
      session: textOf(context, 'session_id'),
      parent: textOf(context, 'parent_session_id'),
      promptTokens,
      outputTokens: tokensOf(request, 'output_tokens', 0),
      blockIds: blockIdsOf(replay, 'input_sequence_hashes', { promptTokens, blockTokens }),
    },
  };
}

/** Whole numbers of 16 digits and more in text marks: `JSON.parse` would merge those that differ in their last digits only. */
export const quoteLongNumbers = (line: string): string => line.replace(/([[,:]\s*)(-?\d{16,})(?=\s*[,\]}])/g, '$1"$2"');
