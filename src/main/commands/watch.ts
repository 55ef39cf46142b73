import type { Command } from 'commander';
import type { PlacementFilter } from '../../app/watch-placements.ts';
import { placementEventNames } from '../../core/evidence/placement-event-names.ts';
import { placementLine } from '../../core/evidence/placement-line.ts';
import type { PlacementEvent } from '../../core/placement/placement-event.ts';
import { RouterError } from '../../core/router-error.ts';
import { action, httpUrl, listOf, oneOf, untilStopped, wholeNumber } from '../command-tools.ts';
import { watchPlacements } from '../watch-placements.ts';

interface Flags {
  readonly router?: string;
  readonly nats?: string;
  readonly event?: readonly PlacementEvent['event'][];
  readonly worker?: string;
  readonly pool?: string;
  readonly session?: string;
  readonly after?: number;
  readonly json?: boolean;
}

const examples = `
Examples:
  $ kinroute watch                                              all events of the router on port 8080
  $ kinroute watch --nats nats://127.0.0.1:4222 --event placed  decisions of all routers
  $ kinroute watch --worker w1 --json                           JSON lines about one worker`;

export function registerWatch(program: Command): void {
  program
    .command('watch')
    .description('follow placement events')
    .option('--router <url>', 'a router to follow them at (default http://127.0.0.1:8080)', httpUrl)
    .option('--nats <url>', 'the NATS server to follow them at: events of all routers')
    .option('--event <list>', `only these: ${placementEventNames.join(', ')}`, listOf(oneOf(placementEventNames)))
    .option('--worker <name>', 'only those about this worker')
    .option('--pool <name>', 'only those of this pool')
    .option('--session <id>', 'only placements of this session')
    .option('--after <sequence>', 'go on behind this place in the stream instead of from now', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--json', 'print each event as a line of JSON')
    .addHelpText('after', examples)
    .action(action(watch));
}

async function watch(flags: Flags): Promise<void> {
  if (flags.router !== undefined && flags.nats !== undefined) throw new RouterError('bad-config', '--router and --nats are two ways to the same events: give one');
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  const source = flags.nats === undefined ? { router: flags.router ?? 'http://127.0.0.1:8080' } : { nats: flags.nats };
  for await (const { event } of watchPlacements({ ...source, filter: filterOf(flags), signal: stop.signal })) {
    process.stdout.write(`${flags.json === true ? JSON.stringify(event) : placementLine(event)}\n`);
  }
}

const filterOf = (flags: Flags): PlacementFilter => ({
  pool: flags.pool ?? null,
  worker: flags.worker ?? null,
  session: flags.session ?? null,
  events: flags.event ?? null,
  after: flags.after ?? null,
});
