import { hashBlocks } from '../../core/identity/hash-blocks.ts';
import { parseDpRank, parseWorkerId } from '../../core/identity/ids.ts';
import { noHashes } from '../../core/identity/sequence-hash.ts';
import type { ExplicitTarget } from '../../core/placement/placement.ts';
import { RouterError } from '../../core/router-error.ts';
import { isSessionFinal, sessionOf } from '../../core/sessions/session-identity.ts';
import type { PromptTokenizer, PromptTokens } from '../../ports/prompt-tokens.ts';
import type { ClientRequest } from '../../ports/request-router.ts';
import type { RouterMetrics } from '../../ports/router-metrics.ts';
import type { AskedRequest } from './asked-request.ts';
import { checkLength, checkTokenIds } from './check-prompt.ts';
import type { Endpoint } from './endpoint.ts';
import { endpointOf } from './endpoint.ts';
import type { PoolState } from '../follow-pool.ts';
import type { FollowedPools } from './followed-pools.ts';
import { headerText } from './header-text.ts';

export interface UnderstandingDeps {
  readonly pools: FollowedPools;
  readonly tokenizer: PromptTokenizer;
  readonly metrics: RouterMetrics;
}

type Header = (name: string) => string | null;

/** Everything about a request that placement goes by. Throws what the client got wrong, before anything happens. */
export async function understandRequest(client: ClientRequest, startedMs: number, deps: UnderstandingDeps, signal: AbortSignal): Promise<AskedRequest> {
  const header: Header = (name) => {
    const value = client.headers.find(([given]) => given === name)?.[1] ?? null;
    return value === null ? null : headerText(value);
  };
  const endpoint = endpointOf(client.path);
  const pool = poolFor(client, deps.pools);
  const session = sessionOf(header, client.fields, client.tenant);
  const target = targetOf(header, pool, deps.pools);
  const wantedRank = wantedRankOf(client, header, { endpoint, pool, pools: deps.pools });
  checkTokenIds(client.fields, pool);
  const prompt = await promptOf(client, pool, deps, signal);
  if (prompt.kind === 'known') checkLength(prompt.tokens.length, pool);
  return {
    client,
    endpoint,
    pool,
    session,
    sessionByHeader: session !== null && sessionOf(header, {}, client.tenant) !== null,
    sessionFinal: isSessionFinal(header),
    target,
    wantedRank,
    promptTokens: prompt.kind === 'known' ? prompt.tokens.length : null,
    hashes: prompt.kind === 'known' ? hashBlocks(prompt.tokens, pool.blockSize, pool.seedOf(prompt.isolation)) : noHashes,
    startedMs,
  };
}

async function promptOf(client: ClientRequest, pool: PoolState, { tokenizer, metrics }: UnderstandingDeps, signal: AbortSignal): Promise<PromptTokens> {
  const prompt = await tokenizer.tokensOf({ pool: pool.pool, path: client.path, body: client.fields }, signal);
  if (prompt.kind === 'unknown') metrics.tokensUnknown(prompt.why);
  return prompt;
}

/** `/generate` names no model; `model:adapter` is the model with a LoRA adapter. */
function poolFor({ fields }: ClientRequest, pools: FollowedPools): PoolState {
  const model = fields['model'] ?? null;
  if (model !== null && typeof model !== 'string') throw new RouterError('bad-request', `model must be a text, is ${JSON.stringify(model).slice(0, 80)}`);
  const base = model?.split(':', 1)[0] ?? null;
  const found = pools.poolOfModel(model) ?? (base === model ? null : pools.poolOfModel(base));
  if (found !== null) return found;
  const known = pools.pools().flatMap((pool) => pool.models);
  if (known.length === 0) throw new RouterError('no-worker', 'no worker is registered: start an agent beside an engine with `kinroute worker --engine URL`');
  if (model === null) throw new RouterError('bad-request', `several models are served, name one of them in \`model\`: ${known.join(', ')}`);
  throw new RouterError('unknown-model', `model ${JSON.stringify(model.slice(0, 200))} is not served here: the models are ${known.join(', ')}`);
}

function targetOf(header: Header, pool: PoolState, pools: FollowedPools): ExplicitTarget | null {
  const worker = header('x-kinroute-worker');
  const rank = header('x-kinroute-rank');
  if (worker === null && rank === null) return null;
  if (worker === null) throw new RouterError('unknown-target', 'x-kinroute-rank names a rank of a worker: send x-kinroute-worker with it');
  const ranks = pools.ranks(pool.pool).filter(({ id }) => id.worker === worker);
  const ofPool = [...new Set(pools.ranks(pool.pool).map(({ id }) => id.worker))].join(', ');
  if (ranks.length === 0) throw new RouterError('unknown-target', `worker ${JSON.stringify(worker.slice(0, 80))} does not serve pool ${pool.pool}: its workers are ${ofPool}`);
  if (rank === null) return { worker: parseWorkerId(worker), rank: null };
  if (!ranks.some(({ id }) => String(id.rank) === rank.trim())) {
    throw new RouterError('unknown-target', `worker ${worker} has no rank ${JSON.stringify(rank.slice(0, 20))}: its ranks are ${ranks.map(({ id }) => id.rank).join(', ')}`);
  }
  return { worker: parseWorkerId(worker), rank: parseDpRank(Number(rank)) };
}

/** In the engines' own words: a field of the body, or on OpenAI's endpoints a header that goes before it. */
function wantedRankOf({ fields }: ClientRequest, header: Header, at: { readonly endpoint: Endpoint; readonly pool: PoolState; readonly pools: FollowedPools }): number | null {
  const byHeader = at.endpoint === 'generate' ? null : header('x-data-parallel-rank');
  const wanted: unknown = byHeader ?? fields['routed_dp_rank'] ?? fields['data_parallel_rank'] ?? null;
  if (wanted === null) return null;
  const rank = Number(wanted);
  const ranks = [...new Set(at.pools.ranks(at.pool.pool).map(({ id }): number => id.rank))];
  if (ranks.includes(rank)) return rank;
  throw new RouterError('unknown-target', `pool ${at.pool.pool} has no DP rank ${JSON.stringify(wanted).slice(0, 40)}: its ranks are ${ranks.join(', ')}`);
}
