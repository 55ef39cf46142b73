import { assertNever } from '../core/assert-never.ts';
import type { Epoch, RankId } from '../core/identity/ids.ts';
import { EngineCursor } from '../core/kv-stream/engine-cursor.ts';
import type { EngineBatch } from '../core/kv-stream/engine-event.ts';
import type { KvBatch, KvSnapshot } from '../core/kv-stream/kv-event.ts';
import { messageOf } from '../core/router-error.ts';
import type { Log } from '../ports/log.ts';
import type { BlockTree } from './rank-epoch.ts';
import { RankEpoch } from './rank-epoch.ts';

/** Live batches that wait while a replay is fetched. The ones past it are dropped, and found missing afterwards. */
const maxWaiting = 20_000;

export interface RankEventsDeps {
  readonly id: RankId;
  /** An empty tree of this engine's kind. */
  readonly newTree: () => BlockTree;
  readonly newEpoch: () => Epoch;
  readonly publish: (batch: KvBatch) => void;
  /** The engine's batches from a sequence on, oldest first; null where nothing answers. */
  readonly replay: (from: number, signal: AbortSignal) => Promise<readonly EngineBatch[] | null>;
  readonly log: Log;
}

/** What one rank's stream has been through, to count by. */
export interface RankCounters {
  /** From the event socket. */
  liveBatches: number;
  /** Applied, from wherever they came. */
  batches: number;
  gaps: number;
  missingBatches: number;
  healedGaps: number;
  restarts: number;
  lostHistories: number;
  rebuilds: number;
  droppedWhileWaiting: number;
}

/**
 * Turns one rank's event socket into epochs of KV batches. What a replay can bring is brought: the past when the agent
 * starts, a gap, the beginning after a restart. Where it can't, a new epoch begins with nothing in it, marked partial.
 */
export class RankEvents {
  readonly counters: RankCounters = { liveBatches: 0, batches: 0, gaps: 0, missingBatches: 0, healedGaps: 0, restarts: 0, lostHistories: 0, rebuilds: 0, droppedWhileWaiting: 0 };
  readonly #deps: RankEventsDeps;
  readonly #closed = new AbortController();
  readonly #cursor = new EngineCursor();
  #epoch: RankEpoch;
  #toldRefusals = false;
  /** Live batches that came while a replay was under way; null: none is. */
  #waiting: EngineBatch[] | null = [];
  #catchingUp: Promise<void> = Promise.resolve();

  constructor(deps: RankEventsDeps) {
    this.#deps = deps;
    this.#epoch = this.#begin({ partial: false });
  }

  /** Brings in what the engine stored before. Live batches wait meanwhile. Never rejects. */
  start(): Promise<void> {
    this.#catchUp({ from: 0, behind: null });
    return this.#catchingUp;
  }

  /** A batch from the live socket, in the order of arrival. Never throws. */
  receive(batch: EngineBatch): void {
    if (this.#closed.signal.aborted) return;
    this.counters.liveBatches++;
    this.#take(batch);
  }

  #take(batch: EngineBatch): void {
    if (this.#waiting === null) return this.#judge(batch);
    if (this.#waiting.length < maxWaiting) this.#waiting.push(batch);
    else this.counters.droppedWhileWaiting++;
  }

  snapshot(): KvSnapshot {
    return this.#epoch.snapshot();
  }

  get heldBlocks(): number {
    return this.#epoch.held;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#catchingUp;
  }

  #judge(batch: EngineBatch): void {
    const expected = this.#cursor.expected;
    const verdict = this.#cursor.see(batch.seq, 'live');
    switch (verdict.kind) {
      case 'next':
        return this.#apply(batch);
      case 'first':
        return this.#first(batch);
      case 'duplicate':
        return;
      case 'gap':
        this.counters.gaps++;
        this.counters.missingBatches += verdict.missing;
        this.#deps.log.warn({ ...this.#deps.id, expected, seq: batch.seq }, 'engine-events-missing');
        return this.#catchUp({ from: expected, behind: batch });
      case 'restart':
        return this.#restart(batch);
      default:
        return assertNever(verdict, 'sequence verdict');
    }
  }

  /** No replay told of a past. With the very first batch there was none; else it is asked for, where anybody answers. */
  #first(batch: EngineBatch): void {
    const { partial } = this.#epoch;
    if (batch.seq > 0 && !partial) return this.#catchUp({ from: 0, behind: batch });
    if (batch.seq > 0) this.#lose(batch.seq);
    else if (partial) this.#epoch = this.#begin({ partial: false });
    this.#apply(batch);
  }

