import { epoch, parseDpRank } from '../../src/core/identity/ids.ts';
import type { WorkerRegistration } from '../../src/core/identity/registration.ts';
import type { LoadSnapshot } from '../../src/core/load/load-snapshot.ts';
import type { PlacedEvent } from '../../src/core/placement/placement-event.ts';
import { pool, rank0, worker } from './nats-requests.ts';

export const registration = (change: Partial<WorkerRegistration> = {}): WorkerRegistration => ({
  v: 1,
  pool,
  worker,
  life: epoch('life-1'),
  engineUrl: 'http://127.0.0.1:30000',
  engineKind: 'sglang',
  engineVersion: '0.5.23',
  tokenizerPath: null,
  unnamedInEvents: [],
  models: ['llama'],
  ranks: [parseDpRank(0), parseDpRank(1)],
  blockSize: 64,
  pageSize: 1,
  contextLength: null,
  vocabSize: 128_256,
  maxRunningRequests: 256,
  capacityTokens: 430_000,
  events: { kind: 'zmq' },
  draining: false,
  ...change,
});

export const load = (change: Partial<LoadSnapshot> = {}): LoadSnapshot => ({
  id: rank0,
  runningRequests: 3,
  waitingRequests: 0,
  usedTokens: null,
  capacityTokens: 430_000,
  maxRunningRequests: 256,
  waitingUncachedTokens: 0,
  heldBlocks: 12,
  ...change,
});

export const placed = (change: Partial<PlacedEvent> = {}): PlacedEvent => ({
  v: 1,
  event: 'placed',
  at: '2026-01-01T00:00:00.000Z',
  router: 'r1',
  pool: 'llama',
  requestId: 'q1',
  worker: 'w1',
  rank: 0,
  mode: 'affinity',
  reason: 'sibling-group',
  session: 's',
  parent: null,
  promptTokens: 16_484,
  requestBlocks: 257,
  overlapBlocks: 256,
  overlapSource: 'predicted',
  claim: { prefillTokens: 128, blocks: 1 },
  candidates: [],
  shadow: { event: null, predicted: null, affinity: null },
  ...change,
});
