import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { SsePlacementFollower } from '../../../src/adapters/load-client/sse-placement-follower.ts';
import type { PlacementEvent } from '../../../src/core/placement/placement-event.ts';
import { silentLog } from '../../support/silent-log.ts';

const open: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function listen(handler: Handler): Promise<string> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  }));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

const record = (requestId: string): string => JSON.stringify({ v: 1, at: '', router: 'r1', pool: 'p', event: 'rejected', requestId, code: 'no-worker', message: '' });

/** Follows until `wanted` events have come. */
async function follow(url: string, wanted: number, options: { readonly pool: string | null; readonly after: number | null } = { pool: null, after: null }): Promise<readonly [number, string][]> {
  const seen: [number, string][] = [];
  let enough: () => void = () => {};
  const all = new Promise<void>((resolve) => (enough = resolve));
  const following = await new SsePlacementFollower(url, silentLog).follow(options, (event: PlacementEvent, sequence) => {
    seen.push([sequence, 'requestId' in event ? event.requestId : '']);
    if (seen.length === wanted) enough();
  });
  await all;
  await following.close();
  return seen;
}

describe('placements over HTTP', () => {
  it('come with their sequence, whatever pieces the bytes come in, and without what is no record', async () => {
    const url = await listen((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const text = `: hello\n\nid: 7\ndata: ${record('a')}\n\nid: 8\ndata: not json\n\nid: 9\ndata: ${record('b')}\n\n`;
      response.write(text.slice(0, 40), () => response.write(text.slice(40)));
    });
    expect(await follow(url, 2)).toEqual([[7, 'a'], [9, 'b']]);
  });

  it('go on behind the last one after the connection broke', async () => {
    const asked: (string | undefined)[] = [];
    const url = await listen((request, response) => {
      const after = request.headers['last-event-id'];
      asked.push(typeof after === 'string' ? after : undefined);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (asked.length === 1) response.end(`id: 3\ndata: ${record('a')}\n\n`);
      else response.write(`id: 4\ndata: ${record('b')}\n\n`);
    });
    expect(await follow(url, 2)).toEqual([[3, 'a'], [4, 'b']]);
    expect(asked).toEqual([undefined, '3']);
  });

  it('of a router that refuses are an error that names it', async () => {
    const url = await listen((_, response) => {
      response.writeHead(404);
      response.end();
    });
    await expect(follow(url, 1)).rejects.toMatchObject({ code: 'bus-unavailable', message: `router ${url} shows no placements: ${url}/placements answered 404` });
  });
});
