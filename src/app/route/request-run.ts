import type { RankId, RouterId } from '../../core/identity/ids.ts';
import type { ClaimLedger } from '../../core/load/claim-ledger.ts';
import { claimOf } from '../../core/placement/placement-claim.ts';
import type { PlacementRequest } from '../../core/placement/placement.ts';
import type { EventOrigin, EventSubject, PlacedPlacement } from '../../core/placement/placement-record.ts';
import { toFailedEvent, toFinishedEvent, toFirstTokenEvent, toPlacedEvent, toReroutedEvent } from '../../core/placement/placement-record.ts';
import type { PredictedIndex } from '../../core/prefix-index/predicted-index.ts';
import type { Lease } from '../../core/sessions/session-lease.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PlacementPublisher } from '../../ports/placement-bus.ts';
import type { RouterMetrics } from '../../ports/router-metrics.ts';
import type { Usage } from './usage-reader.ts';

/** What a run keeps account in. */
export interface RunBooks {
  readonly router: RouterId;
  readonly ledger: ClaimLedger;
  readonly predictions: PredictedIndex;
  readonly placements: PlacementPublisher;
  readonly metrics: RouterMetrics;
  readonly clock: Clock;
}

export interface RunStart {
  readonly request: PlacementRequest;
  readonly placement: PlacedPlacement;
  readonly blockSize: number;
  readonly lease: Lease;
  readonly startedMs: number;
}

/**
 * One attempt of a request on one rank, from placement to its end. It holds the claim and the prediction, and says on
 * the placement stream what became of it: exactly one of `finish`, `fail` and `reroute` has an effect, the first.
 */
export class RequestRun {
  readonly #books: RunBooks;
  readonly #start: RunStart;
  readonly #subject: EventSubject;
  #over = false;
  #ttftMs: number | null = null;

  /** Takes the claim, predicts the prompt's blocks, proposes the session's rank, and tells of the placement. */
  constructor(start: RunStart, books: RunBooks) {
    const { request, placement, blockSize, lease } = start;
    this.#books = books;
    this.#start = start;
    this.#subject = { requestId: request.id, id: placement.id };
    const claim = claimOf(books.router, request, placement, blockSize);
    books.ledger.take(claim);
    books.predictions.predict(request.id, placement.id, request.hashes, books.clock.nowMs());
    // A target says where this request goes, not where its session belongs.
    if (request.target === null) lease.propose(placement.id);
    books.placements.publish(toPlacedEvent(this.#origin(), request, { placement, claim }));
    books.metrics.placed(placement.mode, placement.reason, placement.overlapBlocks);
  }

  get id(): RankId {
    return this.#subject.id;
  }

  get over(): boolean {
    return this.#over;
  }

  /** The engine has taken the request: the session is bound. */
  dispatched(): void {
    if (this.#start.request.target === null) this.#start.lease.commit(this.id, this.#books.clock.nowMs());
  }

  /** The engine refused: nothing was computed. */
  refused(): void {
    this.#books.predictions.withdraw(this.#subject.requestId);
  }

  /** The first piece of a stream has come: prefill is over. */
  firstToken(): void {
    if (this.#over || this.#ttftMs !== null) return;
    this.#ttftMs = this.#sinceStart();
    this.#books.ledger.firstToken(this.#subject.requestId);
    this.#books.placements.publish(toFirstTokenEvent(this.#origin(), this.#subject, this.#ttftMs));
  }

  decoded(tokens: number): void {
    if (!this.#over) this.#books.ledger.addDecodeTokens(this.#subject.requestId, tokens);
  }

  finish(status: number, usage: Usage): void {
    if (!this.#end()) return;
    const figures = { status, ttftMs: this.#ttftMs, durationMs: this.#sinceStart(), ...usage, overlapBlocks: this.#start.placement.overlapBlocks };
    this.#books.placements.publish(toFinishedEvent(this.#origin(), this.#subject, figures));
    this.#books.metrics.finished(figures);
  }

  /** `beforeFirstByte`: nothing of an answer came, so nothing is taken to be cached there. */
  fail(code: string, message: string, { beforeFirstByte }: { readonly beforeFirstByte: boolean }): void {
    if (!this.#end()) return;
    if (beforeFirstByte) this.#books.predictions.withdraw(this.#subject.requestId);
    this.#books.placements.publish(toFailedEvent(this.#origin(), this.#subject, { code, message, durationMs: this.#sinceStart() }));
    this.#books.metrics.failed(code);
  }

  /** It goes on elsewhere, in a run of its own. */
  reroute(code: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#books.ledger.release(this.#subject.requestId);
    this.#books.predictions.withdraw(this.#subject.requestId);
    this.#books.placements.publish(toReroutedEvent(this.#origin(), this.#subject, code));
    this.#books.metrics.rerouted(code);
  }

  /** False: it was over already. */
  #end(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#books.ledger.release(this.#subject.requestId);
    this.#start.lease.end(this.#books.clock.nowMs());
    return true;
  }

  #sinceStart(): number {
    return this.#books.clock.nowMs() - this.#start.startedMs;
  }

  #origin(): EventOrigin {
    const { router, clock } = this.#books;
    return { at: clock.isoNow(), router, pool: this.#start.request.pool };
  }
}
