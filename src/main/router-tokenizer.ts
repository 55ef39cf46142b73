import { EngineTokenizer } from '../adapters/tokenizer/engine-tokenizer.ts';
import { KeptTokens } from '../adapters/tokenizer/kept-tokens.ts';
import { loadModelTokenizer } from '../adapters/tokenizer/model-tokenizer.ts';
import { PoolTokenizers } from '../adapters/tokenizer/pool-tokenizers.ts';
import type { ServedModel } from '../adapters/tokenizer/pool-tokenizers.ts';
import { RequestTokenizer } from '../adapters/tokenizer/prompt-tokenizer.ts';
import type { TokenizedPool } from '../adapters/tokenizer/prompt-tokenizer.ts';
import type { FollowedPools } from '../app/route/followed-pools.ts';
import type { PoolId } from '../core/identity/ids.ts';
import type { ControlClient } from '../ports/kv-bus.ts';
import type { Closable } from '../ports/kv-bus.ts';
import type { Log } from '../ports/log.ts';
import type { PromptTokenizer } from '../ports/prompt-tokens.ts';

const patienceMs = 5_000;
/** Of one model's pieces, and of whole prompts that engines tokenized. */
const cacheBytes = 64 * 1024 * 1024;

export interface RouterTokenizer extends PromptTokenizer, Closable {
  readonly counters: Readonly<Record<string, number>>;
}

/** The model's own tokenizer where its folder is given or can be read here, else the engines' by way of their agents. Rejects with `bad-config` for a folder without one. */
export async function routerTokenizer(directory: string | null, deps: { readonly control: ControlClient; readonly pools: FollowedPools; readonly log: Log }): Promise<RouterTokenizer> {
  const { control, pools, log } = deps;
  const poolOf = (pool: PoolId): TokenizedPool | null => tokenizedPool(pools, pool);
  const workersOf = (pool: PoolId): TokenizedPool['workers'] => poolOf(pool)?.workers ?? [];
  const kindOf = (pool: PoolId): TokenizedPool['kind'] => poolOf(pool)?.kind ?? 'sglang';
  const open = (folder: string): ReturnType<typeof loadModelTokenizer> => loadModelTokenizer({ directory: folder, kindOf, cacheBytes }, log);
  const engines = new KeptTokens(new EngineTokenizer({ control, workersOf }), cacheBytes);
  const text = new PoolTokenizers({ engines, open, modelOf: (pool) => servedModel(pools, pool), log }, directory);
  await text.load();
  const tokenizer = new RequestTokenizer({ text, poolOf, counted: (compared) => text.counted(compared), log }, { patienceMs });
  return {
    tokensOf: (source, signal) => tokenizer.tokensOf(source, signal),
    counted: (compared) => tokenizer.counted(compared),
    get counters() {
      return text.counters;
    },
    close: () => text.close(),
  };
}

function tokenizedPool(pools: FollowedPools, pool: PoolId): TokenizedPool | null {
  const ranks = pools.ranks(pool);
  const first = ranks[0]?.registration;
  if (first === undefined) return null;
  return { kind: first.engineKind, models: first.models, workers: [...new Set(ranks.map(({ id }) => id.worker))] };
}

function servedModel(pools: FollowedPools, pool: PoolId): ServedModel | null {
  const registrations = pools.ranks(pool).map(({ registration }) => registration);
  const [first] = registrations;
  if (first === undefined) return null;
  const tokenizerPath = registrations.find((registration) => registration.tokenizerPath !== null)?.tokenizerPath ?? null;
  return { tokenizerPath, contextLength: first.contextLength, engines: [first.engineKind, first.engineVersion, tokenizerPath, ...first.models].join('\n') };
}
