import type { EngineBatch } from '../core/kv-stream/engine-event.ts';
import { reusableBlocks } from '../core/placement/overlap.ts';
import type { EventAnswer, EventQuery } from './event-query.ts';
import { RankInspection, type BatchOutcome, type RankInspectionOptions } from './inspect-rank.ts';

/** One message of a rank's event socket; `batch` is null where it was none. */
export interface ObservedMessage {
  readonly rank: number;
  readonly batch: EngineBatch | null;
  /** Why it was none. */
  readonly reason: string | null;
}

export interface InspectionReport {
  readonly batches: number;
  readonly events: number;
  /** Messages and events that could not be read; by reason in `invalidReasons`. */
  readonly invalid: number;
  readonly invalidReasons: Readonly<Record<string, number>>;
  readonly gaps: number;
  readonly missingBatches: number;
  /** Lives of ranks' caches as they could be followed, all ranks together. */
  readonly epochs: number;
  readonly ranks: readonly RankReport[];
  readonly queries: readonly EventAnswer[];
}

export interface RankReport {
  readonly rank: number;
  readonly blocks: number;
  readonly pageSize: number | null;
  readonly epochs: number;
  readonly unknownRemovals: number;
  readonly orphanedStores: number;
  readonly refusedStores: number;
  /** Why nothing is credited on this rank; null where there is no such reason. */
  readonly untrusted: string | null;
}

/** Follows recorded or live KV events of an engine, and answers how much of given prompts its ranks hold. */
export class EventInspection {
  readonly #options: RankInspectionOptions;
  readonly #queries: readonly EventQuery[];
  readonly #answers: (EventAnswer | undefined)[] = [];
  readonly #ranks = new Map<number, RankInspection>();
  readonly #invalidReasons = new Map<string, number>();
  #messages = 0;
  #batches = 0;
  #events = 0;

  constructor(options: RankInspectionOptions, queries: readonly EventQuery[] = []) {
    this.#options = options;
    this.#queries = queries;
    this.#answerThoseDue();
  }

  /** Applies a message; returns what it did, null where it was no batch. Throws `bad-config` where pages and blocks do not fit. */
  see(message: ObservedMessage): BatchOutcome | null {
    const outcome = this.#apply(message);
    this.#messages++;
    this.#answerThoseDue();
    return outcome;
  }

  report(): InspectionReport {
    const ranks = [...this.#ranks].sort(([a], [b]) => a - b);
    return {
      batches: this.#batches,
      events: this.#events,
      invalid: [...this.#invalidReasons.values()].reduce((sum, count) => sum + count, 0),
      invalidReasons: Object.fromEntries(this.#invalidReasons),
      gaps: ranks.reduce((sum, [, rank]) => sum + rank.gaps, 0),
      missingBatches: ranks.reduce((sum, [, rank]) => sum + rank.missingBatches, 0),
      epochs: ranks.reduce((sum, [, rank]) => sum + rank.epochs, 0),
      ranks: ranks.map(([rank, inspection]) => rankReport(rank, inspection)),
      queries: this.#queries.map((query, index) => this.#answers[index] ?? this.#answer(query)),
    };
  }

  #apply({ rank, batch, reason }: ObservedMessage): BatchOutcome | null {
    if (batch === null) {
      this.#countInvalid(reason ?? 'unreadable');
      return null;
    }
    this.#batches++;
    this.#events += batch.events.length;
    batch.invalid.forEach((why) => this.#countInvalid(why));
    return this.#rank(rank).apply(batch);
  }

  #countInvalid(reason: string): void {
    this.#invalidReasons.set(reason, (this.#invalidReasons.get(reason) ?? 0) + 1);
  }

  #rank(rank: number): RankInspection {
    const known = this.#ranks.get(rank);
    if (known !== undefined) return known;
    const inspection = new RankInspection(this.#options);
    this.#ranks.set(rank, inspection);
    return inspection;
  }

  #answerThoseDue(): void {
    this.#queries.forEach((query, index) => {
      if (query.afterMessages === this.#messages) this.#answers[index] = this.#answer(query);
    });
  }

  #answer(query: EventQuery): EventAnswer {
    const asked = query.rank === null ? [...this.#ranks.keys()].sort((a, b) => a - b) : [query.rank];
    const answers = asked.map((rank) => this.#answerOfRank(query, rank));
    return answers.reduce((best, answer) => (answer.blocks > best.blocks ? answer : best), answers[0] ?? this.#answerOfRank(query, 0));
  }

  #answerOfRank(query: EventQuery, rank: number): EventAnswer {
    const { blockSize } = this.#options;
    const inspection = this.#ranks.get(rank);
    const blocks = query.unanswerable === null ? (inspection?.answer(query) ?? 0) : 0;
    const pageSize = inspection?.pageSize ?? blockSize;
    return {
      tokens: query.tokens.length,
      rank,
      blocks,
      reusableBlocks: reusableBlocks(blocks, query.tokens.length, { pageSize, blockSize }),
      engineBlocks: query.engineTokens === null ? null : Math.floor(query.engineTokens / blockSize),
      unanswerable: query.unanswerable ?? inspection?.whyUntrusted ?? null,
    };
  }
}

function rankReport(rank: number, inspection: RankInspection): RankReport {
  const { unknownRemovals, orphanedStores, refused } = inspection.counters;
  return {
    rank,
    blocks: inspection.heldBlocks,
    pageSize: inspection.pageSize,
    epochs: inspection.epochs,
    unknownRemovals,
    orphanedStores,
    refusedStores: refused,
    untrusted: inspection.whyUntrusted,
  };
}
