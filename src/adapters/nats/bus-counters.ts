/** What went wrong on the bus without failing anybody's call; each is counted where it happened. */
export interface BusCounters {
  /** A callback of ours threw: the message was lost, the connection was not. */
  callbackFailures: number;
  /** Messages that are none of ours. */
  undecodable: number;
  disconnects: number;
  /** KV batches that were dropped because the buffer was full, or that no message can hold. */
  kvBatchesDropped: number;
  /** KV batches sent again after a disconnect, a hole or no progress. */
  kvBatchesResent: number;
  /** Placement events that were dropped. */
  placementsDropped: number;
  /** Load reports that were not sent for want of a connection. */
  loadsDropped: number;
  /** Stream readers that had to start again. */
  tailsRestarted: number;
  /** Streams that somebody deleted and recreated, or that a restart of the server lost. */
  streamsRecreated: number;
  /** Renewals of a registration that failed. */
  renewalsFailed: number;
}

export const newBusCounters = (): BusCounters => ({
  callbackFailures: 0,
  undecodable: 0,
  disconnects: 0,
  kvBatchesDropped: 0,
  kvBatchesResent: 0,
  placementsDropped: 0,
  loadsDropped: 0,
  tailsRestarted: 0,
  streamsRecreated: 0,
  renewalsFailed: 0,
});
