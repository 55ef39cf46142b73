import { EngineTokenizer } from '../adapters/tokenizer/engine-tokenizer.ts';
import { loadModelTokenizer } from '../adapters/tokenizer/model-tokenizer.ts';
import { RequestTokenizer } from '../adapters/tokenizer/prompt-tokenizer.ts';
import type { TokenizedPool } from '../adapters/tokenizer/prompt-tokenizer.ts';
import type { FollowedPools } from '../app/route/followed-pools.ts';
import type { PoolId } from '../core/identity/ids.ts';
import type { ControlClient } from '../ports/kv-bus.ts';
import type { Log } from '../ports/log.ts';
import type { PromptTokenizer } from '../ports/prompt-tokens.ts';

const patienceMs = 5_000;
const cacheBytes = 64 * 1024 * 1024;

/** The model's own tokenizer where its folder is given, else the engines' by way of their agents. Rejects with `bad-config` for a folder without one. */
export async function routerTokenizer(directory: string | null, deps: { readonly control: ControlClient; readonly pools: FollowedPools; readonly log: Log }): Promise<PromptTokenizer> {
  const { control, pools, log } = deps;
  const poolOf = (pool: PoolId): TokenizedPool | null => tokenizedPool(pools, pool);
  const workersOf = (pool: PoolId): TokenizedPool['workers'] => poolOf(pool)?.workers ?? [];
  const text = directory === null ? new EngineTokenizer({ control, workersOf }) : await loadModelTokenizer(directory, (pool) => poolOf(pool)?.kind ?? 'sglang');
  return new RequestTokenizer({ text, poolOf, log }, { patienceMs, cacheBytes });
}

function tokenizedPool(pools: FollowedPools, pool: PoolId): TokenizedPool | null {
  const ranks = pools.ranks(pool);
  const first = ranks[0]?.registration;
  if (first === undefined) return null;
  return { kind: first.engineKind, models: first.models, workers: [...new Set(ranks.map(({ id }) => id.worker))] };
}
