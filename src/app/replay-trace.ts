import { generateBody } from '../core/evidence/generate-body.ts';
import type { RequestOutcome } from '../core/evidence/request-outcome.ts';
import type { Trace, TraceRequest } from '../core/evidence/trace.ts';
import { tracePrompt } from '../core/evidence/trace-prompt.ts';
import type { Clock } from '../ports/clock.ts';
import type { LoadClient } from '../ports/load-client.ts';
import { Slots } from './slots.ts';
import { pause } from './pause.ts';

export interface ReplayOptions {
  /** Arrival times are divided by this. */
  readonly speed: number;
  /** Answers are asked for as long as recorded, up to this many tokens. */
  readonly maxOutputTokens: number;
  /** Requests on their way at once; further ones wait their turn and are late. */
  readonly maxConcurrency: number;
}

export interface ReplayDeps {
  readonly client: LoadClient;
  readonly clock: Clock;
  readonly onOutcome: (outcome: RequestOutcome, index: number) => void;
}

export interface ReplayedRequest {
  readonly outcome: RequestOutcome;
  /** How long after its due time it was sent because of us: the trace's own waits are not counted. */
  readonly lateMs: number;
}

/**
 * Sends a trace's requests at their times. A request of a session waits for the one before it in that session, as the
 * recorded agent did: its prompt has the answer in it.
 */
export async function replayTrace(trace: Trace, options: ReplayOptions, deps: ReplayDeps, signal: AbortSignal): Promise<readonly ReplayedRequest[]> {
  const startMs = deps.clock.nowMs();
  const slots = new Slots(options.maxConcurrency);
  const turns = new Map<string, Promise<unknown>>();
  const running = trace.requests.map((request, index) => {
    const before = request.session === null ? undefined : turns.get(request.session);
    const sent = sendOne(request, index, before ?? Promise.resolve());
    if (request.session !== null) turns.set(request.session, sent);
    return sent;
  });
  return Promise.all(running);

  async function sendOne(request: TraceRequest, index: number, before: Promise<unknown>): Promise<ReplayedRequest> {
    const dueMs = startMs + request.atMs / options.speed;
    await Promise.all([pause(dueMs - deps.clock.nowMs(), deps.clock, signal), before]);
    const fromMs = Math.max(dueMs, deps.clock.nowMs());
    const release = await slots.take();
    try {
      signal.throwIfAborted();
      const body = generateBody(tracePrompt(trace, index), Math.max(1, Math.min(request.outputTokens, options.maxOutputTokens)));
      const outcome = await deps.client.generate({ body, session: request.session, parent: request.parent }, signal);
      deps.onOutcome(outcome, index);
      return { outcome, lateMs: outcome.startedMs - fromMs };
    } finally {
      release();
    }
  }
}
