import type { PoolId, RankId, RankKey, WorkerId } from '../core/identity/ids.ts';
import type { WorkerRegistration } from '../core/identity/registration.ts';
import type { SequenceHashes } from '../core/identity/sequence-hash.ts';
import { messageOf } from '../core/router-error.ts';
import type { Clock } from '../ports/clock.ts';
import type { Closable, KvFollower, SnapshotClient } from '../ports/kv-bus.ts';
import type { Log } from '../ports/log.ts';
import type { LoadFollower, WorkerDirectory } from '../ports/worker-registry.ts';
import type { FollowCounters } from './follow-counters.ts';
import { newFollowCounters } from './follow-counters.ts';
import type { FollowedRank, PoolState } from './follow-pool.ts';
import { PoolFollow } from './follow-pool.ts';
import { defaultSnapshotPace, SnapshotQueue } from './snapshot-queue.ts';

export interface EngineFollowerDeps {
  readonly workers: WorkerDirectory;
  readonly kv: KvFollower;
  readonly loads: LoadFollower;
  readonly snapshots: SnapshotClient;
  readonly clock: Clock;
  readonly log: Log;
  /** In [0, 1). */
  readonly random: () => number;
}

type GoneListener = (pool: PoolId, registration: WorkerRegistration) => void;
type StoredListener = (pool: PoolId, id: RankId, hashes: SequenceHashes) => void;

const subscribeRetryMs = 1_000;

interface OpenPool {
  readonly follow: PoolFollow;
  /** Settles when its streams are followed, or it was closed before that. Never rejects. */
  readonly opened: Promise<void>;
  readonly streams: Closable[];
  closed: boolean;
  /** Ends a pause before the next try. */
  wake: () => void;
}

/** Keeps what routers know of the engines: who is there, what each rank holds and how busy it says it is. */
export class EngineFollower {
  readonly counters: FollowCounters = newFollowCounters();
  readonly #deps: EngineFollowerDeps;
  readonly #queue: SnapshotQueue;
  readonly #pools = new Map<PoolId, OpenPool>();
  /** By pool and worker: block sizes that don't fit; taken in when the pool has become empty. */
  readonly #refused = new Map<string, WorkerRegistration>();
  readonly #goneListeners: GoneListener[] = [];
  readonly #storedListeners: StoredListener[] = [];
  readonly #closing = new Set<Promise<void>>();
  #directory: Closable | null = null;

  constructor(deps: EngineFollowerDeps) {
    this.#deps = deps;
    this.#queue = new SnapshotQueue({ ...deps, counters: this.counters }, defaultSnapshotPace);
  }

