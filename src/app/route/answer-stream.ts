import { errorBody } from '../../core/error-body.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { EngineResponse } from '../../ports/request-transport.ts';
import { answerReader, isEventStream } from './answer-reader.ts';
import type { RequestRun } from './request-run.ts';
import type { Usage } from './usage-reader.ts';

/** An engine's answer whose first piece has been waited for. */
export interface BegunAnswer {
  readonly response: EngineResponse;
  readonly first: IteratorResult<Uint8Array, unknown>;
  readonly rest: AsyncIterator<Uint8Array, unknown>;
}

/**
 * Passes an answer on piece by piece and keeps the run's account. The run is over when this is, whichever way: read to
 * the end, broken off, or left by the reader.
 */
export async function* answerStream({ response, first, rest }: BegunAnswer, run: RequestRun, onEnd: (usage: Usage) => void): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = answerReader(response.headers);
  const streams = isEventStream(response.headers);
  const end = (): void => {
    if (run.over) return;
    const usage = reader.usage();
    conclude(run, { status: response.status, usage, sawError: reader.sawError });
    onEnd(usage);
  };
  try {
    for (let next = first; next.done !== true; next = await rest.next()) {
      if (streams) run.firstToken();
      run.decoded(reader.push(next.value));
      // Before the last piece goes out: a client that has all of it may close at once, and has cancelled nothing.
      if (reader.complete) end();
      yield next.value;
    }
    if (reader.cutOff) throw new RouterError('engine-stream-broken', 'the engine ended its stream in the middle of an event');
    end();
  } catch (error) {
    const broken = asBroken(error);
    run.fail(broken.code, broken.message, { beforeFirstByte: false });
    if (!streams || broken.code === 'cancelled') throw broken;
    yield errorEvent(broken, reader.betweenEvents);
  } finally {
    run.fail('cancelled', 'the client closed the connection', { beforeFirstByte: false });
    await rest.return?.();
  }
}

function conclude(run: RequestRun, end: { readonly status: number; readonly usage: Usage; readonly sawError: boolean }): void {
  if (end.sawError) return run.fail('engine-stream-broken', 'the engine sent an error inside its stream', { beforeFirstByte: false });
  if (end.status >= 500) return run.fail('worker-failed', `the engine answered ${end.status}`, { beforeFirstByte: true });
  if (end.status >= 400) run.refused();
  run.finish(end.status, end.usage);
}

const asBroken = (error: unknown): RouterError => (error instanceof RouterError ? error : new RouterError('internal', messageOf(error), { cause: error }));

/** An event begun by the engine is ended first, so that this one is read as one. No `[DONE]` follows. */
function errorEvent(error: RouterError, betweenEvents: boolean): Uint8Array {
  return new TextEncoder().encode(`${betweenEvents ? '' : '\n\n'}data: ${errorBody(error.code, error.message)}\n\n`);
}
