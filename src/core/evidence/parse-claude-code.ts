import type { Trace, TraceRequest } from './trace.ts';
import type { TraceRecord } from './trace-fields.ts';
import { blockIdsOf, listOf, numberOf, recordOf, textOf, tokensOf } from './trace-fields.ts';

export const isClaudeCode = (fields: Readonly<Record<string, unknown>>): boolean => Array.isArray(fields['requests']) && 'block_size' in fields;

interface Conversation {
  readonly session: string;
  readonly parent: string | null;
  /** When it began, in seconds after the trace. */
  readonly startS: number;
  readonly blockTokens: number;
}

/**
 * A recorded Claude Code tree: one root session, each subagent a session of its own whose parent is the one it is
 * nested in. Times are seconds; a nested request's counts from its subagent's entry. Ids name complete blocks only.
 */
export function parseClaudeCode(record: TraceRecord, name: string): Trace {
  const blockTokens = tokensOf(record, 'block_size', 1);
  const session = textOf(record, 'id') ?? name;
  const requests = conversation(record, { session, parent: null, startS: 0, blockTokens });
  return { format: 'claude-code', name, blockTokens, requests };
}

function conversation(record: TraceRecord, about: Conversation): TraceRequest[] {
  return listOf(record, 'requests').flatMap((value, index) => {
    const entry = recordOf(value, `request ${index + 1} of ${about.session}`);
    return textOf(entry, 'type') === 'subagent' ? subagent(entry, about, index) : [request(entry, about)];
  });
}

function subagent(entry: TraceRecord, about: Conversation, index: number): TraceRequest[] {
  const session = `${about.session}/${textOf(entry, 'agent_id') ?? `subagent-${index + 1}`}`;
  const startS = about.startS + numberOf(entry, 't', 0);
  return conversation(entry, { session, parent: about.session, startS, blockTokens: about.blockTokens });
}

function request(entry: TraceRecord, about: Conversation): TraceRequest {
  const promptTokens = tokensOf(entry, 'in', 1);
  return {
    atMs: (about.startS + numberOf(entry, 't', 0)) * 1_000,
    session: about.session,
    parent: about.parent,
    promptTokens,
    outputTokens: tokensOf(entry, 'out', 0),
    blockIds: blockIdsOf(entry, 'hash_ids', { promptTokens, blockTokens: about.blockTokens }),
  };
}
