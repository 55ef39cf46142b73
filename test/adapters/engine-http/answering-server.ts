import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RecordedExchange } from './recorded-exchange.ts';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  /** As they came, names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export interface AnsweringServer {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  close(): Promise<void>;
}

export type Answer = (request: SeenRequest, response: ServerResponse, incoming: IncomingMessage) => void;

/** An HTTP server on a free port that answers as it is told. */
export async function answeringServer(answer: Answer): Promise<AnsweringServer> {
  const seen: SeenRequest[] = [];
  const server = createServer((incoming, response) => {
    void readAll(incoming).then((body) => {
      const request = { method: incoming.method ?? '', path: incoming.url ?? '', rawHeaders: incoming.rawHeaders, body };
      seen.push(request);
      answer(request, response, incoming);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url: `http://127.0.0.1:${port}`, seen, close };
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}

/** Answers with the recording of the same method and path; 404 for others. */
export function answerFrom(exchanges: readonly RecordedExchange[]): Answer {
  return (request, response) => {
    const found = exchanges.find((each) => each.method === request.method && each.path === request.path);
    if (found === undefined) return void response.writeHead(404, { 'content-type': 'application/json' }).end('{"detail":"Not Found"}');
    sayRecorded(found, response);
  };
}

/** The recorded bytes in the recorded pieces. */
export function sayRecorded(exchange: RecordedExchange, response: ServerResponse): void {
  const ownNames = ['connection', 'transfer-encoding'];
  response.sendDate = false;
  response.writeHead(exchange.status, exchange.headers.filter(([name]) => !ownNames.includes(name.toLowerCase())).flat());
  exchange.chunks.forEach((chunk) => response.write(chunk));
  response.end();
}
