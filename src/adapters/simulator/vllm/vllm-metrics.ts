import type { SimulatedEngine } from '../simulated-engine.ts';

/** `/metrics` under vLLM's names: load and cache of each rank, and the block size, which vLLM tells nowhere else. */
export function vllmMetrics(engine: SimulatedEngine): string {
  const { modelName, pageSize } = engine.options;
  const out: string[] = [];
  const all = (name: string, kind: 'gauge' | 'counter', help: string, value: (rank: number) => number): void => {
    out.push(`# HELP vllm:${name} ${help}`, `# TYPE vllm:${name} ${kind}`);
    engine.ranks.forEach((_, rank) => out.push(`vllm:${name}{engine="${rank}",model_name="${modelName}"} ${value(rank)}`));
  };
  const load = (rank: number): SimulatedEngine['ranks'][number]['load'] => engine.rank(rank).load;
  const model = (rank: number): SimulatedEngine['ranks'][number]['model'] => engine.rank(rank).model;
  all('num_requests_running', 'gauge', 'Number of requests in model execution batches.', (rank) => load(rank).runningRequests);
  all('num_requests_waiting', 'gauge', 'Number of requests waiting to be processed.', (rank) => load(rank).waitingRequests);
  all('kv_cache_usage_perc', 'gauge', 'KV-cache usage. 1 means 100 percent usage.', (rank) => load(rank).usedTokens / model(rank).capacityTokens);
  all('prefix_cache_queries_total', 'counter', 'Prefix cache queries, in terms of number of queried tokens.', (rank) => model(rank).counters.promptTokens);
  all('prefix_cache_hits_total', 'counter', 'Prefix cache hits, in terms of number of cached tokens.', (rank) => model(rank).counters.cachedTokens);
  all('prompt_tokens_total', 'counter', 'Number of prefill tokens processed.', (rank) => model(rank).counters.promptTokens);
  all('generation_tokens_total', 'counter', 'Number of generation tokens processed.', (rank) => model(rank).counters.answerTokens);
  out.push('# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig', '# TYPE vllm:cache_config_info gauge');
  engine.ranks.forEach(({ model: { capacityTokens } }, rank) => {
    out.push(`vllm:cache_config_info{block_size="${pageSize}",enable_prefix_caching="True",engine="${rank}",kv_cache_size_tokens="${capacityTokens}",num_gpu_blocks="${capacityTokens / pageSize}"} 1.0`);
  });
  return `${out.join('\n')}\n`;
}
