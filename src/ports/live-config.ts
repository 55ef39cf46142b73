import type { LivePolicy } from '../core/placement/placement.ts';
import type { Closable } from './kv-bus.ts';

/** The live policy that all routers of a deployment share, in `KIN_CONFIG`. */
export interface LiveConfig {
  /** Null: none was ever set, each router goes by its flags. */
  get(): Promise<LivePolicy | null>;
  put(policy: LivePolicy): Promise<void>;
  follow(onPolicy: (policy: LivePolicy) => void): Promise<Closable>;
}
