import { assertNever } from '../../core/assert-never.ts';
import type { Generation } from './generation.ts';
import { wallSeconds, type SimulatedEngine } from './simulated-engine.ts';

/** `finish_reason` as `/generate` says it; null while it runs. */
function finishReason(generation: Generation): object | null {
  const finished = generation.finishedRequest;
  if (finished === null) return null;
  if (generation.stopText !== null) return { type: 'stop', matched: generation.stopText };
  const { reason } = finished;
  switch (reason.kind) {
    case 'length':
      return { type: 'length', length: generation.spec.maxNewTokens };
    case 'stop':
      return { type: 'stop', matched: reason.token };
    case 'abort':
      if (reason.while === 'waiting') return { type: 'abort', message: 'Abort in waiting queue' };
      return { type: 'abort', message: 'Aborted', status_code: null, err_type: null };
    default:
      return assertNever(reason, 'finish reason');
  }
}

/** Its short form in OpenAI's choices. */
export function finishWord(generation: Generation): string | null {
  const finished = generation.finishedRequest;
  if (finished === null) return null;
  return generation.stopText === null ? finished.reason.kind : 'stop';
}

/** What a text or a token ended the answer with, or null. */
export function matchedStop(generation: Generation): string | number | null {
  const reason = generation.finishedRequest?.reason;
  return generation.stopText ?? (reason?.kind === 'stop' ? reason.token : null);
}

export function cachedDetails(generation: Generation): object | null {
  return generation.cachedTokens === 0 ? null : { device: generation.cachedTokens, host: 0 };
}

export const weightVersions = (generation: Generation): object[] => [{ version: 'default', start: 0, end: generation.outputIds.length }];

function abortedWhileWaiting(generation: Generation, e2eSeconds: number): object {
  return {
    id: generation.spec.rid,
    finish_reason: finishReason(generation),
    weight_version: 'default',
    e2e_latency: e2eSeconds,
    weight_versions: weightVersions(generation),
    completion_tokens: 0,
    response_sent_to_client_ts: wallSeconds(),
  };
}

function finalTimes(generation: Generation, streamed: boolean): object {
  const { received, dispatched, firstToken, finished } = generation.times;
  const end = finished ?? received;
  const first = firstToken ?? end;
  const sent = { response_sent_to_client_ts: streamed ? first : wallSeconds() };
  const rate = { request_finished_ts: end, decode_throughput: end > first ? (generation.outputIds.length - 1) / (end - first) : 0 };
  const head = { e2e_latency: end - received, request_received_ts: received, first_token_latency: first - received, api_server_dispatch_finish_ts: dispatched };
  return streamed ? { ...head, ...sent, ...rate } : { ...head, ...rate, ...sent };
}

/**
 * `meta_info` in the order of keys that a server with metrics on sends; some keys come with the first chunk of a
 * stream, some only at the end. What 0.5.9 did not have yet is left out for it.
 */
export function metaInfo(engine: SimulatedEngine, generation: Generation, { streamed, first }: { readonly streamed: boolean; readonly first: boolean }): object {
  const { times, spec } = generation;
  const finished = generation.finishedRequest;
  if (finished?.reason.kind === 'abort' && finished.reason.while === 'waiting') return abortedWhileWaiting(generation, (times.finished ?? 0) - times.received);
  const recent = engine.options.wire.routedRank;
  const started = times.started ?? times.received;
  return {
    id: spec.rid,
    finish_reason: finishReason(generation),
    prompt_tokens: spec.tokens.length,
    weight_version: 'default',
    ...(recent ? { num_retractions: generation.retractions } : {}),
    storage_prefetch_wait: 0,
    storage_staging_wait: 0,
    forward_entry_time: started,
    prefill_finished_time: times.firstToken ?? started,
    queue_time: started - times.received,
    ...(recent ? { reasoning_tokens: 0 } : {}),
    completion_tokens: generation.outputIds.length,
    cached_tokens: generation.cachedTokens,
    ...(finished === null ? {} : { weight_versions: weightVersions(generation) }),
    cached_tokens_details: recent ? cachedDetails(generation) : null,
    ...(recent ? { dp_rank: engine.ranks.length === 1 ? null : spec.rank } : {}),
    ...(finished === null ? (streamed && first ? { response_sent_to_client_ts: wallSeconds() } : {}) : finalTimes(generation, streamed)),
  };
}
