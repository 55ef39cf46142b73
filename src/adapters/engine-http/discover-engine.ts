import { RouterError } from '../../core/router-error.ts';
import type { EngineDescription } from '../../ports/engine.ts';
import type { DescribeOverrides } from './describe-overrides.ts';
import { describeSglang, isSglangServerInfo } from './describe-sglang.ts';
import { describeVllm } from './describe-vllm.ts';
import type { EngineConnection } from './engine-connection.ts';
import type { JsonObject } from './json-fields.ts';
import { objectsIn, parseJsonObject, textIn } from './json-fields.ts';
import { vocabSizeIn } from './model-config.ts';

export type EngineKind = 'sglang' | 'vllm';

interface Discovery {
  readonly connection: EngineConnection;
  readonly overrides: DescribeOverrides;
}

/**
 * Asks an engine what it is: SGLang answers `/server_info` (older: `/get_server_info`), vLLM `/version`. `kind` asks
 * for one alone. Rejects with `engine-unreachable`, or `bad-config` where it is neither or wants an API key.
 */
export async function discoverEngine(discovery: Discovery, kind: EngineKind | null, signal: AbortSignal): Promise<EngineDescription> {
  const asked = kind === null ? ([askSglang, askVllm] as const) : kind === 'sglang' ? ([askSglang] as const) : ([askVllm] as const);
  for (const ask of asked) {
    const found = await ask(discovery, signal);
    if (found !== null) return found;
  }
  throw new RouterError('bad-config', `${discovery.connection.url} is no ${kind === 'vllm' ? 'vLLM' : kind === 'sglang' ? 'SGLang' : 'SGLang or vLLM'} server: it answers neither ${kind === 'vllm' ? '/version' : '/server_info'} nor anything like it`);
}

async function askSglang({ connection, overrides }: Discovery, signal: AbortSignal): Promise<EngineDescription | null> {
  for (const path of ['/server_info', '/get_server_info']) {
    const info = await findJson(connection, path, signal);
    if (info === null || !isSglangServerInfo(info)) continue;
    const models = (await findJson(connection, '/v1/models', signal)) ?? {};
    return describeSglang({ info, models, engineUrl: connection.url }, await withVocabSize(overrides, textIn(info, 'model_path')));
  }
  return null;
}

async function askVllm({ connection, overrides }: Discovery, signal: AbortSignal): Promise<EngineDescription | null> {
  const version = textIn((await findJson(connection, '/version', signal)) ?? {}, 'version');
  if (version === null) return null;
  const models = (await findJson(connection, '/v1/models', signal)) ?? {};
  const sources = (await findJson(connection, '/kv_event_sources', signal)) ?? {};
  const metrics = await connection.get('/metrics', signal);
  const answers = { version, models, sources, metrics: metrics.status === 200 ? metrics.text : '', engineUrl: connection.url };
  return describeVllm(answers, await withVocabSize(overrides, textIn(objectsIn(models, 'data')[0] ?? {}, 'root')));
}

/** What the flag leaves open, the model's folder may tell. */
const withVocabSize = async (overrides: DescribeOverrides, modelFolder: string | null): Promise<DescribeOverrides> =>
  overrides.vocabSize === null ? { ...overrides, vocabSize: await vocabSizeIn(modelFolder) } : overrides;

/** The JSON object at `path`; null where there is none. A key that is missing or wrong is not "none". */
async function findJson(connection: EngineConnection, path: string, signal: AbortSignal): Promise<JsonObject | null> {
  const { status, text } = await connection.get(path, signal);
  if (status === 401 || status === 403) throw new RouterError('bad-config', `engine ${connection.url} wants an API key: put it in a file and start the agent with --api-key-file`);
  if (status >= 500) throw new RouterError('engine-unreachable', `engine ${connection.url} answers ${path} with ${status}: wait until it is ready`);
  return status === 200 ? parseJsonObject(text) : null;
}
