/** What happened to the KV streams that a router follows, since it started. */
export interface FollowCounters {
  batches: number;
  duplicateBatches: number;
  staleBatches: number;
  /** Of workers that are not registered (yet): their snapshot comes with the registration. */
  unknownWorkerBatches: number;
  gaps: number;
  missingBatches: number;
  epochs: number;
  /** Buffered batches that made room for newer ones; each shows as a gap later. */
  droppedBatches: number;
  snapshots: number;
  failedSnapshots: number;
  storedBlocks: number;
  removedBlocks: number;
  unknownRemovals: number;
  orphanedBlocks: number;
  refusedBlocks: number;
  refusedWorkers: number;
}

export const newFollowCounters = (): FollowCounters => ({
  batches: 0,
  duplicateBatches: 0,
  staleBatches: 0,
  unknownWorkerBatches: 0,
  gaps: 0,
  missingBatches: 0,
  epochs: 0,
  droppedBatches: 0,
  snapshots: 0,
  failedSnapshots: 0,
  storedBlocks: 0,
  removedBlocks: 0,
  unknownRemovals: 0,
  orphanedBlocks: 0,
  refusedBlocks: 0,
  refusedWorkers: 0,
});
