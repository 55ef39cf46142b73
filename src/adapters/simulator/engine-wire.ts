import type { PageHasher } from '../../core/engine-model/page-hasher.ts';
import { saltedPageHasher, unsaltedPageHasher } from './sha256-pages.ts';

export const engineWires = ['0.5.9', '0.5.19', '0.5.23'] as const;
export type EngineWireName = (typeof engineWires)[number];

/** How one SGLang release differs from its neighbours in what others see. Recorded from each of them. */
export interface EngineWire {
  readonly version: EngineWireName;
  /** Events as tagged maps, or as arrays with their tag first. */
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
  readonly hasher: PageHasher;
}

const newest: EngineWire = {
  version: '0.5.23',
  events: 'map',
  storesPerEvent: 'run',
  namespaces: true,
  sessionInEvents: true,
  topicInReplay: true,
  kvEventsBlock: 'with-replay',
  routedRank: true,
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
} as const satisfies Record<EngineWireName, EngineWire>;
