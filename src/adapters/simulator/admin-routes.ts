import type { FastifyInstance, FastifyReply } from 'fastify';
import { renderChat } from './chat-template.ts';
import { missingField, optionalString } from './json-fields.ts';
import { parseSections, prometheusLoads, rankLoad } from './load-report.ts';
import { metricsText } from './metrics-text.ts';
import { tokensOf } from './prompt-checks.ts';
import { bodyObject } from './request-body.ts';
import { newRid, type SimulatedEngine } from './simulated-engine.ts';

const plain = 'text/plain; charset=utf-8';
const flushed = 'Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, the operation will not be performed.)\n';

/** `/v1/loads` and `/metrics`. */
export function loadRoutes(app: FastifyInstance, engine: SimulatedEngine): void {
  app.get<{ Querystring: { dp_rank?: string; include?: string; format?: string } }>('/v1/loads', (request, reply) => {
    const include = parseSections(request.query.include ?? null);
    if (include === null) return reply.code(500).type(plain).send('Internal Server Error');
    const asked = request.query.dp_rank;
    const loads = engine.ranks.map((_, index) => index).filter((index) => asked === undefined || String(index) === asked).map((index) => rankLoad(engine, index, include));
    if (request.query.format === 'prometheus') return reply.type('text/plain; version=0.0.4; charset=utf-8').send(prometheusLoads(loads));
    const timestamp = new Date().toISOString().replace('Z', '000+00:00');
    return { timestamp, version: engine.options.wire.version, accelerator: null, num_accelerators: 1, loads };
  });
  app.get('/metrics', (_request, reply) => reply.type('text/plain; version=0.0.4; charset=utf-8').send(metricsText(engine)));
}

/** Aborting, flushing, and health. */
export function controlRoutes(app: FastifyInstance, engine: SimulatedEngine): void {
  app.post('/abort_request', (request, reply) => {
    const body = bodyObject(request);
    const rid = optionalString(body, 'rid');
    if (body['abort_all'] === true) engine.abortAll();
    else if (rid !== null && rid !== '') engine.abort(rid);
    return reply.code(200).send();
  });
  const flush = (_request: unknown, reply: FastifyReply): FastifyReply => {
    const idle = engine.ranks.every((rank) => rank.model.idle);
    if (idle) engine.ranks.forEach((rank) => rank.flush());
    // Like the real one, without a content type; the framework would add one.
    reply.hijack();
    reply.raw.writeHead(idle ? 200 : 400);
    reply.raw.end(idle ? flushed : 'Flush cache failed.\n');
    return reply;
  };
  app.route({ method: ['GET', 'POST'], url: '/flush_cache', handler: flush });
  for (const url of ['/health', '/health_generate', '/ping', '/ready']) app.get(url, (_request, reply) => reply.code(200).send());
}

/** `/open_session` and `/close_session`: names only, the simulated engine keeps no context of a session. */
export function sessionRoutes(app: FastifyInstance, engine: SimulatedEngine): void {
  app.post('/open_session', (request, reply) => {
    const id = optionalString(bodyObject(request), 'session_id') ?? newRid();
    if (engine.openSessions.has(id)) {
      return reply.code(400).send({ error: { message: 'Failed to open the session. Check if a session with the same id is still open.' } });
    }
    engine.openSessions.add(id);
    return reply.type('application/json').send(JSON.stringify(id));
  });
  app.post('/close_session', (request, reply) => {
    engine.openSessions.delete(optionalString(bodyObject(request), 'session_id') ?? '');
    return reply.code(200).send();
  });
}

/** `/tokenize` and `/detokenize`, under both of their paths. */
export function tokenizerRoutes(app: FastifyInstance, engine: SimulatedEngine): void {
  for (const prefix of ['', '/v1']) {
    app.post(`${prefix}/tokenize`, (request) => {
      const body = bodyObject(request);
      const prompt = body['prompt'];
      const encode = (text: string): number[] => Array.from(engine.tokenizer.encode(text));
      const max_model_len = engine.options.contextLength;
      if (Array.isArray(prompt)) {
        const tokens = prompt.map((text: unknown) => encode(typeof text === 'string' ? text : ''));
        return { tokens, count: tokens.map((list) => list.length), max_model_len };
      }
      if (prompt === undefined && body['messages'] === undefined) throw missingField('prompt');
      const tokens = encode(typeof prompt === 'string' ? prompt : renderChat(body));
      return { tokens, count: tokens.length, max_model_len };
    });
    app.post(`${prefix}/detokenize`, (request) => {
      const tokens = bodyObject(request)['tokens'];
      if (!Array.isArray(tokens)) throw missingField('tokens');
      return { text: engine.tokenizer.decode(tokensOf(engine, tokens)) };
    });
  }
}
