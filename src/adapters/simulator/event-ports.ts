import { createServer } from 'node:net';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { Log } from '../../ports/log.ts';
import { EventPublisher } from './event-publisher.ts';

export interface EventSocketsOptions {
  readonly host: string;
  /** Null: any free run of ports. */
  readonly kvPort: number | null;
  readonly ranks: number;
  readonly topic: string;
  readonly bufferSteps: number;
  readonly topicInReplay: boolean;
}

export interface EventSockets {
  readonly publishers: readonly EventPublisher[];
  readonly kvPort: number;
  /** Rank r is at this plus r; after all KV ports, so that none collides (with SGLang's usual KV + 1 rank 1 does). */
  readonly replayPort: number;
}

const attempts = 50;

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, host, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

async function openAt(kvPort: number, options: EventSocketsOptions, log: Log): Promise<EventSockets> {
  const { host, ranks, topic, bufferSteps, topicInReplay } = options;
  const replayPort = kvPort + ranks;
  const publishers = Array.from(
    { length: ranks },
    (_, rank) => new EventPublisher({ host, kvPort: kvPort + rank, replayPort: replayPort + rank, topic, bufferSteps, topicInReplay }, log),
  );
  try {
    for (const publisher of publishers) await publisher.open();
    return { publishers, kvPort, replayPort };
  } catch (error) {
    await Promise.all(publishers.map((publisher) => publisher.close()));
    throw error;
  }
}

/** Binds a KV and a replay socket for each rank, on ports that follow each other. Rejects with `port-in-use`. */
export async function openEventSockets(options: EventSocketsOptions, log: Log): Promise<EventSockets> {
  if (options.kvPort !== null) {
    const last = options.kvPort + 2 * options.ranks - 1;
    return openAt(options.kvPort, options, log).catch((cause: unknown) => {
      throw new RouterError('port-in-use', `cannot bind ports ${options.kvPort} to ${last} for KV events (${messageOf(cause)}): choose another --kv-port, or leave it out to take free ones`, { cause });
    });
  }
  let cause: unknown = null;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = await freePort(options.host);
    if (port + 2 * options.ranks > 65_535) continue;
    try {
      return await openAt(port, options, log);
    } catch (error) {
      // Another process took a port of the run between the probe and here: the next run is tried.
      cause = error;
    }
  }
  throw new RouterError('port-in-use', `found no ${2 * options.ranks} free ports in a row for KV events: give --kv-port`, { cause });
}
