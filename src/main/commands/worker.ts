import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { messageOf, RouterError } from '../../core/router-error.ts';
import { action, httpUrl, oneOf, untilStopped, wholeNumber } from '../command-tools.ts';
import { createLog, logLevels } from '../create-log.ts';
import type { LogLevel } from '../create-log.ts';
import { startWorker, workerDefaults } from '../start-worker.ts';
import type { WorkerOptions } from '../start-worker.ts';

interface Flags {
  readonly engine: string;
  readonly nats: string;
  readonly pool?: string;
  readonly name?: string;
  readonly blockSize: number;
  readonly engineKind?: 'sglang' | 'vllm';
  readonly kvEndpoint?: string;
  readonly replayEndpoint?: string;
  readonly pageSize?: number;
  readonly vocabSize?: number;
  readonly keepExtraKey?: boolean;
  readonly apiKeyFile?: string;
  readonly loadPeriod: number;
  readonly drain: number;
  readonly logLevel: LogLevel;
  readonly json?: boolean;
}

const examples = `
Examples:
  $ kinroute worker --engine http://127.0.0.1:30000 --nats nats://127.0.0.1:4222
  $ kinroute worker --engine http://gpu7:30000 --nats nats://bus:4222 --pool llama --name gpu7 --api-key-file key.txt
  $ kinroute worker --engine http://127.0.0.1:8000 --nats nats://127.0.0.1:4222 --kv-endpoint 'tcp://*:5557'
The engine publishes its KV events with --kv-events-config '{"publisher":"zmq","endpoint":"tcp://*:5557","replay_endpoint":"tcp://*:5657"}'.
Ctrl-C (SIGINT) or SIGTERM lets running requests end, then leaves.`;

export function registerWorker(program: Command): void {
  program
    .command('worker')
    .description('the agent beside one SGLang or vLLM server: serves its requests, tells its KV events and load')
    .requiredOption('--engine <url>', "the server's http://host:port", httpUrl)
    .requiredOption('--nats <url>', 'the NATS server')
    .option('--pool <name>', 'the workers of one model (default: named after the model)')
    .option('--name <name>', "this worker (default: named after the engine's host and port)")
    .option('--block-size <tokens>', 'tokens a block, one number for a pool', wholeNumber(1, 1_024), workerDefaults.blockSize)
    .option('--engine-kind <kind>', 'sglang or vllm (default: found out)', oneOf(['sglang', 'vllm'] as const))
    .option('--kv-endpoint <tcp>', "rank 0's event socket; tcp://*:PORT lets the engine connect to us (default: the engine says)")
    .option('--replay-endpoint <tcp>', "rank 0's replay socket (default: the engine says)")
    .option('--page-size <tokens>', 'tokens a page (default: the engine says)', wholeNumber(1, 65_535))
    .option('--vocab-size <ids>', "token ids are below this: others are refused (default: as config.json in the model's folder says, where the agent can read it)", wholeNumber(1, 2 ** 31 - 1))
    .option('--keep-extra-key', 'send extra_key on as it is, not as a cache_salt; its prompts are placed without events')
    .option('--api-key-file <path>', "file with the engine's API key")
    .option('--load-period <ms>', 'how often loads are told', wholeNumber(50, 10_000), workerDefaults.loadPeriodMs)
    .option('--drain <ms>', 'how long running requests may go on when stopped', wholeNumber(0, 3_600_000), workerDefaults.drainMs)
    .option('--log-level <level>', `what goes to standard error: ${logLevels.join(', ')}`, oneOf(logLevels), 'info')
    .option('--json', 'print pool and worker as one JSON object when registered')
    .addHelpText('after', examples)
    .action(action(worker));
}

async function worker(flags: Flags): Promise<void> {
  const stopped = untilStopped();
  const running = await startWorker(optionsOf(flags), createLog('worker', flags.logLevel));
  const { pool, worker: name } = running;
  process.stdout.write(flags.json === true ? `${JSON.stringify({ pool, worker: name, engine: flags.engine })}\n` : `worker ${name} (pool ${pool}) serves ${flags.engine}\n`);
  const signal = await stopped;
  process.stderr.write(`kinroute: ${signal}, leaving\n`);
  await running.close();
}

function optionsOf(flags: Flags): WorkerOptions {
  const { engine, nats, apiKeyFile, loadPeriod, drain, logLevel: _logLevel, json: _json, ...rest } = flags;
  const key = apiKeyFile === undefined ? {} : { apiKey: readKey(apiKeyFile) };
  return { ...rest, ...key, engineUrl: engine, nats: { servers: nats }, loadPeriodMs: loadPeriod, drainMs: drain };
}

/** The key alone, without the line's end. */
function readKey(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new RouterError('bad-config', `the API key file ${path} can't be read (${messageOf(cause)}): name a file with the engine's key in it`, { cause });
  }
}
