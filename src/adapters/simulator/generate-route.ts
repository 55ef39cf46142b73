import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RouterError } from '../../core/router-error.ts';
import { completeAnswers, streamAnswers, type StreamShape } from './answer-run.ts';
import type { Generation } from './generation.ts';
import type { JsonObject } from './json-fields.ts';
import { metaInfo } from './meta-info.ts';
import { parseGenerate, type GenerateRequest } from './parse-generate.ts';
import { bodyObject } from './request-body.ts';
import { wallSeconds, type SimulatedEngine } from './simulated-engine.ts';
import { SseStream } from './sse-stream.ts';

function answerOf(engine: SimulatedEngine, generation: Generation, request: GenerateRequest): object {
  return {
    text: generation.text,
    output_ids: generation.outputIds,
    meta_info: metaInfo(engine, generation, { streamed: false, first: false }),
    ...(request.returnPromptTokens ? { prompt_token_ids: Array.from(generation.spec.tokens) } : {}),
  };
}

/** Chunks repeat all text and ids so far, unless the server was told to send only what is new. */
function chunkShape(engine: SimulatedEngine, batch: boolean): StreamShape {
  const sentIds: number[] = [];
  const sentText: number[] = [];
  return {
    headFirst: true,
    update(stream, generation, index) {
      const ids = sentIds[index] ?? 0;
      const text = sentText[index] ?? 0;
      const incremental = engine.options.incrementalStreaming;
      stream.send({
        text: incremental ? generation.text.slice(text) : generation.text,
        output_ids: incremental ? generation.outputIds.slice(ids) : generation.outputIds,
        meta_info: metaInfo(engine, generation, { streamed: true, first: ids === 0 }),
        ...(batch ? { index } : {}),
      });
      sentIds[index] = generation.outputIds.length;
      sentText[index] = generation.text.length;
    },
    end: () => undefined,
  };
}

/** A streaming request that is refused is answered 200 with an error event; only what is no body at all is a 400. */
function refuseStream(engine: SimulatedEngine, reply: FastifyReply, error: RouterError): void {
  reply.hijack();
  const stream = new SseStream(reply.raw, () => undefined);
  const { message } = error;
  stream.send({ error: engine.options.wire.routedRank ? { message, type: 'invalid_request_error', code: 400, retryable: false } : { message } });
  stream.done();
}

async function streamGenerate(engine: SimulatedEngine, body: JsonObject, reply: FastifyReply, receivedAt: number): Promise<void> {
  try {
    const request = parseGenerate(engine, body);
    await streamAnswers(engine, request.specs, reply, receivedAt, chunkShape(engine, request.batch));
  } catch (error) {
    const refused = error instanceof RouterError && error.code !== 'bad-json' && !reply.sent;
    if (!refused) throw error;
    refuseStream(engine, reply, error);
  }
}

/** `POST` and `PUT /generate`. */
export function generateRoute(app: FastifyInstance, engine: SimulatedEngine): void {
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const receivedAt = wallSeconds();
    const body = bodyObject(request);
    if (body['stream'] === true) return streamGenerate(engine, body, reply, receivedAt);
    const parsed = parseGenerate(engine, body);
    const generations = await completeAnswers(engine, parsed.specs, reply, receivedAt);
    const answers = generations.map((generation) => answerOf(engine, generation, parsed));
    return parsed.batch ? answers : answers[0];
  };
  app.route({ method: ['POST', 'PUT'], url: '/generate', handler: handle });
}
