import type { FastifyInstance } from 'fastify';
import { completeAnswers, streamAnswers, type StreamShape } from './answer-run.ts';
import type { Generation } from './generation.ts';
import type { JsonObject } from './json-fields.ts';
import { cachedDetails, finishWord, matchedStop, metaInfo } from './meta-info.ts';
import { metadataOf, usageOf } from './openai-usage.ts';
import { openAiSource, parseChat, type OpenAiRequest } from './parse-openai.ts';
import { wallSeconds, type SimulatedEngine } from './simulated-engine.ts';

function choiceOf(engine: SimulatedEngine, generation: Generation, index: number, body: JsonObject): object {
  const tokenIds = body['return_token_ids'] === true;
  return {
    index,
    message: { role: 'assistant', content: generation.text, reasoning_content: null },
    logprobs: null,
    finish_reason: finishWord(generation),
    matched_stop: matchedStop(generation),
    ...(body['return_meta_info'] === true ? { meta_info: metaInfo(engine, generation, { streamed: false, first: false }) } : {}),
    ...(tokenIds || body['return_prompt_token_ids'] === true ? { prompt_token_ids: Array.from(generation.spec.tokens) } : {}),
    ...(tokenIds ? { response_token_ids: generation.outputIds } : {}),
  };
}

function chatAnswer(engine: SimulatedEngine, request: OpenAiRequest, generations: readonly Generation[], body: JsonObject): object {
  const first = generations[0];
  const details = body['return_cached_tokens_details'] === true && engine.options.cacheReport && first !== undefined ? cachedDetails(first) : null;
  return {
    id: request.id,
    object: 'chat.completion',
    created: Math.floor(wallSeconds()),
    model: request.model,
    choices: generations.map((generation, index) => choiceOf(engine, generation, index, body)),
    usage: usageOf(engine, generations, request.copies),
    metadata: metadataOf(generations),
    ...(details === null ? {} : { sglext: { cached_tokens_details: details } }),
  };
}

/** Chunks of a chat: who speaks, what is new, why it ended, and the usage where it was asked for. */
function chatShape(engine: SimulatedEngine, request: OpenAiRequest, created: number): StreamShape {
  const sentText: (number | undefined)[] = [];
  const chunk = (choices: readonly object[], usage: object | null): object => ({
    id: request.id,
    object: 'chat.completion.chunk',
    created,
    model: request.model,
    choices,
    ...(usage === null ? {} : { usage }),
  });
  const each = (generation: Generation): object | null => (request.streamUsage === 'each' ? usageOf(engine, [generation], 1) : null);
  const choice = (index: number, delta: object, finish: string | null, matched: string | number | null): object => ({
    index,
    delta: { reasoning_content: null, ...delta },
    logprobs: null,
    finish_reason: finish,
    matched_stop: matched,
  });
  return {
    headFirst: false,
    update(stream, generation, index) {
      const sent = sentText[index];
      if (sent === undefined) stream.send(chunk([choice(index, { role: 'assistant', content: '' }, null, null)], null));
      const fresh = generation.text.slice(sent ?? 0);
      if (fresh !== '') stream.send(chunk([choice(index, { content: fresh }, null, null)], each(generation)));
      sentText[index] = generation.text.length;
      const finish = finishWord(generation);
      if (finish !== null) stream.send(chunk([choice(index, {}, finish, matchedStop(generation))], null));
    },
    end(stream, generations) {
      if (request.streamUsage !== 'none') stream.send(chunk([], usageOf(engine, generations, request.copies)));
    },
  };
}

/** `POST /v1/chat/completions`. */
export function chatRoute(app: FastifyInstance, engine: SimulatedEngine): void {
  app.post('/v1/chat/completions', async (request, reply) => {
    const receivedAt = wallSeconds();
    const source = openAiSource(request);
    const parsed = parseChat(engine, source);
    if (source.body['stream'] === true) return streamAnswers(engine, parsed.specs, reply, receivedAt, chatShape(engine, parsed, Math.floor(receivedAt)));
    const generations = await completeAnswers(engine, parsed.specs, reply, receivedAt);
    return chatAnswer(engine, parsed, generations, source.body);
  });
}
