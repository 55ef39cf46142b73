import type { RankId, SessionId, TenantId } from '../../../src/core/identity/ids.ts';
import { parseDpRank, parsePoolId, parseWorkerId, requestId } from '../../../src/core/identity/ids.ts';
import type { SequenceHashes } from '../../../src/core/identity/sequence-hash.ts';
import type { LivePolicy, PlacementRequest, RankLoad, RankView, SessionRef } from '../../../src/core/placement/placement.ts';
import type { PoolView } from '../../../src/core/placement/pool-view.ts';
import { noBindings } from '../../../src/core/placement/pool-view.ts';

export const rank = (worker: string, dpRank = 0): RankId => ({ worker: parseWorkerId(worker), rank: parseDpRank(dpRank) });
export const ranks = (count: number): RankId[] => Array.from({ length: count }, (_, at) => rank(`w${at + 1}`));

export const idle: RankLoad = {
  requests: 0,
  prefillTokens: 0,
  decodeTokens: 0,
  activeBlocks: 0,
  sharedActiveBlocks: 0,
  reportedRunning: null,
  reportedWaiting: null,
};

export type RankChanges = Partial<Omit<RankView, 'load'>> & { readonly load?: Partial<RankLoad> };

/** A whole, idle rank that holds nothing, but for the changes. */
export function rankView(id: RankId, { load, ...changes }: RankChanges = {}): RankView {
  return { id, draining: false, trusted: true, pageSize: 1, eventBlocks: 0, predictedBlocks: 0, ...changes, load: { ...idle, ...load } };
}

/** `blocks` blocks that belong to nothing else with another `seed`. */
export function blocksOf(seed: number, blocks: number): SequenceHashes {
  return Int32Array.from({ length: 2 * blocks }, (_, word) => Math.imul(seed + 1, 0x9e3779b1) + word) as SequenceHashes;
}

export function request(changes: Partial<PlacementRequest> = {}): PlacementRequest {
  const hashes = changes.hashes ?? blocksOf(0, 16);
  return {
    id: requestId('q1'),
    pool: parsePoolId('llama'),
    session: null,
    target: null,
    promptTokens: hashes.length * 32,
    excluded: [],
    ...changes,
    hashes,
  };
}

export function poolView(views: readonly RankView[], policy: Partial<LivePolicy> = {}, changes: Partial<PoolView> = {}): PoolView {
  return { ranks: views, blockSize: 64, policy: { mode: 'event', parentAffinity: 'off', ...policy }, bindings: noBindings, roundRobin: 0, ...changes };
}

export function session(name: string, parent: string | null = null, tenant = 'acme'): SessionRef {
  return { tenant: tenant as TenantId, session: name as SessionId, parent: parent as SessionId | null };
}

/** Always takes the first of equals. */
export const first = (): number => 0;
/** For a test in which nothing may be drawn. */
export const noRandom = (): number => {
  throw new Error('randomness was drawn');
};
