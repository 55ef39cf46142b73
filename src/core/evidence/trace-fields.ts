import { RouterError } from '../router-error.ts';

/** A JSON object of a trace, and where it stands: `line 7`, `request 3 of agent_001`. */
export interface TraceRecord {
  readonly where: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export const badTrace = (where: string, what: string): RouterError => new RouterError('bad-config', `trace ${where}: ${what}`);

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Throws `bad-config` with the place unless it is a JSON object. */
export function recordOf(value: unknown, where: string): TraceRecord {
  if (isObject(value)) return { where, fields: value };
  throw badTrace(where, 'is no JSON object');
}

export function parseJsonAt(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new RouterError('bad-config', `trace ${where}: is no JSON`, { cause });
  }
}

/** A field that must be a finite number of at least `min`. */
export function numberOf(record: TraceRecord, name: string, min: number): number {
  const value = record.fields[name];
  if (typeof value === 'number' && Number.isFinite(value) && value >= min) return value;
  throw badTrace(record.where, `${name} must be a number of at least ${min}, is ${JSON.stringify(value) ?? 'missing'}`);
}

/** A field that must be a whole number of tokens, of at least `min`. */
export function tokensOf(record: TraceRecord, name: string, min: number): number {
  const value = numberOf(record, name, min);
  if (Number.isInteger(value)) return value;
  throw badTrace(record.where, `${name} must be whole, is ${value}`);
}

/** A text field; absent, null and blank are null. */
export function textOf(record: TraceRecord, name: string): string | null {
  const value = record.fields[name];
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

export function listOf(record: TraceRecord, name: string): readonly unknown[] {
  const value = record.fields[name];
  if (Array.isArray(value)) return value;
  throw badTrace(record.where, `${name} must be a list, is ${JSON.stringify(value) ?? 'missing'}`);
}

/** Block ids as text, so that 64-bit ones stay apart; no more of them than the prompt has blocks, whole or begun. */
export function blockIdsOf(record: TraceRecord, name: string, shape: { readonly promptTokens: number; readonly blockTokens: number }): readonly string[] {
  const ids = listOf(record, name).map((id) => {
    if (typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id))) return String(id);
    throw badTrace(record.where, `${name} must hold whole numbers, holds ${JSON.stringify(id)}`);
  });
  const most = Math.ceil(shape.promptTokens / shape.blockTokens);
  if (ids.length <= most) return ids;
  throw badTrace(record.where, `${name} has ${ids.length} blocks, a prompt of ${shape.promptTokens} tokens has ${most} of ${shape.blockTokens}: is the trace's block size another one (--trace-block-size)?`);
}
