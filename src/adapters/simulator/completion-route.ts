import type { FastifyInstance } from 'fastify';
import { completeAnswers, streamAnswers, type StreamShape } from './answer-run.ts';
import type { Generation } from './generation.ts';
import { finishWord, matchedStop } from './meta-info.ts';
import { metadataOf, usageOf } from './openai-usage.ts';
import { openAiSource, parseCompletion, type OpenAiRequest } from './parse-openai.ts';
import { wallSeconds, type SimulatedEngine } from './simulated-engine.ts';

const choice = (generation: Generation, index: number, text: string): object => ({
  index,
  text,
  logprobs: null,
  finish_reason: finishWord(generation),
  matched_stop: matchedStop(generation),
});

const echoOf = (request: OpenAiRequest, index: number, echo: boolean): string => (echo ? (request.promptTexts[Math.floor(index / request.copies)] ?? '') : '');

function completionAnswer(engine: SimulatedEngine, request: OpenAiRequest, generations: readonly Generation[], echo: boolean): object {
  return {
    id: request.id,
    object: 'text_completion',
    created: Math.floor(wallSeconds()),
    model: request.model,
    choices: generations.map((generation, index) => choice(generation, index, echoOf(request, index, echo) + generation.text)),
    usage: usageOf(engine, generations, request.copies),
    metadata: metadataOf(generations),
  };
}

function completionShape(engine: SimulatedEngine, request: OpenAiRequest, created: number, echo: boolean): StreamShape {
  const sentText: (number | undefined)[] = [];
  const chunk = (choices: readonly object[], usage: object | null): object => ({ id: request.id, object: 'text_completion', created, model: request.model, choices, usage });
  return {
    headFirst: false,
    update(stream, generation, index) {
      const sent = sentText[index];
      const fresh = (sent === undefined ? echoOf(request, index, echo) : '') + generation.text.slice(sent ?? 0);
      stream.send(chunk([choice(generation, index, fresh)], request.streamUsage === 'each' ? usageOf(engine, [generation], 1) : null));
      sentText[index] = generation.text.length;
    },
    end(stream, generations) {
      if (request.streamUsage === 'none') return;
      const { completion_tokens_details: _never, ...usage } = { completion_tokens_details: null, ...usageOf(engine, generations, request.copies) };
      stream.send(chunk([], usage));
    },
  };
}

/** `POST /v1/completions`: text or token ids, one prompt or several. */
export function completionRoute(app: FastifyInstance, engine: SimulatedEngine): void {
  app.post('/v1/completions', async (request, reply) => {
    const receivedAt = wallSeconds();
    const source = openAiSource(request);
    const parsed = parseCompletion(engine, source);
    const echo = source.body['echo'] === true;
    if (source.body['stream'] === true) return streamAnswers(engine, parsed.specs, reply, receivedAt, completionShape(engine, parsed, Math.floor(receivedAt), echo));
    return completionAnswer(engine, parsed, await completeAnswers(engine, parsed.specs, reply, receivedAt), echo);
  });
}
