import type { PoolId, RankKey } from '../../core/identity/ids.ts';
import type { SequenceHashes } from '../../core/identity/sequence-hash.ts';
import type { FollowedRank, PoolState } from '../follow-pool.ts';

/** What placement reads of the followed engines. */
export interface FollowedPools {
  pools(): readonly PoolState[];
  /** Null `model`: the only pool there is. Null: no such pool, or more than one. */
  poolOfModel(model: string | null): PoolState | null;
  ranks(pool: PoolId): readonly FollowedRank[];
  eventOverlaps(pool: PoolId, hashes: SequenceHashes): ReadonlyMap<RankKey, number>;
}
