import { parseDpRank } from '../../core/identity/ids.ts';
import { RouterError } from '../../core/router-error.ts';
import type { EngineDescription, RankEventEndpoints } from '../../ports/engine.ts';
import type { DescribeOverrides } from './describe-overrides.ts';
import type { EventSockets } from './event-endpoints.ts';
import { endpointsOfRank, isWildcard, parseTcpEndpoint } from './event-endpoints.ts';
import type { JsonObject } from './json-fields.ts';
import { isJsonObject, objectsIn, textIn } from './json-fields.ts';
import { contextLengthOf, modelNamesOf } from './model-list.ts';
import { cacheConfigOf } from './vllm-metrics.ts';

export interface VllmAnswers {
  readonly version: string;
  /** `/v1/models`. */
  readonly models: JsonObject;
  /** `/kv_event_sources`: rank -> sockets. Empty where the route is not there. */
  readonly sources: JsonObject;
  /** The text of `/metrics`; empty where there is none. */
  readonly metrics: string;
  readonly engineUrl: string;
}

const startFlags = `--kv-events-config '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5557","replay_endpoint":"tcp://*:5657"}'`;
const firstRank = parseDpRank(0);

/** What a vLLM server says of itself (0.32.0). Throws `bad-config` where its block size is told nowhere. */
export function describeVllm(answers: VllmAnswers, overrides: DescribeOverrides): EngineDescription {
  const { version, models, metrics, engineUrl } = answers;
  const cache = cacheConfigOf(metrics);
  const pageSize = overrides.pageSize ?? cache.blockSize;
  if (pageSize === null) throw new RouterError('bad-config', `vLLM at ${engineUrl} does not tell its block size in /metrics: start the agent with --page-size`);
  const endpoints = endpointsOf(answers, overrides);
  const [first] = objectsIn(models, 'data');
  return {
    kind: 'vllm',
    version,
    models: modelNamesOf(models, null),
    tokenizerPath: first === undefined ? null : textIn(first, 'root'),
    ranks: endpoints.length > 0 ? endpoints.map((each) => each.rank) : [firstRank],
    pageSize,
    contextLength: contextLengthOf(models),
    vocabSize: overrides.vocabSize,
    maxRunningRequests: null,
    capacityTokens: cache.capacityTokens,
    bigram: false,
    unnamedInEvents: [],
    events: endpoints.length > 0 ? { ranks: endpoints, topic: topicOf(answers.sources) } : { why: `engine publishes no KV events: start vLLM with ${startFlags}` },
  };
}

/** `/kv_event_sources` lists every rank with its real ports, so nothing is added to them. */
function endpointsOf({ sources, engineUrl }: VllmAnswers, overrides: DescribeOverrides): readonly RankEventEndpoints[] {
  const engineHost = new URL(engineUrl).hostname;
  const byFlag = overrides.kvEndpoint;
  if (byFlag !== null) return [endpointsOfRank(firstRank, { kv: byFlag, bind: isWildcard(byFlag.host), replay: overrides.replayEndpoint, engineHost })];
  return Object.entries(sources).flatMap(([rank, source]) => {
    if (!isJsonObject(source) || source['enable_kv_cache_events'] === false || source['publisher'] !== 'zmq') return [];
    const endpoint = textIn(source, 'endpoint');
    if (endpoint === null) return [];
    const kv = parseTcpEndpoint(endpoint);
    const replay = textIn(source, 'replay_endpoint');
    const sockets: EventSockets = { kv, bind: !isWildcard(kv.host), replay: replay === null ? null : parseTcpEndpoint(replay), engineHost };
    return [{ ...endpointsOfRank(firstRank, sockets), rank: parseDpRank(Number(rank)) }];
  });
}

function topicOf(sources: JsonObject): string {
  const [source] = Object.values(sources);
  return isJsonObject(source) ? (textIn(source, 'topic') ?? '') : '';
}
