import type { RankId } from '../core/identity/ids.ts';
import type { PlacedPlacement } from '../core/placement/placement-record.ts';
import type { Lease } from '../core/sessions/session-lease.ts';
import { RouterError } from '../core/router-error.ts';
import type { Log } from '../ports/log.ts';
import type { PromptTokenizer } from '../ports/prompt-tokens.ts';
import type { ClientRequest, PlacedHead, RequestRouter, RoutedAnswer } from '../ports/request-router.ts';
import type { RequestTransport } from '../ports/request-transport.ts';
import { answerStream } from './route/answer-stream.ts';
import type { BegunAnswer } from './route/answer-stream.ts';
import type { AskedRequest } from './route/asked-request.ts';
import { placementRequestOf } from './route/asked-request.ts';
import { engineBody } from './route/engine-body.ts';
import type { BodyPlan } from './route/engine-body.ts';
import { asCancellation, asRouterError, isBusy, mayGoElsewhere } from './route/failure.ts';
import { forwardedHeaders } from './route/forwarded-headers.ts';
import { RequestPlacer } from './route/request-placer.ts';
import type { PlacerDeps } from './route/request-placer.ts';
import { RequestRun } from './route/request-run.ts';
import type { RunBooks } from './route/request-run.ts';
import { understandRequest } from './route/understand-request.ts';
import type { Usage } from './route/usage-reader.ts';

export interface RouteDeps extends RunBooks, PlacerDeps {
  readonly tokenizer: PromptTokenizer;
  readonly transport: RequestTransport;
  readonly log: Log;
}

export interface RouteOptions {
  /** How many further ranks a request may go to when one fails it before the first byte. */
  readonly retries: number;
  /** Longest life of a request, milliseconds. */
  readonly deadlineMs: number;
}

/** What one attempt came to. */
type Attempt =
  | { readonly kind: 'answered'; readonly run: RequestRun; readonly answer: BegunAnswer }
  | { readonly kind: 'failed'; readonly run: RequestRun; readonly error: RouterError };

/** One request's way through: what stays the same over its attempts. */
interface Journey {
  readonly asked: AskedRequest;
  readonly lease: Lease;
  readonly onPlaced: (placed: PlacedHead) => void;
  readonly signal: AbortSignal;
}

/**
 * A request's life in the router: understood, placed by the mode in force, sent, and its answer passed on. A rank that
 * fails before the first byte is followed by another one; after that nothing is sent twice.
 */
export class RouteRequest implements RequestRouter {
  readonly #deps: RouteDeps;
  readonly #options: RouteOptions;
  readonly #placer: RequestPlacer;

  constructor(deps: RouteDeps, options: RouteOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#placer = new RequestPlacer(deps);
  }

