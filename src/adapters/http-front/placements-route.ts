import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { PlacementEvent } from '../../core/placement/placement-event.ts';
import { RouterError } from '../../core/router-error.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { PlacementFollower } from '../../ports/placement-bus.ts';
import { PlacementFilter } from './placement-filter.ts';

/** A reader that is so far behind is cut off: it comes back with `Last-Event-ID` and misses nothing. */
const maxBehindBytes = 8 * 1024 * 1024;
const heartbeatMs = 15_000;
/** While NATS is away nothing can be followed, and a reader is not left without an answer. */
const patienceMs = 5_000;

/** Streams to readers of placement events; closing ends them. */
export class PlacementStreams implements Closable {
  readonly #follower: PlacementFollower;
  readonly #open = new Set<() => Promise<void>>();

  constructor(follower: PlacementFollower) {
    this.#follower = follower;
  }

  /** Resolves when the reader is gone. Rejects before anything was sent where events can't be followed. */
  async serve(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const filter = new PlacementFilter(new URL(request.url, 'http://router').searchParams);
    const raw = reply.raw;
    const begun: string[] = [];
    let write = (text: string): void => void begun.push(text);
    const asked = this.#follower.follow({ pool: filter.pool, after: lastEventId(request) }, (event, sequence) => {
      if (filter.takes(event)) write(sse(event, sequence));
    });
    const following = await followedInTime(asked);
    reply.hijack();
    raw.writeHead(200, { ...plain(reply), 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    write = (text) => writeTo(raw, text);
    write(`: placements\n\n${begun.join('')}`);
    await this.#untilGone(raw, following);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((end) => end()));
  }

  async #untilGone(raw: ServerResponse, following: Closable): Promise<void> {
    const gone = new Promise<void>((resolve) => (raw.destroyed ? resolve() : raw.once('close', resolve)));
    const heartbeat = setInterval(() => writeTo(raw, ': \n\n'), heartbeatMs);
    const end = async (): Promise<void> => {
      raw.end();
      await gone;
    };
    this.#open.add(end);
    await gone;
    clearInterval(heartbeat);
    this.#open.delete(end);
    await following.close();
  }
}

export function placementsRoute(app: FastifyInstance, streams: PlacementStreams): void {
  app.get('/placements', (request, reply) => streams.serve(request, reply));
}

/** Rejects with `bus-unavailable` after five seconds; what is followed too late is let go. */
async function followedInTime(asked: Promise<Closable>): Promise<Closable> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      asked.then((following) => following.close()).catch(() => {
        // It was never used: whether it came or went changes nothing.
      });
      reject(new RouterError('bus-unavailable', `the placement stream can't be followed for ${patienceMs / 1_000} s now: is the NATS server up? try again`));
    }, patienceMs);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

const sse = (event: PlacementEvent, sequence: number): string => `id: ${sequence}\ndata: ${JSON.stringify(event)}\n\n`;

function writeTo(raw: ServerResponse, text: string): void {
  if (raw.writableEnded || raw.destroyed) return;
  if (raw.writableLength > maxBehindBytes) raw.destroy();
  else raw.write(text);
}

/** Fastify keeps headers that were set before the connection was taken over. */
const plain = (reply: FastifyReply): Record<string, string> => Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]));

function lastEventId(request: FastifyRequest): number | null {
  const given = request.headers['last-event-id'];
  if (given === undefined) return null;
  const sequence = Number(given);
  if (Number.isSafeInteger(sequence) && sequence >= 0) return sequence;
  throw new RouterError('bad-request', 'last-event-id must be the id of an event of this stream, a whole number');
}
