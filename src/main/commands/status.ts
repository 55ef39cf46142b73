import Table from 'cli-table3';
import type { Command } from 'commander';
import { isObject } from '../../core/evidence/trace-fields.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';
import { action, exitCodes, httpUrl } from '../command-tools.ts';

interface Flags {
  readonly router: string;
  readonly json?: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

interface Status {
  readonly router: string;
  readonly ready: Fields;
  readonly mode: Fields;
  readonly workers: readonly Fields[];
}

const patienceMs = 10_000;

const examples = `
Examples:
  $ kinroute status                                    what the router on port 8080 knows
  $ kinroute status --router http://10.0.0.7:8080 --json
Exits with 0 when requests will be served, with ${exitCodes.failed} when not, with ${exitCodes.unreachable} when the router does not answer.`;

export function registerStatus(program: Command): void {
  program
    .command('status')
    .description('what a router knows: whether it is ready, its mode, every rank with its load and blocks')
    .option('--router <url>', 'the router', httpUrl, 'http://127.0.0.1:8080')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples)
    .action(action(status));
}

async function status(flags: Flags): Promise<void> {
  const url = flags.router;
  const [ready, mode, listed] = await Promise.all([fetched(url, '/health/ready'), fetched(url, '/mode'), fetched(url, '/workers')]);
  const workers = Array.isArray(listed['workers']) ? listed['workers'].filter(isObject) : [];
  const found: Status = { router: url, ready, mode, workers };
  process.stdout.write(flags.json === true ? `${JSON.stringify(found)}\n` : readable(found));
  if (ready['ready'] !== true) process.exitCode = exitCodes.failed;
}

/** Both 200 and 503 of `/health/ready` are answers. */
async function fetched(url: string, path: string): Promise<Fields> {
  try {
    const answer: unknown = await (await fetch(`${url}${path}`, { signal: AbortSignal.timeout(patienceMs) })).json();
    if (isObject(answer)) return answer;
    throw new Error('it answered with no JSON object');
  } catch (cause) {
    throw new RouterError('bus-unavailable', `no router answers at ${url}${path} (${messageOf(cause)}): start one with \`kinroute router\`, or name the right address with --router`, { cause });
  }
}

const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '-');
const inner = (fields: Fields, name: string): Fields => {
  const value = fields[name];
  return isObject(value) ? value : {};
};

function readable({ router, ready, mode, workers }: Status): string {
  const table = new Table({ head: ['pool', 'worker', 'rank', 'engine', 'trust', 'blocks', 'claimed', 'running', 'waiting'], style: { head: [], border: [] } });
  for (const worker of workers) {
    const reported = inner(worker, 'reported');
    const trust = `${text(worker['trust'])}${worker['draining'] === true ? ', draining' : ''}`;
    const cells = [worker['pool'], worker['worker'], worker['rank'], worker['engineUrl'], trust, worker['heldBlocks'], inner(worker, 'claimed')['requests'], reported['runningRequests'], reported['waitingRequests']];
    table.push(cells.map(text));
  }
  const state = ready['ready'] === true ? 'ready' : `not ready: ${text(ready['why'])}`;
  return `router ${router}: ${state}, mode ${text(mode['mode'])}, parent affinity ${text(mode['parentAffinity'])}\n${table.toString()}\n`;
}
