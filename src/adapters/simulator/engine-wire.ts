import type { PageHasher } from '../../core/engine-model/page-hasher.ts';
import { saltedPageHasher, unsaltedPageHasher } from './sha256-pages.ts';

/** Releases of SGLang, and vLLM 0.32. */
export const engineWires = ['0.5.9', '0.5.19', '0.5.23', 'vllm'] as const;
export type EngineWireName = (typeof engineWires)[number];

/** How one engine or release differs from the others in what is seen of it. Recorded from each of them. */
export interface EngineWire {
  readonly kind: 'sglang' | 'vllm';
  /** As it says itself. */
  readonly version: string;
  /** SGLang's events as tagged maps, or as arrays with their tag first. */
  readonly events: 'map' | 'array';
  /** One event a page, or pages that follow each other in one event. */
  readonly storesPerEvent: 'page' | 'run';
  /** Whether caches can be told apart by a salt or an extra key on `/generate` at all. */
  readonly namespaces: boolean;
  readonly sessionInEvents: boolean;
  readonly topicInReplay: boolean;
  /** Which parts of `kv_events` `/server_info` has. */
  readonly kvEventsBlock: 'none' | 'without-replay' | 'with-replay';
  /** Whether `routed_dp_rank`, the rank header and a chat's `input_ids` are read. */
  readonly routedRank: boolean;
  /** What is done with an answer that does not fit behind its prompt. */
  readonly longAnswers: 'refused' | 'cut';
  /** Whether a start shows: a lone clear, then the pages of a prompt that warms up. */
  readonly startTold: boolean;
  readonly hasher: PageHasher;
}

const newest: EngineWire = {
  kind: 'sglang',
  version: '0.5.23',
  events: 'map',
  storesPerEvent: 'run',
  namespaces: true,
  sessionInEvents: true,
  topicInReplay: true,
  kvEventsBlock: 'with-replay',
  routedRank: true,
  longAnswers: 'refused',
  startTold: true,
  hasher: saltedPageHasher,
};

export const engineWire = {
  '0.5.23': newest,
  '0.5.19': { ...newest, version: '0.5.19', events: 'array', sessionInEvents: false, topicInReplay: false, kvEventsBlock: 'without-replay' },
  '0.5.9': {
    ...newest,
    version: '0.5.9',
    events: 'array',
    storesPerEvent: 'page',
    namespaces: false,
    sessionInEvents: false,
    topicInReplay: false,
    kvEventsBlock: 'none',
    routedRank: false,
    hasher: unsaltedPageHasher,
  },
  vllm: { ...newest, kind: 'vllm', version: '0.32.0', sessionInEvents: false, kvEventsBlock: 'none', longAnswers: 'cut', startTold: false },
} as const satisfies Record<EngineWireName, EngineWire>;
