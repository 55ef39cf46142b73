import type { PlacementMode, PlacementReason } from '../core/placement/placement.ts';

/** What a router counts, where it happens. */
export interface RouterMetrics {
  placed(mode: PlacementMode, reason: PlacementReason, overlapBlocks: number): void;
  finished(request: { readonly status: number; readonly ttftMs: number | null; readonly durationMs: number; readonly promptTokens: number | null; readonly cachedTokens: number | null }): void;
  failed(code: string): void;
  rerouted(code: string): void;
  rejected(code: string): void;
  /** A prompt whose tokens could not be known; `why` is one of a few fixed words. */
  tokensUnknown(why: string): void;
  /** The engine counted other prompt tokens than we did. */
  tokensDiffer(): void;
  /** Another router's claim that had to be dropped or grew too old. */
  foreignClaimLost(why: 'expired' | 'unreadable'): void;
}
