import { Agent, request } from 'undici';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../ports/clock.ts';
import type { LoadClient, LoadRequest } from '../../ports/load-client.ts';
import type { RequestOutcome } from '../../core/evidence/request-outcome.ts';
import { messageOf } from '../../core/router-error.ts';
import type { GenerateAnswer } from './generate-answer.ts';
import { noAnswer, readAnswer } from './generate-answer.ts';
import { sseEvents } from './sse-events.ts';

interface Heard {
  readonly answer: GenerateAnswer;
  readonly firstByteMs: number | null;
}

/** Sends to the `/generate` of one or more routers in turn, over kept-alive connections, as many at once as asked. */
export class UndiciLoadClient implements LoadClient {
  readonly #urls: readonly string[];
  readonly #clock: Clock;
  // No deadlines of its own: a long prefill is silent for as long as it takes, and the router has its deadlines.
  readonly #agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  #sent = 0;

  constructor(urls: readonly string[], clock: Clock) {
    this.#urls = urls;
    this.#clock = clock;
  }

  async generate(load: LoadRequest, signal: AbortSignal): Promise<RequestOutcome> {
    const url = this.#urls[this.#sent++ % this.#urls.length] ?? '';
    const startedMs = this.#clock.nowMs();
    try {
      const response = await request(`${url}/generate`, { method: 'POST', headers: headersOf(load), body: load.body, signal, dispatcher: this.#agent });
      const heard = await this.#hear(response).catch((error: unknown): Heard => ({ answer: { ...noAnswer, error: `the answer broke off: ${messageOf(error)}` }, firstByteMs: null }));
      return outcome(response, { heard, startedMs, endedMs: this.#clock.nowMs() });
    } catch (error) {
      return unanswered(messageOf(error), startedMs, this.#clock.nowMs());
    }
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }

  async #hear(response: Dispatcher.ResponseData): Promise<Heard> {
    const type = String(response.headers['content-type'] ?? '');
    if (!type.startsWith('text/event-stream')) return { answer: readAnswer(await response.body.text()), firstByteMs: null };
    let firstByteMs: number | null = null;
    let last: string | null = null;
    let broken: string | null = null;
    const clock = this.#clock;
    async function* timed(): AsyncGenerator<Uint8Array> {
      for await (const chunk of response.body) {
        firstByteMs ??= clock.nowMs();
        if (chunk instanceof Uint8Array) yield chunk;
      }
    }
    for await (const { data } of sseEvents(timed())) {
      if (data === '[DONE]') continue;
      if (data.startsWith('{"error"')) broken = data;
      last = data;
    }
    const answer = last === null ? { ...noAnswer, error: 'the stream ended without an event' } : readAnswer(broken ?? last);
    return { answer, firstByteMs };
  }
}

function headersOf(load: LoadRequest): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(load.session === null ? {} : { 'x-kinroute-session-id': encodeURIComponent(load.session) }),
    ...(load.parent === null ? {} : { 'x-kinroute-parent-session-id': encodeURIComponent(load.parent) }),
  };
}

interface Timed {
  readonly heard: Heard;
  readonly startedMs: number;
  readonly endedMs: number;
}

function outcome(response: Dispatcher.ResponseData, { heard, startedMs, endedMs }: Timed): RequestOutcome {
  const header = (name: string): string | null => {
    const value = response.headers[name];
    return typeof value === 'string' ? value : null;
  };
  const rank = header('x-kinroute-rank');
  const { error, ...tokens } = heard.answer;
  return {
    status: response.statusCode,
    error: error ?? (response.statusCode < 400 ? null : `status ${response.statusCode}`),
    startedMs,
    endedMs,
    ttftMs: heard.firstByteMs === null ? null : heard.firstByteMs - startedMs,
    ...tokens,
    requestId: header('x-kinroute-request-id'),
    worker: header('x-kinroute-worker'),
    rank: rank === null ? null : Number(rank),
    reason: header('x-kinroute-reason'),
  };
}

/** Status 0: no answer came. */
function unanswered(error: string, startedMs: number, endedMs: number): RequestOutcome {
  const nothing = { promptTokens: null, cachedTokens: null, completionTokens: null, requestId: null, worker: null, rank: null, reason: null };
  return { status: 0, error, startedMs, endedMs, ttftMs: null, ...nothing };
}
