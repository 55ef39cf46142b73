import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { readRecording } from '../../adapters/engine-events/recorded-events.ts';
import { ZmqEventSource } from '../../adapters/engine-events/zmq-event-source.ts';
import type { EventQuery } from '../../app/event-query.ts';
import { EventInspection } from '../../app/inspect-events.ts';
import { isObject } from '../../core/evidence/trace-fields.ts';
import { parseDpRank } from '../../core/identity/ids.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { EngineBatch } from '../../core/kv-stream/engine-event.ts';
import type { RankEventEndpoints } from '../../ports/engine.ts';
import { action, oneOf, untilStopped, wholeNumber } from '../command-tools.ts';
import { createLog } from '../create-log.ts';
import { parseEventQueries } from '../event-queries.ts';
import { batchLine, reportText } from '../events-table.ts';

interface Flags {
  readonly blockSize: number;
  readonly pageSize?: number;
  readonly engineKind?: 'sglang' | 'vllm';
  readonly queries?: string;
  readonly topic: string;
  readonly replay?: string;
  readonly bind?: boolean;
  readonly limit: number;
  readonly json?: boolean;
}

const examples = `
FILE is a recording: a JSON object a line, {"socket":"pub","frames":["base64",...],"rank"?}.
QUERIES.json is a list of {tokens, rank?, salt?, lora?}, a recording's expected.json or its kv.requests.jsonl.

Examples:
  $ kinroute events store-p16.wire.jsonl --block-size 64 --queries store-p16.expected.json
  $ kinroute events tcp://127.0.0.1:5557 --replay tcp://127.0.0.1:5657 --block-size 64    follows a live engine
  $ kinroute events recording.jsonl --block-size 16 --queries prompts.json --json`;

export function registerEvents(program: Command): void {
  program
    .command('events')
    .description('decode the KV events of an engine or a recording: what they mean, what is held, what prompts would hit')
    .argument('<source>', 'a recording, or tcp://host:port of a live engine')
    .option('--block-size <tokens>', 'tokens of a block', wholeNumber(1, 1_024), 64)
    .option('--page-size <tokens>', 'tokens of an engine\'s page (default: as its events say)', wholeNumber(1, 65_535))
    .option('--engine-kind <kind>', 'sglang or vllm (default: as its events look)', oneOf(['sglang', 'vllm'] as const))
    .option('--queries <file>', 'prompts to ask for')
    .option('--topic <topic>', 'of a live engine; empty takes all', '')
    .option('--replay <endpoint>', 'the live engine\'s replay socket, for what it stored before')
    .option('--bind', 'the live engine connects: listen there instead of connecting')
    .option('--limit <batches>', 'batches to print of a recording', wholeNumber(0, Number.MAX_SAFE_INTEGER), 50)
    .option('--json', 'print the result as one JSON object, and nothing else')
    .addHelpText('after', examples)
    .action(action(events));
}

async function events(source: string, flags: Flags): Promise<void> {
  const queries = flags.queries === undefined ? [] : await readQueries(flags.queries);
  const inspection = new EventInspection({ blockSize: flags.blockSize, pageSize: flags.pageSize ?? null, kind: flags.engineKind ?? null }, queries);
  const say = flags.json === true ? (): void => undefined : (line: string): void => void process.stdout.write(`${line}\n`);
  if (/^[a-z]+:\/\//.test(source)) await followLive(source, flags, { inspection, say });
  else inspectRecording(await readText(source), flags, { inspection, say });
  process.stdout.write(flags.json === true ? `${JSON.stringify(inspection.report())}\n` : `${reportText(inspection.report())}\n`);
}

interface Output {
  readonly inspection: EventInspection;
  readonly say: (line: string) => void;
}

function inspectRecording(text: string, flags: Flags, { inspection, say }: Output): void {
  const messages = readRecording(text);
  for (const [index, message] of messages.entries()) {
    const outcome = inspection.see(message);
    if (index < flags.limit) say(outcome === null ? `rank ${message.rank}: not a batch (${message.reason ?? 'unreadable'})` : batchLine(message.rank, outcome));
  }
  if (messages.length > flags.limit) say(`and ${messages.length - flags.limit} more (--limit)`);
}

type Message = Parameters<EventInspection['see']>[0];

/** Until SIGINT or SIGTERM, or an event that can't be followed. */
async function followLive(endpoint: string, flags: Flags, { inspection, say }: Output): Promise<void> {
  const stop = new AbortController();
  const failures: unknown[] = [];
  const see = (message: Message): void => {
    try {
      const outcome = inspection.see(message);
      if (outcome !== null) say(batchLine(message.rank, outcome));
    } catch (error) {
      failures.push(error);
      stop.abort();
    }
  };
  void untilStopped().then(() => stop.abort());
  await readLive({ rank: parseDpRank(0), endpoint, bind: flags.bind === true, replayEndpoint: flags.replay ?? null }, { topic: flags.topic, see, signal: stop.signal });
  if (failures.length > 0) throw asError(failures[0]);
}

/** Live batches wait until the replay has told what was before them. Resolves when the signal aborts. */
async function readLive(endpoints: RankEventEndpoints, { topic, see, signal }: { readonly topic: string; readonly see: (message: Message) => void; readonly signal: AbortSignal }): Promise<void> {
  const source = new ZmqEventSource(createLog('events', 'warn'));
  const early: Message[] = [];
  let take = (message: Message): void => void early.push(message);
  const subscription = await source.subscribe([endpoints], topic, {
    batch: (_, batch) => take(toMessage(batch)),
    invalid: (_, reason) => take({ rank: 0, batch: null, reason }),
  });
  try {
    const past = (await source.replay(endpoints, 0, signal)) ?? [];
    const newest = past.at(-1)?.seq ?? -1;
    for (const message of [...past.map(toMessage), ...early.filter(({ batch }) => batch === null || batch.seq > newest)]) see(message);
    take = see;
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await subscription.close();
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(messageOf(error)));

const toMessage = (batch: EngineBatch): Message => ({ rank: batch.rank ?? 0, batch, reason: null });

async function readQueries(file: string): Promise<readonly EventQuery[]> {
  return parseEventQueries(await readText(file), await releaseBeside(file));
}

/** The release that a recorded server's `server.json` names; null where there is none. */
async function releaseBeside(file: string): Promise<string | null> {
  try {
    const server: unknown = JSON.parse(await readFile(join(dirname(file), 'server.json'), 'utf8'));
    return isObject(server) && typeof server['sglang'] === 'string' ? server['sglang'] : null;
  } catch {
    // Only recordings of a server have such a file: without it nothing is known of the release.
    return null;
  }
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new RouterError('bad-config', `${file} can't be read: ${messageOf(error)}`, { cause: error });
  }
}
