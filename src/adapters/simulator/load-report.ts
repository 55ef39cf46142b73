import { wallSeconds, type SimulatedEngine } from './simulated-engine.ts';

const sections = ['core', 'memory', 'spec', 'lora', 'disagg', 'queues', 'all'] as const;
export type LoadSection = (typeof sections)[number];

/** The parts of a load report that `include` names; null where it names one that is none. */
export function parseSections(include: string | null): readonly LoadSection[] | null {
  if (include === null) return ['all'];
  const named = include.split(',').map((name) => sections.find((section) => section === name.trim()));
  return named.every((section) => section !== undefined) ? named : null;
}

const share = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 10_000);

function coreLoad(engine: SimulatedEngine, index: number): Record<string, unknown> {
  const { model, load } = engine.rank(index);
  const { counters, capacityTokens } = model;
  return {
    timestamp: wallSeconds(),
    dp_rank: index,
    num_running_reqs: load.runningRequests,
    num_waiting_reqs: load.waitingRequests,
    num_waiting_uncached_tokens: load.waitingUncachedTokens,
    num_used_tokens: load.usedTokens,
    num_total_tokens: load.usedTokens + load.waitingTokens,
    num_active_tokens: load.usedTokens,
    num_prealloc_ready_tokens: 0,
    max_total_num_tokens: capacityTokens,
    max_running_requests: engine.options.maxRunning,
    token_usage: share(load.usedTokens, capacityTokens),
    gen_throughput: 0,
    cache_hit_rate: share(counters.cachedTokens, counters.promptTokens),
    utilization: 0,
    total_prefill_uncached_tokens: counters.computedPromptTokens,
    total_prefill_busy_us: Math.round(counters.prefillBusyMs * 1000),
    decode_moments: [counters.decodeSteps, counters.answerTokens, 0, 0, 0, 0],
  };
}

const memoryLoad = (capacityTokens: number): object => ({ weight_gb: 0, kv_cache_gb: 0, graph_gb: 0, token_capacity: capacityTokens });

const disaggregationLoad = {
  mode: 'null',
  prefill_bootstrap_queue_reqs: 0,
  prefill_inflight_queue_reqs: 0,
  decode_prealloc_queue_reqs: 0,
  decode_transfer_queue_reqs: 0,
  decode_retracted_queue_reqs: 0,
  kv_transfer_speed_gb_s: 0,
  kv_transfer_latency_ms: 0,
};

/** One rank's entry of `/v1/loads`. */
export function rankLoad(engine: SimulatedEngine, index: number, include: readonly LoadSection[]): Record<string, unknown> {
  const wants = (section: LoadSection): boolean => include.includes('all') || include.includes(section);
  const { model, load } = engine.rank(index);
  return {
    ...coreLoad(engine, index),
    ...(wants('memory') ? { memory: memoryLoad(model.capacityTokens) } : {}),
    ...(wants('disagg') ? { disaggregation: disaggregationLoad } : {}),
    ...(wants('queues') ? { queues: { waiting: load.waitingRequests, grammar: 0, paused: 0, retracted: 0, prealloc_ready: 0 } } : {}),
  };
}

/** Entries as Prometheus gauges, nested ones joined by `_`. */
export function prometheusLoads(entries: readonly Record<string, unknown>[]): string {
  const lines = new Map<string, string[]>();
  const add = (key: string, value: unknown, rank: unknown): void => {
    if (typeof value === 'number' && key !== 'dp_rank') {
      const name = `sglang_${key}`;
      lines.set(name, [...(lines.get(name) ?? [`# TYPE ${name} gauge`]), `${name}{dp_rank="${String(rank)}"} ${value}`]);
    } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [inner, part] of Object.entries(value)) add(`${key}_${inner}`, part, rank);
    }
  };
  for (const entry of entries) for (const [key, value] of Object.entries(entry)) add(key, value, entry['dp_rank']);
  return `${[...lines.values()].flat().join('\n')}\n`;
}