  async route(client: ClientRequest, onPlaced: (placed: PlacedHead) => void, signal: AbortSignal): Promise<RoutedAnswer> {
    const { clock, sessions } = this.#deps;
    const asked = await understandRequest(client, clock.nowMs(), this.#deps, signal);
    const first = this.#placer.first(asked);
    const lease = sessions.begin(asked.session, clock.nowMs());
    const journey: Journey = { asked, lease, onPlaced, signal };
    try {
      const { run, answer } = await this.#answered(journey, first);
      const { status, headers } = answer.response;
      return { status, headers, body: answerStream(answer, run, (usage) => this.#ended(asked, usage)) };
    } catch (error) {
      lease.end(clock.nowMs());
      throw error;
    }
  }

  /** Goes from rank to rank until one answers. Throws the last failure when there is no other or no attempt left. */
  async #answered(journey: Journey, first: PlacedPlacement): Promise<Extract<Attempt, { kind: 'answered' }>> {
    const failed: RankId[] = [];
    let placement = first;
    for (;;) {
      const attempt = await this.#attempt(journey, placement);
      const code = this.#retryCode(attempt, failed.length);
      failed.push(placement.id);
      if (code === null || journey.signal.aborted) return concluded(attempt);
      const next = this.#placer.another(journey.asked, failed);
      if (next === null) return concluded(attempt);
      attempt.run.reroute(code);
      if (attempt.kind === 'answered') await attempt.answer.rest.return?.();
      this.#deps.log.warn({ requestId: journey.asked.client.id, ...placement.id, code, next: next.id }, 'rerouted');
      placement = next;
    }
  }

  /** Why this attempt may be followed by another; null: it stands. */
  #retryCode(attempt: Attempt, failedBefore: number): string | null {
    if (failedBefore >= this.#options.retries) return null;
    if (attempt.kind === 'failed') return mayGoElsewhere(attempt.error) ? attempt.error.code : null;
    const { status } = attempt.answer.response;
    // One that is told "too many" everywhere only adds to it: at most one other rank is asked.
    if (!isBusy(status) || (status === 429 && failedBefore > 0)) return null;
    return `engine-${status}`;
  }

  async #attempt({ asked, lease, onPlaced, signal }: Journey, placement: PlacedPlacement): Promise<Attempt> {
    const { startedMs, pool } = asked;
    const run = new RequestRun({ request: placementRequestOf(asked, []), placement, blockSize: pool.blockSize, lease, startedMs }, this.#deps);
    const cancelled = (): void => {
      const { code, message } = asCancellation(signal.reason);
      run.fail(code, message, { beforeFirstByte: true });
    };
    signal.addEventListener('abort', cancelled, { once: true });
    onPlaced(placement);
    try {
      const answer = await this.#send(asked, placement.id, signal);
      this.#deps.cooldown.answered(placement.id);
      if (answer.response.status < 400) run.dispatched();
      return { kind: 'answered', run, answer };
    } catch (thrown) {
      const error = asRouterError(thrown);
      if (mayGoElsewhere(error)) this.#deps.cooldown.failed(placement.id, this.#deps.clock.nowMs());
      return { kind: 'failed', run, error };
    }
  }

  /** Resolves with the first piece: until then another rank can take over without the client seeing it. */
  async #send(asked: AskedRequest, id: RankId, signal: AbortSignal): Promise<BegunAnswer> {
    const { client, pool } = asked;
    const request = {
      id: client.id,
      method: client.method,
      path: client.path,
      headers: forwardedHeaders(client.headers),
      body: engineBody(this.#bodyPlan(asked, id)),
      deadlineMs: Math.max(1, this.#options.deadlineMs - (this.#deps.clock.nowMs() - asked.startedMs)),
    };
    const response = await this.#deps.transport.send(pool.pool, id, request, signal);
    const rest = response.body[Symbol.asyncIterator]();
    return { response, first: await rest.next(), rest };
  }

  #bodyPlan({ client, endpoint, pool, session, sessionByHeader }: AskedRequest, id: RankId): BodyPlan {
    const rank = this.#deps.pools.ranks(pool.pool).find((known) => known.id.worker === id.worker);
    // It was there when the request was placed on it, a moment ago and without waiting between.
    if (rank === undefined) throw new RouterError('no-responder', `worker ${id.worker} has left pool ${pool.pool}`);
    const { fields, body } = client;
    return { endpoint, body, fields, requestId: client.id, registration: rank.registration, rank: id.rank, session: sessionByHeader ? (session?.session ?? null) : null };
  }

  #ended({ session, sessionFinal, promptTokens, client, pool }: AskedRequest, usage: Usage): void {
    if (session !== null && sessionFinal) this.#deps.sessions.unbind(session.tenant, session.session);
    if (promptTokens === null || usage.promptTokens === null) return;
    this.#deps.tokenizer.counted({ pool: pool.pool, ours: promptTokens, engines: usage.promptTokens });
    if (promptTokens === usage.promptTokens) return;
    this.#deps.metrics.tokensDiffer();
    this.#deps.log.warn({ requestId: client.id, promptTokens, engine: usage.promptTokens }, 'prompt-tokens-differ');
  }
}

/** The attempt that stands: an answer, or the failure that the client is told. */
function concluded(attempt: Attempt): Extract<Attempt, { kind: 'answered' }> {
  if (attempt.kind === 'answered') return attempt;
  attempt.run.fail(attempt.error.code, attempt.error.message, { beforeFirstByte: true });
  throw attempt.error;
}
