import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RouterError } from '../../core/router-error.ts';
import type { Log } from '../../ports/log.ts';
import type { PlacedHead, RequestRouter } from '../../ports/request-router.ts';
import { clientRequest } from './client-request.ts';
import { sendAnswer } from './send-answer.ts';

/** Engine endpoints whose prompts are understood. */
const placedPaths = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/generate'] as const;
/** Others that are let through, placed by load. */
const passedPaths = ['/v1/responses', '/v1/messages', '/v1/rerank', '/v1/score', '/rerank', '/score', '/classify', '/encode', '/tokenize', '/v1/tokenize', '/detokenize', '/v1/detokenize'] as const;

export interface EngineRoutesDeps {
  readonly router: RequestRouter;
  readonly log: Log;
}

/** Requests under way; closing waits for them, and ends what is left. */
export class RequestsUnderWay {
  readonly #open = new Map<AbortController, Promise<void>>();

  add(controller: AbortController, done: Promise<void>): void {
    const tracked = done.finally(() => this.#open.delete(controller));
    this.#open.set(controller, tracked);
    tracked.catch(() => {
      // Told to the client by the route that awaits the same promise.
    });
  }

  async finish(grace: AbortSignal): Promise<void> {
    const cancel = (): void => {
      for (const controller of this.#open.keys()) controller.abort(new RouterError('cancelled', 'the router is stopping'));
    };
    grace.addEventListener('abort', cancel, { once: true });
    await Promise.allSettled(this.#open.values());
    grace.removeEventListener('abort', cancel);
  }
}

export function engineRoutes(app: FastifyInstance, deps: EngineRoutesDeps, underWay: RequestsUnderWay): void {
  const handler = (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const controller = new AbortController();
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) controller.abort(new RouterError('cancelled', 'the client closed the connection'));
    });
    const done = passOn(request, reply, deps, controller.signal);
    underWay.add(controller, done);
    return done;
  };
  for (const path of [...placedPaths, ...passedPaths]) app.post(path, handler);
  app.put('/generate', handler);
}

async function passOn(request: FastifyRequest, reply: FastifyReply, { router, log }: EngineRoutesDeps, signal: AbortSignal): Promise<void> {
  const answer = await router.route(clientRequest(request), (placed) => sayPlaced(reply, placed), signal);
  await sendAnswer(reply, answer, { signal, log });
}

/** On every answer, errors too: the last placement holds. */
function sayPlaced(reply: FastifyReply, { id, mode, reason, overlapBlocks }: PlacedHead): void {
  void reply.headers({
    'x-kinroute-worker': id.worker,
    'x-kinroute-rank': String(id.rank),
    'x-kinroute-mode': mode,
    'x-kinroute-reason': reason,
    'x-kinroute-overlap-blocks': String(overlapBlocks),
  });
}
