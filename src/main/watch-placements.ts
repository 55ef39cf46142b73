import { SsePlacementFollower } from '../adapters/load-client/sse-placement-follower.ts';
import { connectNats } from '../adapters/nats/connection.ts';
import { routerPorts } from '../adapters/nats/router-ports.ts';
import type { PlacementFilter, WatchedPlacement } from '../app/watch-placements.ts';
import { allPlacements, watchPlacements as follow } from '../app/watch-placements.ts';
import type { Log } from '../ports/log.ts';
import { createLog } from './create-log.ts';

/** Where to follow placement events, and which. */
export interface WatchOptions {
  /** A router's URL: its `GET /placements`. */
  readonly router?: string;
  /** A NATS URL: the placement stream itself, of all routers. Goes before `router`. */
  readonly nats?: string;
  readonly filter?: Partial<PlacementFilter>;
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
  readonly log?: Log;
}

/**
 * Placement events as they come: `for await (const { event, sequence } of watchPlacements({ router: 'http://…' }))`.
 * Throws `bus-unavailable` where neither answers, and when the reader is 10,000 events behind.
 */
export async function* watchPlacements(options: WatchOptions): AsyncGenerator<WatchedPlacement> {
  const log = options.log ?? createLog('watch', 'warn');
  const filter = { ...allPlacements, ...options.filter };
  const signal = options.signal ?? new AbortController().signal;
  if (options.nats === undefined) {
    yield* follow(new SsePlacementFollower(options.router ?? 'http://127.0.0.1:8080', log), filter, signal);
    return;
  }
  const handle = await connectNats({ servers: options.nats, name: 'kinroute watch' }, log);
  try {
    yield* follow(routerPorts(handle).placements, filter, signal);
  } finally {
    await handle.close();
  }
}
