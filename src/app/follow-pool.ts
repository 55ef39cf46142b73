import type { Isolation } from '../core/identity/chain-seed.ts';
import { chainSeed } from '../core/identity/chain-seed.ts';
import type { DpRank, PoolId, RankId, RankKey, WorkerId } from '../core/identity/ids.ts';
import { rankKey } from '../core/identity/ids.ts';
import type { WorkerRegistration } from '../core/identity/registration.ts';
import type { ChainSeed, SequenceHashes } from '../core/identity/sequence-hash.ts';
import type { KvBatch } from '../core/kv-stream/kv-event.ts';
import type { LoadSnapshot } from '../core/load/load-snapshot.ts';
import { RadixIndex } from '../core/prefix-index/radix-index.ts';
import { maxRanks } from '../core/prefix-index/rank-numbers.ts';
import type { FollowCounters } from './follow-counters.ts';
import { RankFollow } from './follow-rank.ts';
import type { SnapshotQueue } from './snapshot-queue.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { RankTrust } from '../ports/router-view.ts';

/** What a pool's prompts go by. */
export interface PoolState {
  readonly pool: PoolId;
  readonly models: readonly string[];
  /** Tokens. */
  readonly blockSize: number;
  /** The smallest that a worker names, so that a prompt within it fits anywhere; null where none does. */
  readonly contextLength: number | null;
  readonly vocabSize: number | null;
  seedOf(isolation: Isolation): ChainSeed;
}

/** One announced rank, as it is known at this moment. */
export interface FollowedRank {
  readonly id: RankId;
  readonly registration: WorkerRegistration;
  readonly draining: boolean;
  readonly trust: RankTrust;
  /** Null: no report came yet. */
  readonly load: LoadSnapshot | null;
  /** Since the report came. */
  readonly loadAgeMs: number | null;
  readonly heldBlocks: number;
}

export interface PoolFollowDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: FollowCounters;
  readonly queue: SnapshotQueue;
  readonly onStored: (pool: PoolId, id: RankId, hashes: SequenceHashes) => void;
}

interface FollowedWorker {
  registration: WorkerRegistration;
  /** Announced ranks, and any other that batches came from. */
  readonly ranks: Map<DpRank, RankFollow>;
}

/** Workers, ranks, loads and the index of one pool. */
export class PoolFollow {
  readonly pool: PoolId;
  readonly blockSize: number;
  readonly #deps: PoolFollowDeps;
  readonly #index = new RadixIndex();
  readonly #workers = new Map<WorkerId, FollowedWorker>();
  readonly #loads = new Map<RankKey, { readonly load: LoadSnapshot; readonly atMs: number }>();
  #following = false;
  #state: PoolState;

  constructor(pool: PoolId, blockSize: number, deps: PoolFollowDeps) {
    this.pool = pool;
    this.blockSize = blockSize;
    this.#deps = deps;
    this.#state = this.#describe();
  }

  get state(): PoolState {
    return this.#state;
  }

  get workers(): number {
    return this.#workers.size;
  }

  registrationOf(worker: WorkerId): WorkerRegistration | null {
    return this.#workers.get(worker)?.registration ?? null;
  }

  /** A worker came, or says something new of itself within the same life. */
  put(registration: WorkerRegistration): void {
    const worker = this.#workers.get(registration.worker) ?? { registration, ranks: new Map<DpRank, RankFollow>() };
    worker.registration = registration;
    this.#workers.set(registration.worker, worker);
    if (registration.events.kind === 'zmq') for (const rank of registration.ranks) this.#findOrAddRank(worker, { worker: registration.worker, rank });
    this.#state = this.#describe();
  }

  /** A known worker in a new life: nothing that was known of its ranks is true any more. */
  restart(registration: WorkerRegistration): void {
    const ranks = this.#workers.get(registration.worker)?.ranks ?? new Map<DpRank, RankFollow>();
    for (const [dpRank, rank] of ranks) {
      if (registration.events.kind === 'zmq' && registration.ranks.includes(dpRank)) {
        rank.restart();
        continue;
      }
      rank.stop();
      ranks.delete(dpRank);
    }
    this.#dropLoads((worker) => worker === registration.worker);
  }

