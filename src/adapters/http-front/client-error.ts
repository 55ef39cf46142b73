import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { errorBody } from '../../core/error-body.ts';

interface Refusal {
  readonly status: number;
  readonly message: string;
}

/** What Node's parser says, in words for the client. */
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'the headers are above 16 KiB: send less' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'the request did not come in time: send it again' },
};
const malformed: Refusal = { status: 400, message: 'this is no HTTP request that can be read' };

/** Answers what never became a request, in the shape of every other error, and ends the connection. */
export function refuseClient(error: Error, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const code: unknown = Reflect.get(error, 'code');
  const { status, message } = refusals[String(code)] ?? malformed;
  const body = errorBody('bad-request', message);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`, () => socket.destroy());
}