  /** Resolves when the workers that are there are known and their streams are followed; snapshots come later. */
  async start(): Promise<void> {
    this.#directory = await this.#deps.workers.follow({
      registered: (registration) => this.#registered(registration),
      gone: (pool, worker) => this.#gone(pool, worker),
    });
    await Promise.all([...this.#pools.values()].map((open) => open.opened));
  }

  async close(): Promise<void> {
    await this.#directory?.close();
    for (const open of this.#pools.values()) this.#closePool(open);
    this.#pools.clear();
    await Promise.all([...this.#closing, this.#queue.close()]);
  }

  /** Pools that have a worker. */
  pools(): readonly PoolState[] {
    return [...this.#pools.values()].map((open) => open.follow.state);
  }

  /** By what clients write in `model`. None written: the only pool, or null where there are several or none. */
  poolOfModel(model: string | null): PoolState | null {
    const pools = this.pools();
    if (model === null) return pools.length === 1 ? (pools[0] ?? null) : null;
    return pools.find((pool) => pool.models.includes(model)) ?? null;
  }

  /** Announced ranks. */
  ranks(pool: PoolId): readonly FollowedRank[] {
    return this.#pools.get(pool)?.follow.ranks() ?? [];
  }

  /** Leading blocks that the events say each rank holds, of ranks that are not trusted too. */
  eventOverlaps(pool: PoolId, hashes: SequenceHashes): ReadonlyMap<RankKey, number> {
    return this.#pools.get(pool)?.follow.overlaps(hashes) ?? new Map<RankKey, number>();
  }

  /** Ranks whose held blocks are still to be asked for. */
  get pendingSnapshots(): number {
    return this.#queue.pending;
  }

  /** Called with what a worker last said of itself when it left, or came back in another life. */
  onWorkerGone(listener: GoneListener): void {
    this.#goneListeners.push(listener);
  }

  /** Called for each run of blocks that an engine stored; not for what a snapshot restores. */
  onStored(listener: StoredListener): void {
    this.#storedListeners.push(listener);
  }

  #registered(registration: WorkerRegistration): void {
    const known = this.#pools.get(registration.pool)?.follow.registrationOf(registration.worker) ?? null;
    if (known !== null && known.life !== registration.life) this.#newLife(known, registration);
    const open = this.#pools.get(registration.pool) ?? this.#openPool(registration);
    if (open.follow.blockSize !== registration.blockSize) {
      this.#refuse(registration, open.follow.blockSize);
      return;
    }
    this.#refused.delete(refusedKey(registration.pool, registration.worker));
    if (known === null) this.#deps.log.info({ pool: registration.pool, worker: registration.worker, ranks: registration.ranks.length, engineUrl: registration.engineUrl }, 'worker-joined');
    open.follow.put(registration);
  }

  #newLife(known: WorkerRegistration, registration: WorkerRegistration): void {
    if (known.blockSize !== registration.blockSize) {
      this.#gone(known.pool, known.worker);
      return;
    }
    this.#deps.log.info({ pool: known.pool, worker: known.worker, life: registration.life }, 'worker-restarted');
    this.#pools.get(known.pool)?.follow.restart(registration);
    for (const listener of this.#goneListeners) listener(known.pool, known);
  }

  #gone(pool: PoolId, worker: WorkerId): void {
    this.#refused.delete(refusedKey(pool, worker));
    const open = this.#pools.get(pool);
    const registration = open?.follow.registrationOf(worker) ?? null;
    if (open === undefined || registration === null) return;
    open.follow.remove(worker);
    this.#deps.log.info({ pool, worker }, 'worker-gone');
    for (const listener of this.#goneListeners) listener(pool, registration);
    if (open.follow.workers > 0) return;
    this.#pools.delete(pool);
    this.#closePool(open);
    for (const waiting of [...this.#refused.values()]) if (waiting.pool === pool) this.#registered(waiting);
  }

  #refuse(registration: WorkerRegistration, blockSize: number): void {
    const key = refusedKey(registration.pool, registration.worker);
    const before = this.#refused.get(key);
    this.#refused.set(key, registration);
    if (before?.life === registration.life && before.blockSize === registration.blockSize) return;
    this.counters.refusedWorkers++;
    const { pool, worker } = registration;
    const message = `worker ${worker} publishes blocks of ${registration.blockSize} tokens, pool ${pool} uses ${blockSize}: start its agent with --block-size ${blockSize}, or with another --pool`;
    this.#deps.log.error({ pool, worker, workerBlockSize: registration.blockSize, poolBlockSize: blockSize, message }, 'worker-refused');
  }

  #openPool(registration: WorkerRegistration): OpenPool {
    const { clock, log } = this.#deps;
    const follow = new PoolFollow(registration.pool, registration.blockSize, {
      clock,
      log,
      counters: this.counters,
      queue: this.#queue,
      onStored: (pool, id, hashes) => {
        for (const listener of this.#storedListeners) listener(pool, id, hashes);
      },
    });
    let settled: () => void = () => undefined;
    const open: OpenPool = { follow, opened: new Promise((resolve) => (settled = resolve)), streams: [], closed: false, wake: () => undefined };
    this.#pools.set(registration.pool, open);
    this.#track(this.#followStreams(open).then(settled));
    return open;
  }

  /** Tries until both streams are followed or the pool is closed. */
  async #followStreams(open: OpenPool): Promise<void> {
    const { pool } = open.follow;
    while (!open.closed) {
      try {
        open.streams.push(await this.#deps.kv.follow(pool, (id, batch) => (open.closed ? undefined : open.follow.batch(id, batch))));
        open.streams.push(await this.#deps.loads.follow(pool, (load) => (open.closed ? undefined : open.follow.load(load))));
        if (!open.closed) open.follow.startRanks();
        return;
      } catch (error) {
        this.#deps.log.error({ pool, error: messageOf(error), retryMs: subscribeRetryMs }, 'pool-not-followed');
        await closeAll(open.streams);
        await this.#pause(open);
      }
    }
  }

  #pause(open: OpenPool): Promise<void> {
    if (open.closed) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = this.#deps.clock.after(subscribeRetryMs, resolve);
      open.wake = () => {
        stop();
        resolve();
      };
    });
  }

  #closePool(open: OpenPool): void {
    open.closed = true;
    open.wake();
    this.#track(open.opened.then(() => closeAll(open.streams)));
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => this.#deps.log.warn({ error: messageOf(error) }, 'stream-not-closed'))
      .finally(() => this.#closing.delete(tracked));
    this.#closing.add(tracked);
  }
}

async function closeAll(streams: Closable[]): Promise<void> {
  await Promise.all(streams.splice(0).map((stream) => stream.close()));
}

const refusedKey = (pool: PoolId, worker: WorkerId): string => `${pool}/${worker}`;
