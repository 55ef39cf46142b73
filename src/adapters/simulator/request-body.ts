import type { FastifyInstance, FastifyRequest } from 'fastify';
import { messageOf, RouterError } from '../../core/router-error.ts';
import { isObject, wrongType, type JsonObject } from './json-fields.ts';

/** Bodies hold prompts as numbers: several megabytes are usual. */
export const mostBodyBytes = 512 * 1024 * 1024;

/** Bodies are kept as text: what is no JSON is answered in the engine's own shape, by the route it was sent to. */
export function acceptBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
}

/** The body as a JSON object. Throws `bad-json`. */
export function bodyObject(request: FastifyRequest): JsonObject {
  const type = request.headers['content-type'];
  if (type !== undefined && !/^application\/(json|.*\+json)\b/.test(type)) {
    throw new RouterError('bad-json', `1 validation error:\n  {'loc': ['header', 'content-type'], 'msg': "Unsupported Media Type: Only 'application/json' is allowed", 'type': 'value_error'}`);
  }
  const body = parsed(typeof request.body === 'string' ? request.body : '');
  if (!isObject(body)) throw wrongType('body', 'dict', body);
  return body;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new RouterError('bad-json', `1 validation error:\n  {'type': 'json_invalid', 'loc': ('body', ${text.length}), 'msg': 'JSON decode error', 'input': {}, 'ctx': {'error': '${messageOf(cause)}'}}`, { cause });
  }
}
