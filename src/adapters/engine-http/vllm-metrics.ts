import type { DpRank } from '../../core/identity/ids.ts';

/** What vLLM's `/metrics` says of its cache; null where it does not. */
export interface VllmCacheConfig {
  /** Tokens a block. */
  readonly blockSize: number | null;
  readonly capacityTokens: number | null;
}

export function cacheConfigOf(metrics: string): VllmCacheConfig {
  const labels = /^vllm:cache_config_info\{(.*)\} /m.exec(metrics)?.[1] ?? '';
  const blockSize = labelNumber(labels, 'block_size');
  const blocks = labelNumber(labels, 'num_gpu_blocks');
  return { blockSize, capacityTokens: labelNumber(labels, 'kv_cache_size_tokens') ?? (blockSize === null || blocks === null ? null : blocks * blockSize) };
}

function labelNumber(labels: string, name: string): number | null {
  const digits = new RegExp(`(?:^|,)${name}="(\\d+)"`).exec(labels)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** The value of a gauge for one rank (vLLM's label `engine`); null where it is not there. */
export function rankGauge(metrics: string, name: string, rank: DpRank): number | null {
  const line = new RegExp(`^${name}\\{(?:[^}]*,)?engine="${rank}"[^}]*\\} (\\S+)$`, 'm').exec(metrics);
  const value = Number(line?.[1] ?? Number.NaN);
  return Number.isFinite(value) ? value : null;
}
