import type { Command } from 'commander';
import { oneOf, action, untilStopped } from '../command-tools.ts';
import { createLog, logLevels } from '../create-log.ts';
import type { LogLevel } from '../create-log.ts';
import type { RunningUp } from '../up.ts';
import { startUp } from '../up.ts';
import type { UpFlags } from '../up-flags.ts';
import { addUpFlags, upOptionsOf } from '../up-flags.ts';

interface Flags extends UpFlags {
  readonly json?: boolean;
  readonly logLevel: LogLevel;
}

const examples = `
Examples:
  $ kinroute up                                      four simulated engines behind http://127.0.0.1:8080
  $ kinroute up --engines 8 --mode affinity          eight, sessions stick to workers
  $ kinroute up --engine http://127.0.0.1:30000      one command in front of a real SGLang server
  $ kinroute up --routers 2 --port 9000 --json       two routers on 9000 and 9001, addresses as one JSON object
Ctrl-C (SIGINT) or SIGTERM stops all of it.`;

export function registerUp(program: Command): void {
  const command = program.command('up').description('a whole deployment on this machine: NATS server, engines, agents, routers');
  addUpFlags(command)
    .option('--log-level <level>', `what goes to standard error: ${logLevels.join(', ')}`, oneOf(logLevels), 'warn')
    .option('--json', 'print the addresses as one JSON object')
    .addHelpText('after', examples)
    .action(action(up));
}

async function up(flags: Flags): Promise<void> {
  const options = upOptionsOf(flags);
  const stopped = untilStopped();
  const running = await startUp(options, createLog('up', flags.logLevel));
  process.stdout.write(flags.json === true ? `${JSON.stringify(addresses(running, options.mode))}\n` : readable(running, options.mode));
  const signal = await stopped;
  process.stderr.write(`kinroute: ${signal}, stopping\n`);
  await running.close();
}

const addresses = (running: RunningUp, mode: string): object => ({
  mode,
  routers: running.routers.map((router) => router.url),
  engines: running.engines.map((engine) => engine.url),
  workers: running.workers,
  nats: running.nats.url,
});

/** Addresses, workers and something to try, for people. */
export function readable(running: RunningUp, mode: string): string {
  const [router] = running.routers;
  const url = router?.url ?? '';
  return [
    `kinroute is up, mode ${mode}`,
    ...running.routers.map((each) => `  router   ${each.url}`),
    `  NATS     ${running.nats.url}`,
    ...running.workers.map((worker) => `  worker   ${worker.worker} (pool ${worker.pool}) before ${worker.engineUrl}`),
    '',
    'Try:',
    `  curl -i ${url}/generate -H 'content-type: application/json' -H 'x-kinroute-session-id: s1' -d '{"input_ids":[101,102,103],"sampling_params":{"max_new_tokens":8}}'`,
    `  curl -s ${url}/workers`,
    `  curl -N ${url}/placements`,
    `  curl -X PUT ${url}/mode -H 'content-type: application/json' -d '{"mode":"affinity"}'`,
    '',
  ].join('\n');
}
