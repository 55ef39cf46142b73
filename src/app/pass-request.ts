import type { DpRank } from '../core/identity/ids.ts';
import { RouterError } from '../core/router-error.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineClient } from '../ports/engine.ts';
import type { EngineRequest, RequestHandler } from '../ports/request-transport.ts';

export type PassOutcome = 'answered' | 'refused' | 'failed';

export interface PassRequestDeps {
  readonly engine: EngineClient;
  readonly clock: Clock;
  readonly ranks: readonly DpRank[];
  /** An answer has come to its end, was an error of the engine's own, or broke off: loads have changed. */
  readonly onEnd: (rank: DpRank, outcome: PassOutcome, request: EngineRequest) => void;
}

const rankHeader = 'x-data-parallel-rank';

/** Passes requests on to the engine and its answers back, piece by piece, within each request's deadline. */
export function passRequest({ engine, clock, ranks, onEnd }: PassRequestDeps): RequestHandler {
  return async (rank, request, sink, signal) => {
    const within = deadline(request.deadlineMs, clock, signal);
    let outcome: PassOutcome = 'failed';
    try {
      const response = await engine.send(ranks.length > 1 ? toRank(request, rank) : request, within.signal);
      sink.head(response.status, response.headers);
      for await (const piece of response.body) await sink.data(piece);
      sink.end();
      outcome = response.status < 400 ? 'answered' : 'refused';
    } finally {
      within.release();
      onEnd(rank, outcome, request);
    }
  };
}

/** Both engines' OpenAI routes take the rank from a header; `/generate` wants it in the body, where the router puts it. */
const toRank = (request: EngineRequest, rank: DpRank): EngineRequest => ({
  ...request,
  headers: [...request.headers.filter(([name]) => name !== rankHeader), [rankHeader, String(rank)]],
});

/** A signal that aborts with `signal`, or with `deadline-exceeded` when the request's time is over. */
function deadline(ms: number, clock: Clock, signal: AbortSignal): { readonly signal: AbortSignal; readonly release: () => void } {
  const over = new AbortController();
  const cancel = clock.after(ms, () => over.abort(new RouterError('deadline-exceeded', `request had ${ms} ms left when it came and is not done`)));
  const pass = (): void => over.abort(signal.reason);
  if (signal.aborted) pass();
  signal.addEventListener('abort', pass, { once: true });
  return {
    signal: over.signal,
    release: () => {
      cancel();
      signal.removeEventListener('abort', pass);
    },
  };
}
