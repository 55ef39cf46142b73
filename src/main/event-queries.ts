import { isObject } from '../core/evidence/trace-fields.ts';
import { RouterError } from '../core/router-error.ts';
import type { EventQuery } from '../app/event-query.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a file of queries leaves open. */
interface Source {
  /** The SGLang release that was recorded; null: none, or not said. */
  readonly sglang: string | null;
  /** Of the queries that name no rank. */
  readonly rank: number | null;
  /** Recordings of vLLM give the engine's answer in blocks of this many tokens. */
  readonly engineBlockSize: number | null;
  /** The model without an adapter; null: adapters are named by `lora`. */
  readonly baseModel: string | null;
}

const noSource: Source = { sglang: null, rank: null, engineBlockSize: null, baseModel: null };

/**
 * Reads queries: a list of `{tokens, rank?, salt?, lora?}`, a recording's `*.expected.json`, or a recorded server's
 * `kv.requests.jsonl` (each is then asked when it was sent). `sglang`: the release of such a server, where known.
 * Throws `bad-json`.
 */
export function parseEventQueries(text: string, sglang: string | null = null): EventQuery[] {
  const value = tryParse(text);
  if (Array.isArray(value)) return value.map((query) => toQuery(query, noSource));
  if (isObject(value) && Array.isArray(value['queries'])) return value['queries'].map((query) => toQuery(query, { ...noSource, sglang: textOr(value['sglang'], null) }));
  if (isObject(value) && isObject(value['final'])) return vllmQueries(value);
  return parseRequests(text, sglang);
}

function vllmQueries(recording: Fields): EventQuery[] {
  const source: Source = { ...noSource, engineBlockSize: wholeOr(recording['blockSize'], null), baseModel: 'tiny' };
  const other = recording['rank1'];
  const hasRanks = isObject(other);
  const own = queriesOf(recording['final']).map((query) => toQuery(query, { ...source, rank: hasRanks ? 0 : null }));
  return hasRanks ? [...own, ...queriesOf(other).map((query) => toQuery(query, { ...source, rank: 1 }))] : own;
}

const queriesOf = (value: unknown): readonly unknown[] => (isObject(value) && Array.isArray(value['queries']) ? (value['queries'] as readonly unknown[]) : []);

/** One request a line; what it reused was decided by the events before it. */
function parseRequests(text: string, sglang: string | null): EventQuery[] {
  let afterMessages = 0;
  return text.split('\n').filter((line) => line.trim() !== '').map((line) => {
    const row = tryParse(line);
    if (!isObject(row)) throw new RouterError('bad-json', 'the queries are neither a JSON list of {tokens, rank?, salt?, lora?} nor a recording\'s expected.json or kv.requests.jsonl');
    const query = { ...toQuery(ignoresKeys(sglang) ? { ...row, cache_salt: null, extra_key: null } : row, { ...noSource, sglang }), afterMessages };
    afterMessages = wholeOr(row['eventsSoFar'], afterMessages);
    return query;
  });
}

/** Names that recordings and requests give one thing. */
function toQuery(value: unknown, source: Source): EventQuery {
  const query = isObject(value) ? value : {};
  const tokens = query['tokens'];
  if (!Array.isArray(tokens) || !tokens.every((token) => Number.isInteger(token))) throw new RouterError('bad-json', 'a query has no "tokens": give a list of token ids');
  const salt = textOr(query['salt'] ?? query['cache_salt'], null);
  const extraKey = textOr(query['extraKey'] ?? query['extra_key'], null);
  return {
    tokens: tokens as readonly number[],
    rank: wholeOr(query['rank'] ?? query['dpRank'], source.rank),
    isolation: { lora: loraOf(query, source), salt },
    afterMessages: null,
    unanswerable: whyUnanswerable({ salt, extraKey, sglang: source.sglang }),
    engineTokens: engineTokensOf(query, source),
  };
}

function loraOf(query: Fields, { baseModel }: Source): string | null {
  const model = textOr(query['model'], null);
  return textOr(query['lora'], null) ?? (baseModel === null || model === baseModel ? null : model);
}

function engineTokensOf(query: Fields, { engineBlockSize }: Source): number | null {
  const blocks = wholeOr(query['engineBlocks'], null);
  return wholeOr(query['cachedTokens'], null) ?? (blocks === null || engineBlockSize === null ? null : blocks * engineBlockSize);
}

function whyUnanswerable({ salt, extraKey, sglang }: { readonly salt: string | null; readonly extraKey: string | null; readonly sglang: string | null }): string | null {
  if (extraKey !== null) return 'events do not name an extra key';
  if (salt !== null && sglang !== null && isBefore(sglang, [0, 5, 18])) return `events of SGLang ${sglang} do not name a salt`;
  return null;
}

/** Its server takes no notice of salts and extra keys: all requests share. */
const ignoresKeys = (sglang: string | null): boolean => sglang !== null && isBefore(sglang, [0, 5, 10]);

function isBefore(version: string, other: readonly number[]): boolean {
  const parts = version.split('.').map((part) => Number.parseInt(part, 10));
  for (const [place, limit] of other.entries()) {
    const part = parts[place] ?? 0;
    if (part !== limit) return part < limit;
  }
  return false;
}

const textOr = (value: unknown, otherwise: string | null): string | null => (typeof value === 'string' && value !== '' ? value : otherwise);

function wholeOr<T extends number | null>(value: unknown, otherwise: T): number | T {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : otherwise;
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Not one JSON value: the caller tries it line by line, and says what is wrong.
    return undefined;
  }
}
