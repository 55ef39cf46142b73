import type { TraceRequest } from './trace.ts';
import type { TraceRecord } from './trace-fields.ts';
import { blockIdsOf, numberOf, textOf, tokensOf } from './trace-fields.ts';

/** What one id stands for in Mooncake's published traces. */
export const mooncakeBlockTokens = 512;

export const isMooncake = (fields: Readonly<Record<string, unknown>>): boolean => 'input_length' in fields && 'hash_ids' in fields;

/** A row of a Mooncake trace: `timestamp` in ms, lengths in tokens, the last id for a begun block. Sessions are an extension that others write. */
export function parseMooncakeRow(record: TraceRecord, blockTokens: number): TraceRequest {
  const promptTokens = tokensOf(record, 'input_length', 1);
  return {
    atMs: numberOf(record, 'timestamp', 0),
    session: textOf(record, 'session_id'),
    parent: textOf(record, 'parent_session_id'),
    promptTokens,
    outputTokens: tokensOf(record, 'output_length', 0),
    blockIds: blockIdsOf(record, 'hash_ids', { promptTokens, blockTokens }),
  };
}
