import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RouterError } from '../../core/router-error.ts';
import type { SimulatedEngine } from './simulated-engine.ts';

const openAiError = (message: string, type: string): object => ({ object: 'error', message, type, param: null, code: 400 });

/** What is no readable body has the same shape on every path; what else is refused has `/generate`'s or OpenAI's. */
function refusal(error: RouterError, path: string): object {
  if (error.code === 'bad-json') return openAiError(error.message, 'Bad Request');
  if (error.code === 'unknown-target') return openAiError(error.message, '400');
  return path.startsWith('/v1/') ? openAiError(error.message, 'BadRequestError') : { error: { message: error.message } };
}

type Failure = FastifyError | RouterError;

const isRefusal = (error: Failure): error is RouterError => error instanceof RouterError && error.code !== 'internal';

function answerSglangError(error: Failure, request: FastifyRequest, reply: FastifyReply): void {
  if (isRefusal(error)) void reply.code(400).send(refusal(error, request.url));
  else answerFault(error, reply);
}

/** One shape on every path. */
function answerVllmError(error: Failure, _request: FastifyRequest, reply: FastifyReply): void {
  if (!isRefusal(error)) return answerFault(error, reply);
  const { message } = error;
  if (error.code === 'unknown-model') void reply.code(404).send({ error: { message, type: 'NotFoundError', param: 'model', code: 404 } });
  else void reply.code(400).send({ error: { message, type: error.code === 'bad-json' ? 'Bad Request' : 'BadRequestError', param: null, code: 400 } });
}

function answerFault(error: Failure, reply: FastifyReply): void {
  if ('statusCode' in error && error.statusCode === 413) void reply.code(413).send({ detail: 'Request body too large' });
  else void reply.code(500).type('text/plain; charset=utf-8').send('Internal Server Error');
}

/** `Authorization: Bearer` on every path but those that begin with `/health`, `/ready` or `/metrics`. */
function askForKey(app: FastifyInstance, apiKey: string): void {
  app.addHook('onRequest', (request, reply, done) => {
    const open = /^\/(health|ready|metrics)/.test(request.url);
    if (open || request.headers.authorization === `Bearer ${apiKey}`) done();
    else void reply.code(401).send({ error: 'Unauthorized' });
  });
}

/** Errors, unknown paths, wrong methods and keys, each in the engine's own shape. */
export function errorAnswers(app: FastifyInstance, engine: SimulatedEngine): void {
  const methods = new Map<string, string[]>();
  app.addHook('onRoute', ({ url, method }) => {
    methods.set(url, [...(methods.get(url) ?? []), ...[method].flat().filter((name) => name !== 'HEAD')]);
  });
  app.setErrorHandler<Failure>(engine.options.wire.kind === 'vllm' ? answerVllmError : answerSglangError);
  app.setNotFoundHandler((request, reply) => {
    const allowed = methods.get(request.url.split('?')[0] ?? '');
    if (allowed === undefined) return reply.code(404).send({ detail: 'Not Found' });
    return reply.code(405).header('allow', allowed.join(', ')).send({ detail: 'Method Not Allowed' });
  });
  if (engine.options.apiKey !== null) askForKey(app, engine.options.apiKey);
}
