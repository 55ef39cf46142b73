import type { LoadSnapshot } from '../core/load/load-snapshot.ts';
import type { WorkerRegistration } from '../core/identity/registration.ts';
import type { PoolId, WorkerId } from '../core/identity/ids.ts';
import type { Closable } from './kv-bus.ts';

/** Agent side: keeps one registration alive until closed, which removes it at once. */
export interface Registered extends Closable {
  update(registration: WorkerRegistration): Promise<void>;
}

export interface WorkerRegistry {
  /** Rejects with `bad-config` when another living agent holds this name. */
  register(registration: WorkerRegistration): Promise<Registered>;
}

export interface WorkerListener {
  /** A worker came, or what it says of itself changed. */
  registered(registration: WorkerRegistration): void;
  /** It said goodbye, or its registration was not renewed in time. */
  gone(pool: PoolId, worker: WorkerId): void;
}

/** Router side. Resolves when all registrations that were there have been told. */
export interface WorkerDirectory {
  follow(listener: WorkerListener): Promise<Closable>;
}

/** Agent side: last load per rank, every period and on change. */
export interface LoadPublisher {
  publish(pool: PoolId, load: LoadSnapshot): void;
}

/** Router side. */
export interface LoadFollower {
  follow(pool: PoolId, onLoad: (load: LoadSnapshot) => void): Promise<Closable>;
}
