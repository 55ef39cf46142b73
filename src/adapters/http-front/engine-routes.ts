import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../ports/log.ts';
import type { PlacedHead, RequestRouter } from '../../ports/request-router.ts';
import { clientRequest } from './client-request.ts';
import type { RequestsUnderWay } from './requests-under-way.ts';
import { sendAnswer } from './send-answer.ts';

/** Engine endpoints whose prompts are understood. */
const placedPaths = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/generate'] as const;
/** Others that are let through, placed by load. */
const passedPaths = ['/v1/responses', '/v1/messages', '/v1/rerank', '/v1/score', '/rerank', '/score', '/classify', '/encode', '/tokenize', '/v1/tokenize', '/detokenize', '/v1/detokenize'] as const;

export interface EngineRoutesDeps {
  readonly router: RequestRouter;
  readonly underWay: RequestsUnderWay;
  /** A client that takes nothing of its answer for so long is given up. */
  readonly readPatienceMs: number;
  readonly log: Log;
}

export function engineRoutes(app: FastifyInstance, deps: EngineRoutesDeps): void {
  const handler = (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const done = passOn(request, reply, deps);
    deps.underWay.add(done);
    return done;
  };
  for (const path of [...placedPaths, ...passedPaths]) app.post(path, handler);
  app.put('/generate', handler);
}

async function passOn(request: FastifyRequest, reply: FastifyReply, { router, underWay, readPatienceMs, log }: EngineRoutesDeps): Promise<void> {
  const { gone, over } = underWay.get(request.raw);
  const answer = await router.route(clientRequest(request), (placed) => sayPlaced(reply, placed), over);
  await sendAnswer(reply, answer, { gone, readPatienceMs, log });
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
