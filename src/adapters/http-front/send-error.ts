import type { FastifyReply } from 'fastify';
import { errorBody } from '../../core/error-body.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { Log } from '../../ports/log.ts';
import { errorStatus } from './error-status.ts';

/** The one way an error becomes an answer. Of what is no `RouterError` nothing is told but that it happened. */
export function sendError(reply: FastifyReply, thrown: unknown, at: { readonly log: Log; readonly bodyLimitBytes: number }): FastifyReply {
  const error = asRouterError(reply, thrown, at);
  const status = errorStatus[error.code];
  if (status === 503 || status === 429) void reply.header('retry-after', '1');
  return reply.code(status).type('application/json; charset=utf-8').send(errorBody(error.code, error.message));
}

function asRouterError(reply: FastifyReply, thrown: unknown, { log, bodyLimitBytes }: { readonly log: Log; readonly bodyLimitBytes: number }): RouterError {
  if (thrown instanceof RouterError) return thrown;
  const code = typeof thrown === 'object' && thrown !== null && 'code' in thrown ? thrown.code : null;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const said = reply.request.headers['content-length'];
    const size = said === undefined ? `more than ${bodyLimitBytes}` : said;
    return new RouterError('body-too-large', `the body has ${size} bytes, this router takes ${bodyLimitBytes}: send less, or start it with a larger --body-limit`);
  }
  if (typeof code === 'string' && code.startsWith('FST_ERR_CTP')) return new RouterError('bad-request', `the body can't be read: ${messageOf(thrown)}`);
  log.error({ requestId: reply.request.id, error: messageOf(thrown), stack: thrown instanceof Error ? thrown.stack : null }, 'request-broke');
  return new RouterError('internal', `this router failed, see its log for request ${reply.request.id}`);
}
