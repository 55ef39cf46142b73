import type { FastifyInstance } from 'fastify';
import { renderChat } from '../chat-template.ts';
import { missingField } from '../json-fields.ts';
import { tokensOf } from '../prompt-checks.ts';
import { bodyObject } from '../request-body.ts';
import { wallSeconds, type SimulatedEngine } from '../simulated-engine.ts';
import { vllmMetrics } from './vllm-metrics.ts';

/** Each rank's sockets with their real ports, as `/kv_event_sources` lists them. */
function eventSources(engine: SimulatedEngine): object {
  const { kvPort, replayPort } = engine.sockets;
  const { topic, bufferSteps } = engine.options;
  const source = (rank: number): object => ({
    enable_kv_cache_events: true,
    publisher: 'zmq',
    endpoint: `tcp://*:${kvPort + rank}`,
    replay_endpoint: `tcp://*:${replayPort + rank}`,
    buffer_steps: bufferSteps,
    hwm: 100_000,
    max_queue_size: 100_000,
    topic,
  });
  return Object.fromEntries(engine.ranks.map((_, rank) => [String(rank), source(rank)]));
}

const permission = (created: number): object => ({
  id: 'modelperm-simulated',
  object: 'model_permission',
  created,
  allow_create_engine: false,
  allow_sampling: true,
  allow_logprobs: true,
  allow_search_indices: false,
  allow_view: true,
  allow_fine_tuning: false,
  organization: '*',
  group: null,
  is_blocking: false,
});

function modelCard({ options }: SimulatedEngine): object {
  const created = Math.floor(wallSeconds());
  return { id: options.modelName, object: 'model', created, owned_by: 'vllm', root: options.modelName, parent: null, max_model_len: options.contextLength, permission: [permission(created)] };
}

/** What a vLLM server says of itself, and the reset of its cache (in the real one of the development mode only). */
export function vllmInfoRoutes(app: FastifyInstance, engine: SimulatedEngine): void {
  for (const url of ['/health', '/ping']) app.get(url, (_request, reply) => reply.code(200).send());
  app.get('/version', () => ({ version: engine.options.wire.version }));
  app.get('/v1/models', () => ({ object: 'list', data: [modelCard(engine)] }));
  app.get('/kv_event_sources', () => eventSources(engine));
  app.get('/load', () => ({ server_load: engine.ranks.reduce((sum, { load }) => sum + load.runningRequests + load.waitingRequests, 0) }));
  app.get('/metrics', (_request, reply) => reply.type('text/plain; version=1.0.0; charset=utf-8').send(vllmMetrics(engine)));
  app.post('/reset_prefix_cache', () => {
    const idle = engine.ranks.every((rank) => rank.model.idle);
    if (idle) engine.ranks.forEach((rank) => rank.flush());
    return { success: idle };
  });
}

/** `/tokenize` of a prompt or a chat, and `/detokenize`. */
export function vllmTokenizerRoutes(app: FastifyInstance, engine: SimulatedEngine): void {
  app.post('/tokenize', (request) => {
    const body = bodyObject(request);
    const { prompt } = body;
    if (prompt === undefined && body['messages'] === undefined) throw missingField('prompt');
    const tokens = Array.from(engine.tokenizer.encode(typeof prompt === 'string' ? prompt : renderChat(body)));
    const texts = body['return_token_strs'] === true ? tokens.map((id) => engine.tokenizer.decode([id])) : null;
    return { count: tokens.length, max_model_len: engine.options.contextLength, tokens, token_strs: texts };
  });
  app.post('/detokenize', (request) => {
    const { tokens } = bodyObject(request);
    if (!Array.isArray(tokens)) throw missingField('tokens');
    return { prompt: engine.tokenizer.decode(tokensOf(engine, tokens)) };
  });
}