  /** Takes the worker's blocks with it, those of ranks it never announced too. */
  remove(worker: WorkerId): void {
    for (const rank of this.#workers.get(worker)?.ranks.values() ?? []) rank.stop();
    this.#workers.delete(worker);
    this.#dropLoads((each) => each === worker);
    this.#state = this.#describe();
  }

  /** Batches arrive from now on: what was held before is asked for. */
  startRanks(): void {
    this.#following = true;
    for (const { ranks } of this.#workers.values()) for (const rank of ranks.values()) rank.start();
  }

  batch(id: RankId, batch: KvBatch): void {
    const worker = this.#workers.get(id.worker);
    if (worker === undefined || worker.registration.events.kind === 'none') {
      this.#deps.counters.unknownWorkerBatches++;
      return;
    }
    this.#findOrAddRank(worker, id)?.batch(batch);
  }

  load(load: LoadSnapshot): void {
    const key = rankKey(load.id);
    // A report may come before its worker's registration, so it is kept; but not without bound, and not of the gone.
    if (!this.#loads.has(key) && this.#loads.size >= maxRanks) this.#dropLoads((worker) => !this.#workers.has(worker));
    this.#loads.set(key, { load, atMs: this.#deps.clock.nowMs() });
  }

  ranks(): readonly FollowedRank[] {
    const nowMs = this.#deps.clock.nowMs();
    return [...this.#workers.values()].flatMap((worker) => worker.registration.ranks.map((rank) => this.#rankNow(worker, rank, nowMs)));
  }

  overlaps(hashes: SequenceHashes): ReadonlyMap<RankKey, number> {
    return this.#index.overlaps(hashes);
  }

  #rankNow(worker: FollowedWorker, rank: DpRank, nowMs: number): FollowedRank {
    const { registration } = worker;
    const id: RankId = { worker: registration.worker, rank };
    const report = this.#loads.get(rankKey(id)) ?? null;
    return {
      id,
      registration,
      draining: registration.draining,
      trust: registration.events.kind === 'none' ? 'without-events' : (worker.ranks.get(rank)?.trust ?? 'untrusted'),
      load: report?.load ?? null,
      loadAgeMs: report === null ? null : nowMs - report.atMs,
      heldBlocks: this.#index.blocksHeld(id),
    };
  }

  /** Null where the pool has as many ranks as its index can tell apart. */
  #findOrAddRank(worker: FollowedWorker, id: RankId): RankFollow | null {
    const found = worker.ranks.get(id.rank);
    if (found !== undefined) return found;
    const followed = [...this.#workers.values()].reduce((sum, { ranks }) => sum + ranks.size, 0);
    if (followed >= maxRanks) {
      this.#deps.log.error({ pool: this.pool, rank: rankKey(id), maxRanks }, 'too-many-ranks');
      return null;
    }
    const { counters, queue, log, onStored } = this.#deps;
    const rank = new RankFollow(id, { pool: this.pool, index: this.#index, counters, queue, log, onStored: (of, hashes) => onStored(this.pool, of, hashes) });
    worker.ranks.set(id.rank, rank);
    if (this.#following) rank.start();
    return rank;
  }

  #dropLoads(isOf: (worker: WorkerId) => boolean): void {
    for (const [key, { load }] of this.#loads) if (isOf(load.id.worker)) this.#loads.delete(key);
  }

  #describe(): PoolState {
    const registrations = [...this.#workers.values()].map((worker) => worker.registration);
    return {
      pool: this.pool,
      models: [...new Set(registrations.flatMap((registration) => registration.models))],
      blockSize: this.blockSize,
      contextLength: smallest(registrations.map((registration) => registration.contextLength)),
      vocabSize: smallest(registrations.map((registration) => registration.vocabSize)),
      seedOf: (isolation) => chainSeed(this.pool, isolation),
    };
  }
}

function smallest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.min(...known);
}
