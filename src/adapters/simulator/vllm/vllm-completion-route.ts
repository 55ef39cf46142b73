import type { FastifyInstance } from 'fastify';
import { completeAnswers, streamAnswers, type StreamShape } from '../answer-run.ts';
import type { Generation } from '../generation.ts';
import { finishWord } from '../meta-info.ts';
import { tokenSums } from '../openai-usage.ts';
import { parseCompletion, type OpenAiRequest } from '../parse-openai.ts';
import { wallSeconds, type SimulatedEngine } from '../simulated-engine.ts';
import { lastFingerprint, stopReason, systemFingerprint, vllmId, vllmSource, vllmUsage, wholeUsage } from './vllm-answer.ts';

interface Answering {
  readonly engine: SimulatedEngine;
  readonly request: OpenAiRequest;
  readonly id: string;
  readonly tokenIds: boolean;
}

function wholeChoice({ engine, tokenIds }: Answering, generation: Generation, index: number): object {
  return {
    index,
    text: generation.text,
    logprobs: null,
    finish_reason: finishWord(generation),
    stop_reason: stopReason(engine, generation),
    token_ids: tokenIds ? generation.outputIds : null,
    prompt_logprobs: null,
    prompt_token_ids: tokenIds ? Array.from(generation.spec.tokens) : null,
    routed_experts: null,
  };
}

function wholeAnswer(answering: Answering, generations: readonly Generation[]): object {
  const { engine, request, id } = answering;
  return {
    id,
    object: 'text_completion',
    created: Math.floor(wallSeconds()),
    model: engine.options.modelName,
    choices: generations.map((generation, index) => wholeChoice(answering, generation, index)),
    service_tier: null,
    system_fingerprint: systemFingerprint,
    usage: wholeUsage(engine, request, { generations, created: null }),
    kv_transfer_params: null,
    ec_transfer_params: null,
    metrics: null,
  };
}

/** A chunk a token, with an empty text too. */
function streamShape({ engine, request, id, tokenIds }: Answering, created: number): StreamShape {
  const sent: { text: number; ids: number }[] = [];
  const chunk = (choices: readonly object[], more: object): object => ({ id, object: 'text_completion', created, model: engine.options.modelName, choices, ...more });
  return {
    headFirst: true,
    update(stream, generation, index) {
      const before = sent[index] ?? { text: 0, ids: 0 };
      const finish = finishWord(generation);
      const choice = {
        index,
        text: generation.text.slice(before.text),
        logprobs: null,
        finish_reason: finish,
        stop_reason: stopReason(engine, generation),
        prompt_token_ids: tokenIds && before.ids === 0 ? Array.from(generation.spec.tokens) : null,
        token_ids: tokenIds ? generation.outputIds.slice(before.ids) : null,
      };
      sent[index] = { text: generation.text.length, ids: generation.outputIds.length };
      const usage = request.streamUsage === 'each' ? { usage: vllmUsage([generation], 1) } : {};
      stream.send(chunk([choice], { ...usage, ...lastFingerprint(request, finish) }));
    },
    end(stream, generations) {
      if (request.streamUsage === 'none') return;
      const details = engine.options.cacheReport ? { prompt_tokens_details: { cached_tokens: tokenSums(generations, request.copies).cached } } : {};
      stream.send(chunk([], { usage: { ...vllmUsage(generations, request.copies), ...details }, system_fingerprint: systemFingerprint }));
    },
  };
}

/** `POST /v1/completions` as vLLM answers it. */
export function vllmCompletionRoute(app: FastifyInstance, engine: SimulatedEngine): void {
  app.post('/v1/completions', async (incoming, reply) => {
    const receivedAt = wallSeconds();
    const source = vllmSource(engine, incoming);
    const request = parseCompletion(engine, source);
    const answering = { engine, request, id: vllmId('cmpl', incoming), tokenIds: source.body['return_token_ids'] === true };
    if (source.body['stream'] === true) return streamAnswers(engine, request.specs, reply, receivedAt, streamShape(answering, Math.floor(receivedAt)));
    return wholeAnswer(answering, await completeAnswers(engine, request.specs, reply, receivedAt));
  });
}
