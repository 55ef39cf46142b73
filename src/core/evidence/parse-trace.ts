import type { Trace, TraceFormat, TraceRequest } from './trace.ts';
import { badTrace, parseJsonAt, recordOf } from './trace-fields.ts';
import { isClaudeCode, parseClaudeCode } from './parse-claude-code.ts';
import { isDynamo, parseDynamoRecord, quoteLongNumbers } from './parse-dynamo.ts';
import { isMooncake, mooncakeBlockTokens, parseMooncakeRow } from './parse-mooncake.ts';

interface Line {
  readonly where: string;
  readonly text: string;
}

/**
 * Reads a trace of any format that we know, told apart by its first record. Requests come out by arrival, from 0 ms.
 * Throws `bad-config` with the line, or the place in a tree, of what can't be read. `blockTokens` is for Mooncake rows
 * of other makers; the other formats name theirs.
 */
export function parseTrace(text: string, name: string, blockTokens: number = mooncakeBlockTokens): Trace {
  const lines = linesOf(text);
  const first = lines[0];
  if (first === undefined) throw badTrace(name, 'is empty');
  const whole = wholeTree(text, first);
  const trace = whole === null ? parseLines(lines, formatOf(first), { name, blockTokens }) : parseClaudeCode(recordOf(whole, 'tree'), name);
  if (trace.requests.length === 0) throw badTrace(name, 'holds no request');
  return { ...trace, requests: fromZero(trace.requests) };
}

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .map((line, index) => ({ where: `line ${index + 1}`, text: line.trim() }))
    .filter((line) => line.text !== '');

/** A Claude Code file is one JSON value, over one line or many; JSONL fails to parse as one from its second line on. */
function wholeTree(text: string, first: Line): unknown {
  const alone = parseOrNull(first.text) ?? parseOrNull(text);
  return isTree(alone) ? alone : null;
}

const isTree = (value: unknown): boolean => typeof value === 'object' && value !== null && isClaudeCode({ ...value });

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Only asks whether it is one value: what is wrong with a line is told by the parser of lines.
    return null;
  }
}

function formatOf(first: Line): Exclude<TraceFormat, 'claude-code'> {
  const { fields } = recordOf(parseJsonAt(first.text, first.where), first.where);
  if (isDynamo(fields)) return 'dynamo';
  if (isMooncake(fields)) return 'mooncake';
  throw badTrace(first.where, 'is of no known format: Mooncake rows have input_length and hash_ids, Claude Code trees block_size and requests, Dynamo records schema dynamo.request.trace.v1');
}

function parseLines(lines: readonly Line[], format: 'mooncake' | 'dynamo', about: { readonly name: string; readonly blockTokens: number }): Trace {
  if (format === 'dynamo') return parseDynamo(lines, about.name);
  const requests = lines.map((line) => parseMooncakeRow(recordOf(parseJsonAt(line.text, line.where), line.where), about.blockTokens));
  return { format, ...about, requests };
}

function parseDynamo(lines: readonly Line[], name: string): Trace {
  const found = lines.flatMap((line) => {
    const parsed = parseDynamoRecord(recordOf(parseJsonAt(quoteLongNumbers(line.text), line.where), line.where));
    return parsed === null ? [] : [{ ...parsed, where: line.where }];
  });
  const blockTokens = found[0]?.blockTokens ?? 0;
  const other = found.find((entry) => entry.blockTokens !== blockTokens);
  if (other !== undefined) throw badTrace(other.where, `has blocks of ${other.blockTokens} tokens, the trace began with ${blockTokens}`);
  return { format: 'dynamo', name, blockTokens, requests: found.map((entry) => entry.request) };
}

function fromZero(requests: readonly TraceRequest[]): TraceRequest[] {
  const sorted = [...requests].sort((a, b) => a.atMs - b.atMs);
  const startMs = sorted[0]?.atMs ?? 0;
  return sorted.map((request) => ({ ...request, atMs: request.atMs - startMs }));
}
