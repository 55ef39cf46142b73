import type { RankEventEndpoints } from '../ports/engine.ts';
import type { Log } from '../ports/log.ts';

/**
 * A replay socket at KV port + 1, the usual place, is where rank 1 publishes. Such a replay socket is named and not
 * asked: whoever answers there is no replay.
 */
export function withoutCollisions(endpoints: readonly RankEventEndpoints[], log: Log): readonly RankEventEndpoints[] {
  const publishers = new Map(endpoints.map((each) => [portOf(each.endpoint), each.rank]));
  return endpoints.map((each) => {
    const port = each.replayEndpoint === null ? null : portOf(each.replayEndpoint);
    const publisher = port === null ? undefined : publishers.get(port);
    if (publisher === undefined) return each;
    const wayOut = 'give the engine a replay_endpoint at least as many ports above its endpoint as it has ranks';
    log.warn({ rank: each.rank, port, publishingRank: publisher, wayOut }, 'replay-port-is-a-kv-port');
    return { ...each, replayEndpoint: null };
  });
}

const portOf = (endpoint: string): number => Number(endpoint.slice(endpoint.lastIndexOf(':') + 1));
