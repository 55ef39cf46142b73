import { describe, expect, it } from 'vitest';
import type { ReplayOptions } from '../../src/app/replay-trace.ts';
import { replayTrace } from '../../src/app/replay-trace.ts';
import { summarizeReplay } from '../../src/core/evidence/replay-summary.ts';
import type { RequestOutcome } from '../../src/core/evidence/request-outcome.ts';
import type { Trace, TraceRequest } from '../../src/core/evidence/trace.ts';
import { tracePrompt } from '../../src/core/evidence/trace-prompt.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { LoadClient, LoadRequest } from '../../src/ports/load-client.ts';

/** Time that moves only when everything waits for it. */
class VirtualClock implements Clock {
  #nowMs = 0;
  readonly #timers: { readonly atMs: number; readonly run: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  isoNow(): string {
    return '';
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, run };
    this.#timers.push(timer);
    return () => void this.#timers.splice(this.#timers.indexOf(timer), 1);
  }

  every(): () => void {
    return () => {};
  }

  async runOut(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#timers.sort((a, b) => a.atMs - b.atMs);
      const next = this.#timers.shift();
      if (next === undefined) return;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.run();
    }
  }
}

/** An answer takes 100 ms. */
class FakeClient implements LoadClient {
  readonly sent: { readonly atMs: number; readonly session: string | null; readonly parent: string | null; readonly json: string }[] = [];
  running = 0;
  mostRunning = 0;
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  async generate({ body, session, parent }: LoadRequest): Promise<RequestOutcome> {
    const startedMs = this.#clock.nowMs();
    this.sent.push({ atMs: startedMs, session, parent, json: new TextDecoder().decode(body) });
    this.mostRunning = Math.max(this.mostRunning, ++this.running);
    await new Promise<void>((resolve) => this.#clock.after(100, resolve));
    this.running--;
    return { status: 200, error: null, startedMs, endedMs: startedMs + 100, ttftMs: 10, promptTokens: 8, cachedTokens: 6, completionTokens: 1, requestId: null, worker: 'w1', rank: 0, reason: 'lowest-cost' };
  }

  async close(): Promise<void> {}
}

const request = (fields: Partial<TraceRequest>): TraceRequest => ({ atMs: 0, session: null, parent: null, promptTokens: 4, outputTokens: 3, blockIds: ['1', '2'], ...fields });

async function replayed(requests: readonly TraceRequest[], options: Partial<ReplayOptions> = {}) {
  const clock = new VirtualClock();
  const client = new FakeClient(clock);
  const trace: Trace = { format: 'mooncake', name: 't', blockTokens: 2, requests };
  const running = replayTrace(trace, { speed: 1, maxOutputTokens: 100, maxConcurrency: 100, ...options }, { client, clock, onOutcome: () => {} }, new AbortController().signal);
  await clock.runOut();
  return { client, trace, results: await running };
}

describe('a replay', () => {
  it('sends each request at its time, divided by the speed', async () => {
    const { client, results } = await replayed([request({}), request({ atMs: 500 }), request({ atMs: 4_000 })], { speed: 2 });
    expect(client.sent.map(({ atMs }) => atMs)).toEqual([0, 250, 2_000]);
    expect(results.map(({ lateMs }) => lateMs)).toEqual([0, 0, 0]);
  });

  it('holds a turn back until the turn before it in its session has been answered', async () => {
    const { client } = await replayed([request({ session: 's' }), request({ session: 's', atMs: 30 }), request({ session: 'other', parent: 's', atMs: 40 })]);
    expect(client.sent.map(({ atMs, session, parent }) => [atMs, session, parent])).toEqual([[0, 's', null], [40, 'other', 's'], [100, 's', null]]);
  });

  it('keeps to the concurrency it was given and says how late that made it', async () => {
    const { client, results } = await replayed([request({}), request({}), request({})], { maxConcurrency: 1 });
    expect(client.mostRunning).toBe(1);
    expect(results.map(({ lateMs }) => lateMs)).toEqual([0, 100, 200]);
  });

  it('asks for the prompt that the block ids stand for and an answer as long as recorded, up to the limit', async () => {
    const { client, trace } = await replayed([request({ outputTokens: 7 }), request({ outputTokens: 0 })], { maxOutputTokens: 5 });
    const bodies = client.sent.map(({ json }) => JSON.parse(json) as { input_ids: number[]; sampling_params: { max_new_tokens: number } });
    expect(bodies[0]?.input_ids).toEqual([...tracePrompt(trace, 0)]);
    expect(bodies.map((body) => body.sampling_params.max_new_tokens)).toEqual([5, 1]);
  });
});

describe('the summary of a replay', () => {
  it('has the sums by the engines\' word, the hit rate, and counts by reason', async () => {
    const { results } = await replayed([request({}), request({ atMs: 50 })]);
    const failed: RequestOutcome = { status: 0, error: 'gone', startedMs: 0, endedMs: 400, ttftMs: null, promptTokens: null, cachedTokens: null, completionTokens: null, requestId: null, worker: null, rank: null, reason: null };
    expect(summarizeReplay([...results.map(({ outcome }) => outcome), failed])).toMatchObject({
      requests: 3, errors: 1, promptTokens: 16, cachedTokens: 12, computedPrefillTokens: 4, hitRate: 0.75,
      ttftMsP50: 10, ttftMsP99: 10, durationMs: 400, placementsByReason: { 'lowest-cost': 2 }, errorMessages: { gone: 1 },
    });
  });

  it('of nothing has no times', () => {
    expect(summarizeReplay([])).toMatchObject({ requests: 0, hitRate: 0, ttftMsP50: null, durationMs: 0 });
  });
});
