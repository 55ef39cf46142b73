import type { SimulatedEngine } from './simulated-engine.ts';

type Labels = Readonly<Record<string, string>>;

const line = (name: string, labels: Labels, value: number): string =>
  `sglang:${name}{${Object.entries(labels).map(([key, label]) => `${key}="${label}"`).join(',')}} ${value}`;

/** `/metrics`: the figures that routers and dashboards read, under SGLang's names. */
export function metricsText(engine: SimulatedEngine): string {
  const out: string[] = [];
  const base = { engine_type: 'unified', model_name: engine.options.modelName };
  const all = (name: string, kind: 'gauge' | 'counter', help: string, value: (rank: number) => number, extra: Labels = {}): void => {
    out.push(`# HELP sglang:${name} ${help}`, `# TYPE sglang:${name} ${kind}`);
    engine.ranks.forEach((_, rank) => out.push(line(name, { ...extra, ...base, ...(engine.ranks.length > 1 ? { dp_rank: String(rank) } : {}) }, value(rank))));
  };
  const load = (rank: number): SimulatedEngine['ranks'][number]['load'] => engine.rank(rank).load;
  const model = (rank: number): SimulatedEngine['ranks'][number]['model'] => engine.rank(rank).model;
  const cachedTokens = (rank: number): number => model(rank).counters.cachedTokens;
  const promptTokens = (rank: number): number => model(rank).counters.promptTokens;
  all('num_running_reqs', 'gauge', 'The number of running requests.', (rank) => load(rank).runningRequests);
  all('num_queue_reqs', 'gauge', 'The number of requests in the waiting queue.', (rank) => load(rank).waitingRequests);
  all('num_used_tokens', 'gauge', 'The number of used tokens.', (rank) => load(rank).usedTokens);
  all('max_total_num_tokens', 'gauge', 'The most tokens the KV cache holds.', (rank) => model(rank).capacityTokens);
  all('token_usage', 'gauge', 'The token usage.', (rank) => load(rank).usedTokens / model(rank).capacityTokens);
  all('cache_hit_rate', 'gauge', 'The prefix cache hit rate.', (rank) => (promptTokens(rank) === 0 ? 0 : cachedTokens(rank) / promptTokens(rank)));
  all('num_retracted_requests_total', 'counter', 'Requests that gave their room to others.', (rank) => model(rank).counters.retractions);
  all('prompt_tokens_total', 'counter', 'Number of prefill tokens processed.', promptTokens);
  all('generation_tokens_total', 'counter', 'Number of generation tokens processed.', (rank) => model(rank).counters.answerTokens);
  all('cached_tokens_total', 'counter', 'Number of cached prompt tokens.', cachedTokens, { cache_source: 'device' });
  all('evicted_tokens_total', 'counter', 'The number of tokens evicted.', (rank) => model(rank).evictedTokens);
  return `${out.join('\n')}\n`;
}