  /** What the engine's life before held is gone. */
  #restart(batch: EngineBatch): void {
    this.counters.restarts++;
    this.#deps.log.info({ ...this.#deps.id, seq: batch.seq }, 'engine-restarted');
    this.#epoch = this.#begin({ partial: false });
    if (batch.seq === 0) return this.#apply(batch);
    this.#catchUp({ from: 0, behind: batch });
  }

  /** Asks for a replay. `behind`: the live batch that showed that something is missing before it. */
  #catchUp({ from, behind }: { readonly from: number; readonly behind: EngineBatch | null }): void {
    this.#waiting = [];
    this.#catchingUp = this.#replayed(from).then((batches) => {
      if (this.#closed.signal.aborted) return;
      const lostBefore = this.counters.lostHistories;
      // Without an answer, and with nothing that came, what was stored before is anybody's guess.
      if (batches === null && behind === null) this.#epoch = this.#begin({ partial: true });
      for (const batch of batches ?? []) this.#repair(batch);
      if (behind !== null) this.#repair(behind);
      this.#epoch.flush();
      if (this.#epoch.orphanedStores > 0 && !this.#epoch.partial) this.#epoch = this.#epoch.asPartial(this.#deps.newEpoch());
      if (from > 0 && this.counters.lostHistories === lostBefore) this.counters.healedGaps++;
      this.#resume();
    });
  }

  async #replayed(from: number): Promise<readonly EngineBatch[] | null> {
    const { replay, id, log } = this.#deps;
    try {
      return await replay(from, this.#closed.signal);
    } catch (error) {
      if (!this.#closed.signal.aborted) log.warn({ ...id, from, error: messageOf(error) }, 'engine-replay-failed');
      return null;
    }
  }

  /** Applies a batch of a replay, or the one that a replay was asked for. What still is missing is lost for good. */
  #repair(batch: EngineBatch): void {
    const verdict = this.#cursor.see(batch.seq, 'repair');
    if (verdict.kind === 'duplicate') return;
    if (verdict.kind !== 'next' && verdict.missing > 0) this.#lose(batch.seq);
    this.#applyEvents(batch);
  }

  /** The engine no longer has what is missing: nothing that was not seen stored is credited from here on. */
  #lose(seq: number): void {
    this.counters.lostHistories++;
    this.#deps.log.warn({ ...this.#deps.id, seq }, 'engine-history-lost');
    this.#epoch = this.#begin({ partial: true });
    this.#cursor.resumeAt(seq + 1);
  }

  /** Live again, beginning with what has waited; a further gap or restart in it waits for its own replay. */
  #resume(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    for (const batch of waiting) this.#take(batch);
  }

  #apply(batch: EngineBatch): void {
    this.#applyEvents(batch);
    this.#epoch.flush();
    if (this.#epoch.orphanedStores > 0 && !this.#epoch.partial) this.#rebuild(batch.seq);
  }

  /** A page was stored below one that we never saw: something was missed unseen. All of it is asked for again. */
  #rebuild(seq: number): void {
    this.counters.rebuilds++;
    this.#deps.log.warn({ ...this.#deps.id, seq }, 'engine-events-contradict');
    this.#epoch = this.#begin({ partial: false });
    this.#cursor.resumeAt(0);
    this.#catchUp({ from: 0, behind: null });
  }

  #applyEvents(batch: EngineBatch): void {
    this.counters.batches++;
    for (const event of batch.events) {
      // Whatever came before the clear no longer matters, so nothing is missing any more.
      if (event.kind === 'cleared' && this.#epoch.partial) this.#epoch = this.#begin({ partial: false });
      this.#epoch.apply(event);
    }
    if (this.#epoch.refusals.size > 0) this.#tellRefusals();
  }

  /** Once: an engine that is not as described (its page size, say) has every store refused. */
  #tellRefusals(): void {
    if (this.#toldRefusals) return;
    this.#toldRefusals = true;
    this.#deps.log.error({ ...this.#deps.id, pages: Object.fromEntries(this.#epoch.refusals) }, 'engine-stores-refused');
  }

  #begin({ partial }: { readonly partial: boolean }): RankEpoch {
    const { id, newEpoch, newTree, publish } = this.#deps;
    return new RankEpoch({ id, epoch: newEpoch(), partial, tree: newTree(), publish });
  }
}
