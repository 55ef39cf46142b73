import type { DpRank } from '../../core/identity/ids.ts';
import { parseDpRank } from '../../core/identity/ids.ts';
import type { IsolationPart } from '../../core/identity/registration.ts';
import { RouterError } from '../../core/router-error.ts';
import type { EngineDescription } from '../../ports/engine.ts';
import type { DescribeOverrides, EngineAnswers } from './describe-overrides.ts';
import { isOlder } from './engine-version.ts';
import type { EventSockets, TcpEndpoint } from './event-endpoints.ts';
import { endpointsOfRank, isWildcard, parseTcpEndpoint } from './event-endpoints.ts';
import type { JsonObject } from './json-fields.ts';
import { countIn, objectIn, objectsIn, parseJsonObject, textIn } from './json-fields.ts';
import { contextLengthOf, modelNamesOf } from './model-list.ts';

/** From here on page hashes are a chain over all tokens before; older ones can't be followed (fixtures: 0.4.7, 0.5.5). */
const eventsTrustedFrom = [0, 5, 9] as const;
const saltsNamedFrom = [0, 5, 18] as const;
const adaptersNamedFrom = [0, 5, 22] as const;
/** Until then the ranks of a plain `--dp-size` all bound one port. */
const portPerRankFrom = [0, 5, 15] as const;
/** One socket each; no node runs more. */
const mostRanks = 1_024;
const bigramAlgorithms: readonly string[] = ['EAGLE', 'EAGLE3', 'FROZEN_KV_MTP'];

const startFlags = `--kv-events-config '{"publisher":"zmq","endpoint":"tcp://*:5557","replay_endpoint":"tcp://*:5657"}'`;

/** Whether a `/server_info` answer is SGLang's: vLLM's development server has a route of that name too. */
export const isSglangServerInfo = (fields: JsonObject): boolean => textIn(fields, 'version') !== null && textIn(fields, 'model_path') !== null;

/** What SGLang's `/server_info` and `/v1/models` say, from 0.4.7 to 0.5.23. Throws `bad-config` where no page size is told. */
export function describeSglang({ info, models, engineUrl }: EngineAnswers, overrides: DescribeOverrides): EngineDescription {
  const version = textIn(info, 'version') ?? 'unknown';
  const kvEvents = objectIn(info, 'kv_events');
  const pageSize = overrides.pageSize ?? countIn(kvEvents, 'block_size') ?? countIn(info, 'page_size');
  if (pageSize === null || pageSize < 1) throw new RouterError('bad-config', `engine ${engineUrl} does not tell its page size: start the agent with --page-size`);
  const ranks = ranksOf(info);
  const [state] = objectsIn(info, 'internal_states');
  return {
    kind: 'sglang',
    version,
    models: modelNamesOf(models, textIn(info, 'served_model_name') ?? textIn(info, 'model_path')),
    tokenizerPath: textIn(info, 'tokenizer_path'),
    ranks,
    pageSize,
    contextLength: contextLengthOf(models) ?? countIn(info, 'context_length'),
    vocabSize: overrides.vocabSize,
    maxRunningRequests: countIn(state ?? {}, 'effective_max_running_requests_per_dp') ?? countIn(info, 'max_running_requests'),
    capacityTokens: countIn(info, 'max_total_num_tokens') ?? countIn(info, 'max_total_tokens'),
    bigram: bigramAlgorithms.includes((textIn(info, 'speculative_algorithm') ?? '').toUpperCase()),
    unnamedInEvents: unnamedBy(version),
    events: eventsOf({ info, version, ranks, engineHost: new URL(engineUrl).hostname }, overrides),
  };
}

