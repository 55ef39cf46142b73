import type { DpRank } from '../../core/identity/ids.ts';
import type { EngineLoad } from '../../ports/engine.ts';
import type { EngineKind } from './discover-engine.ts';
import type { EngineConnection } from './engine-connection.ts';
import { isJsonObject, parseJsonObject } from './json-fields.ts';
import { parseGetLoad, parseSglangLoads, parseVllmLoads, unknownLoad } from './parse-loads.ts';

interface LoadSource {
  readonly connection: EngineConnection;
  readonly kind: EngineKind;
  readonly ranks: readonly DpRank[];
}

/**
 * What each rank reports. An answer that is an error, or no JSON, is "unknown" for every rank; only an engine that
 * can't be reached rejects (`engine-unreachable`).
 */
export async function readLoads({ connection, kind, ranks }: LoadSource, signal: AbortSignal): Promise<readonly EngineLoad[]> {
  if (kind === 'vllm') {
    const { status, text } = await connection.get('/metrics', signal);
    return status === 200 ? parseVllmLoads(text, ranks) : ranks.map(unknownLoad);
  }
  const loads = await connection.get('/v1/loads?include=core', signal);
  const answer = loads.status === 200 ? parseJsonObject(loads.text) : null;
  if (answer !== null) return parseSglangLoads(answer, ranks);
  // 0.5.9 breaks at /v1/loads with metrics on; /get_load is gone from 0.5.21.
  const older = await connection.get('/get_load', signal);
  const reports = older.status === 200 ? parseReports(older.text) : null;
  return reports === null ? ranks.map(unknownLoad) : parseGetLoad(reports, ranks);
}

function parseReports(text: string): readonly Readonly<Record<string, unknown>>[] | null {
  const wrapped = parseJsonObject(`{"reports":${text}}`);
  const reports = wrapped?.['reports'];
  return Array.isArray(reports) ? reports.filter(isJsonObject) : null;
}
