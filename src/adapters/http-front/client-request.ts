import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { requestId, tenantId } from '../../core/identity/ids.ts';
import type { TenantId } from '../../core/identity/ids.ts';
import type { ClientRequest } from '../../ports/request-router.ts';
import { jsonObject } from './json-body.ts';

/** Parses what came over HTTP, once. Throws `bad-json`. */
export function clientRequest(request: FastifyRequest): ClientRequest {
  const body = request.body instanceof Uint8Array ? request.body : new Uint8Array(0);
  return {
    id: requestId(request.id),
    method: request.method,
    path: request.url,
    headers: headerPairs(request.raw.rawHeaders),
    body,
    fields: jsonObject(body),
    tenant: tenantOf(request.headers.authorization),
  };
}

/** Node gives names and values in one flat list, as they came. */
function headerPairs(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([(raw[at] ?? '').toLowerCase(), raw[at + 1] ?? '']);
  return pairs;
}

/** Sessions of two API keys are apart; the key itself is not kept. */
function tenantOf(authorization: string | undefined): TenantId {
  if (authorization === undefined) return tenantId('anonymous');
  return tenantId(createHash('sha256').update(authorization).digest('hex').slice(0, 32));
}
