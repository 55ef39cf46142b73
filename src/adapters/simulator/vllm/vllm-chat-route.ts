import type { FastifyInstance } from 'fastify';
import { completeAnswers, streamAnswers, type StreamShape } from '../answer-run.ts';
import type { Generation } from '../generation.ts';
import { finishWord } from '../meta-info.ts';
import { tokenSums } from '../openai-usage.ts';
import { parseChat, type OpenAiRequest } from '../parse-openai.ts';
import { wallSeconds, type SimulatedEngine } from '../simulated-engine.ts';
import { lastFingerprint, stopReason, systemFingerprint, vllmId, vllmSource, vllmUsage, wholeUsage } from './vllm-answer.ts';

interface Answering {
  readonly engine: SimulatedEngine;
  readonly request: OpenAiRequest;
  readonly id: string;
}

/** Tokens of the blocks that the prompt made, as chats tell them. */
function createdTokens({ engine, request }: Answering, generations: readonly Generation[]): number {
  const { prompt, cached } = tokenSums(generations, request.copies);
  return Math.max(0, prompt - (prompt % engine.options.pageSize) - cached);
}

function wholeChoice(engine: SimulatedEngine, generation: Generation, index: number): object {
  return {
    index,
    message: { role: 'assistant', content: generation.text, refusal: null, annotations: null, audio: null, function_call: null, reasoning: null },
    logprobs: null,
    finish_reason: finishWord(generation),
    stop_reason: stopReason(engine, generation),
    token_ids: null,
    routed_experts: null,
  };
}

function wholeAnswer(answering: Answering, generations: readonly Generation[]): object {
  const { engine, request, id } = answering;
  return {
    id,
    object: 'chat.completion',
    created: Math.floor(wallSeconds()),
    model: engine.options.modelName,
    choices: generations.map((generation, index) => wholeChoice(engine, generation, index)),
    service_tier: null,
    system_fingerprint: systemFingerprint,
    usage: wholeUsage(engine, request, { generations, created: createdTokens(answering, generations) }),
    prompt_logprobs: null,
    prompt_token_ids: null,
    prompt_text: null,
    kv_transfer_params: null,
    ec_transfer_params: null,
    metrics: null,
  };
}

/** Who speaks, then a chunk a token. */
function streamShape(answering: Answering, created: number): StreamShape {
  const { engine, request, id } = answering;
  const sentText: (number | undefined)[] = [];
  const chunk = (choices: readonly object[], more: object): object => ({ id, object: 'chat.completion.chunk', created, model: engine.options.modelName, choices, ...more });
  const each = (generation: Generation): object => (request.streamUsage === 'each' ? { usage: vllmUsage([generation], 1) } : {});
  return {
    headFirst: true,
    update(stream, generation, index) {
      const sent = sentText[index];
      if (sent === undefined) stream.send(chunk([{ index, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }], { prompt_token_ids: null, prompt_text: null }));
      const finish = finishWord(generation);
      const ending = finish === null ? {} : { stop_reason: stopReason(engine, generation) };
      const choice = { index, delta: { content: generation.text.slice(sent ?? 0) }, logprobs: null, finish_reason: finish, ...ending, token_ids: null };
      sentText[index] = generation.text.length;
      stream.send(chunk([choice], { ...each(generation), ...lastFingerprint(request, finish) }));
    },
    end(stream, generations) {
      if (request.streamUsage === 'none') return;
      const details = { prompt_tokens_details: { cached_tokens: tokenSums(generations, request.copies).cached, created_cache_tokens: createdTokens(answering, generations) } };
      stream.send(chunk([], { usage: { ...vllmUsage(generations, request.copies), ...(engine.options.cacheReport ? details : {}) }, system_fingerprint: systemFingerprint }));
    },
  };
}

/** `POST /v1/chat/completions` as vLLM answers it. */
export function vllmChatRoute(app: FastifyInstance, engine: SimulatedEngine): void {
  app.post('/v1/chat/completions', async (incoming, reply) => {
    const receivedAt = wallSeconds();
    const source = vllmSource(engine, incoming);
    const request = parseChat(engine, source);
    const answering = { engine, request, id: vllmId('chatcmpl', incoming) };
    if (source.body['stream'] === true) return streamAnswers(engine, request.specs, reply, receivedAt, streamShape(answering, Math.floor(receivedAt)));
    return wholeAnswer(answering, await completeAnswers(engine, request.specs, reply, receivedAt));
  });
}
