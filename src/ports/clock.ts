/** Time as the app sees it; tests bring their own. */
export interface Clock {
  /** Milliseconds on a clock that never goes back; only differences mean anything. */
  nowMs(): number;
  /** The wall clock, ISO 8601 UTC with milliseconds. */
  isoNow(): string;
  /** Calls `run` once after `delayMs`; the returned function cancels. Never keeps the process alive. */
  after(delayMs: number, run: () => void): () => void;
  /** Calls `run` every `periodMs` until cancelled. Never keeps the process alive. */
  every(periodMs: number, run: () => void): () => void;
}
