import type { Epoch, RankId } from '../identity/ids.ts';
import type { SequenceHashes } from '../identity/sequence-hash.ts';

/** Where a copy of a block lies at the engine. */
export type StorageTier = 'device' | 'host' | 'disk' | 'external';

/** One change of what a rank holds, in blocks of the pool's size. */
export type KvEvent =
  /** `hashes` is one chain; `parent` is the one hash before its first (null: the chain starts the prompt). */
  | { readonly kind: 'stored'; readonly parent: SequenceHashes | null; readonly hashes: SequenceHashes; readonly tier: StorageTier }
  /** Single blocks in any order. */
  | { readonly kind: 'removed'; readonly hashes: SequenceHashes; readonly tier: StorageTier }
  | { readonly kind: 'cleared' };

/** What an agent publishes for one rank: `seq` is contiguous from 0 within an epoch. */
export interface KvBatch {
  readonly epoch: Epoch;
  readonly seq: number;
  readonly events: readonly KvEvent[];
}

/**
 * All that a rank holds, true after batch `seq` (-1: before the first). Runs come parents first, so that applying
 * them in order to an empty rank rebuilds it. `partial`: the agent came too late to have seen everything stored.
 */
export interface KvSnapshot {
  readonly id: RankId;
  readonly epoch: Epoch;
  readonly seq: number;
  readonly partial: boolean;
  readonly runs: readonly Extract<KvEvent, { kind: 'stored' }>[];
}
