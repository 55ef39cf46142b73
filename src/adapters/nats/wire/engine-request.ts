import { encode } from '@msgpack/msgpack';
import { RouterError } from '../../../core/router-error.ts';
import { requestId } from '../../../core/identity/ids.ts';
import type { EngineRequest } from '../../../ports/request-transport.ts';
import { msgpackFields } from './fields.ts';
import { decodeHeaders } from './headers.ts';

/** A request on its way to an agent, with what its answer needs. */
export interface RequestMessage {
  readonly request: EngineRequest;
  /** Names the request on the flow subject. */
  readonly token: string;
  /** Bytes of body that the agent may send ahead of what was consumed. */
  readonly windowBytes: number;
}

export function encodeRequest(message: RequestMessage): Uint8Array {
  const { request, token, windowBytes } = message;
  return encode({ v: 1, token, window: windowBytes, id: request.id, method: request.method, path: request.path, headers: request.headers, body: request.body, deadlineMs: Math.max(0, Math.ceil(request.deadlineMs)) });
}

export function decodeRequest(data: Uint8Array): RequestMessage {
  const fields = msgpackFields(data, 'request');
  fields.version(1);
  const token = fields.text('token');
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(token)) throw new RouterError('bad-request', 'request: token is no subject token');
  return {
    token,
    windowBytes: fields.whole('window', 1),
    request: {
      id: requestId(fields.text('id')),
      method: fields.text('method'),
      path: fields.text('path'),
      headers: decodeHeaders(fields.list('headers'), 'request'),
      body: fields.bytes('body'),
      deadlineMs: fields.whole('deadlineMs'),
    },
  };
}
