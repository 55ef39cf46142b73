import type { DpRank } from '../../core/identity/ids.ts';
import type { EngineLoad } from '../../ports/engine.ts';
import type { JsonObject } from './json-fields.ts';
import { countIn, objectsIn } from './json-fields.ts';
import { cacheConfigOf, rankGauge } from './vllm-metrics.ts';

/** A rank whose load is not known: not one that has nothing to do. */
export const unknownLoad = (rank: DpRank): EngineLoad => ({
  rank,
  runningRequests: null,
  waitingRequests: null,
  usedTokens: null,
  capacityTokens: null,
  maxRunningRequests: null,
  waitingUncachedTokens: null,
});

/** SGLang's `/v1/loads`, from 0.5.9. A rank that is not in it is unknown. */
export function parseSglangLoads(answer: JsonObject, ranks: readonly DpRank[]): readonly EngineLoad[] {
  const reports = objectsIn(answer, 'loads');
  return ranks.map((rank) => {
    const report = reports.find((each) => each['dp_rank'] === rank);
    if (report === undefined) return unknownLoad(rank);
    return {
      rank,
      runningRequests: countIn(report, 'num_running_reqs'),
      waitingRequests: countIn(report, 'num_waiting_reqs'),
      usedTokens: countIn(report, 'num_used_tokens'),
      capacityTokens: countIn(report, 'max_total_num_tokens'),
      maxRunningRequests: countIn(report, 'max_running_requests'),
      waitingUncachedTokens: countIn(report, 'num_waiting_uncached_tokens'),
    };
  });
}

/** SGLang's older `/get_load`: an array; `num_reqs` counts the waiting too, `dp_rank` is null with one rank. */
export function parseGetLoad(reports: readonly JsonObject[], ranks: readonly DpRank[]): readonly EngineLoad[] {
  return ranks.map((rank) => {
    const report = reports.find((each) => (each['dp_rank'] ?? 0) === rank);
    if (report === undefined) return unknownLoad(rank);
    const all = countIn(report, 'num_reqs');
    const waiting = countIn(report, 'num_waiting_reqs');
    return {
      ...unknownLoad(rank),
      runningRequests: all === null || waiting === null ? null : Math.max(0, all - waiting),
      waitingRequests: waiting,
      usedTokens: countIn(report, 'num_tokens'),
    };
  });
}

/** vLLM has its load in `/metrics`; cache usage is a share from 0 to 1. */
export function parseVllmLoads(metrics: string, ranks: readonly DpRank[]): readonly EngineLoad[] {
  const { capacityTokens } = cacheConfigOf(metrics);
  return ranks.map((rank) => {
    const usage = rankGauge(metrics, 'vllm:kv_cache_usage_perc', rank);
    return {
      ...unknownLoad(rank),
      runningRequests: rankGauge(metrics, 'vllm:num_requests_running', rank),
      waitingRequests: rankGauge(metrics, 'vllm:num_requests_waiting', rank),
      usedTokens: usage === null || capacityTokens === null ? null : Math.round(usage * capacityTokens),
      capacityTokens,
    };
  });
}