/** `kv_events` says how many publish; before it was there: attention ranks if there are several, else replicas. */
function ranksOf(info: JsonObject): readonly DpRank[] {
  const attention = countIn(info, 'attn_dp_size') ?? 1;
  const count = countIn(objectIn(info, 'kv_events'), 'dp_size') ?? (attention > 1 ? attention : (countIn(info, 'dp_size') ?? 1));
  if (!Number.isInteger(count) || count > mostRanks) throw new RouterError('bad-config', `the engine says that it has ${count} data-parallel ranks: at most ${mostRanks} are followed`);
  return Array.from({ length: Math.max(1, count) }, (_, rank) => parseDpRank(rank));
}

/** An extra key is never named; from where salts are, the agent sends it on as one. */
function unnamedBy(version: string): readonly IsolationPart[] {
  if (isOlder(version, saltsNamedFrom)) return ['salt', 'extra-key', 'lora'];
  return isOlder(version, adaptersNamedFrom) ? ['lora'] : [];
}

interface EventFacts {
  readonly info: JsonObject;
  readonly version: string;
  readonly ranks: readonly DpRank[];
  readonly engineHost: string;
}

function eventsOf(facts: EventFacts, overrides: DescribeOverrides): EngineDescription['events'] {
  const { info, version, ranks, engineHost } = facts;
  if (isOlder(version, eventsTrustedFrom)) return { why: `the KV events of SGLang ${version} name no prefix: use 0.5.9 or newer` };
  const plainReplicas = ranks.length > 1 && info['enable_dp_attention'] !== true;
  if (plainReplicas && isOlder(version, portPerRankFrom)) return { why: `SGLang ${version} puts the events of all ${ranks.length} ranks on one port: use 0.5.17 or newer` };
  const config = parseJsonObject(textIn(info, 'kv_events_config') ?? '') ?? {};
  const configured = configuredSockets(objectIn(info, 'kv_events'), config);
  const kv = overrides.kvEndpoint ?? configured.kv;
  if (kv === null) return { why: `engine publishes no KV events: start SGLang with ${startFlags}` };
  // With the endpoint by flag, the flag alone says who binds: `*` is "the engine connects to us".
  const bind = overrides.kvEndpoint === null ? configured.bind : isWildcard(kv.host);
  const sockets: EventSockets = { kv, bind, replay: overrides.replayEndpoint ?? configured.replay, engineHost };
  return { ranks: ranks.map((rank) => endpointsOfRank(rank, sockets)), topic: configured.topic };
}

interface Configured {
  readonly kv: TcpEndpoint | null;
  readonly bind: boolean;
  readonly replay: TcpEndpoint | null;
  readonly topic: string;
}

/** `kv_events` (0.5.14 and newer) goes before the flag's own text, which is all that older servers show. */
function configuredSockets(kvEvents: JsonObject, config: JsonObject): Configured {
  const topic = textIn(kvEvents, 'topic') ?? textIn(config, 'topic') ?? '';
  if ((textIn(kvEvents, 'publisher') ?? textIn(config, 'publisher')) !== 'zmq') return { kv: null, bind: false, replay: null, topic };
  const host = textIn(kvEvents, 'endpoint_host');
  const port = countIn(kvEvents, 'endpoint_port_base');
  const kv = host !== null && port !== null ? { host, port } : parseTcpEndpoint(textIn(config, 'endpoint') ?? 'tcp://*:5557');
  const replayText = textIn(config, 'replay_endpoint');
  const asConfigured = replayText === null ? null : parseTcpEndpoint(replayText);
  const replayPort = countIn(kvEvents, 'replay_endpoint_port_base') ?? asConfigured?.port ?? null;
  const replay = replayPort === null ? null : { host: asConfigured?.host ?? '*', port: replayPort };
  return { kv, bind: !engineBinds(kv.host, config['bind']), replay, topic };
}

/** `bind` (0.5.22 and newer) overrides what the address means. A publisher at 0.0.0.0 can't have meant to connect. */
const engineBinds = (host: string, bind: unknown): boolean => (typeof bind === 'boolean' ? bind || isWildcard(host) : isWildcard(host) || host === '0.0.0.0');
