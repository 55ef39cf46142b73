export type TraceFormat = 'mooncake' | 'claude-code' | 'dynamo';

/** One recorded request. Its prompt is not recorded: `blockIds` says which blocks of it are equal to which of others. */
export interface TraceRequest {
  /** Arrival, in milliseconds after the first request of the trace. */
  readonly atMs: number;
  /** The conversation it belongs to, and the one that branched from; null where the trace does not say. */
  readonly session: string | null;
  readonly parent: string | null;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** One for each `blockTokens` tokens from the start. Tokens after the last one named belong to this request alone. */
  readonly blockIds: readonly string[];
}

/** A recorded workload, by arrival. Block ids are one namespace for the whole trace. */
export interface Trace {
  readonly format: TraceFormat;
  /** Keys the tokens of its blocks. */
  readonly name: string;
  readonly blockTokens: number;
  readonly requests: readonly TraceRequest[];
}
