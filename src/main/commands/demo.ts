import type { Command } from 'commander';
import { fanOutMatrix, planCells } from '../../core/evidence/comparison-plan.ts';
import { surprises } from '../../core/evidence/expected-outcome.ts';
import { portIsFree } from '../../adapters/system/free-port.ts';
import { RouterError } from '../../core/router-error.ts';
import { action, exitCodes, oneOf, wholeNumber } from '../command-tools.ts';
import { abortOnSignal } from '../abort-on-signal.ts';
import { compareLive } from '../compare-live.ts';
import { createLog, logLevels } from '../create-log.ts';
import type { LogLevel } from '../create-log.ts';
import { startUp } from '../up.ts';
import { addSpeedFlag } from '../up-flags.ts';
import { comparisonText, progress } from './compare.ts';
import { readable } from './up.ts';

interface Flags {
  readonly once?: boolean;
  readonly port: number;
  readonly speed: number;
  readonly logLevel: LogLevel;
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

export function registerDemo(program: Command): void {
  const command = program
    .command('demo')
    .description('the fan-out comparison on this machine, and then a deployment to play with')
    .option('--once', 'end after the comparison: exit code 0 only when it showed what it should')
    .option('--port <port>', "the router's port, after the comparison", wholeNumber(0, 65_535), 8_080);
  addSpeedFlag(command)
    .option('--log-level <level>', `what goes to standard error: ${logLevels.join(', ')}`, oneOf(logLevels), 'warn')
    .addHelpText('after', '\nExamples:\n  $ kinroute demo          compare, then keep four workers running until Ctrl-C\n  $ kinroute demo --once   compare and exit (code 4 when a row did not do what it should)')
    .action(action(demo));
}

async function demo(flags: Flags): Promise<void> {
  if (flags.once !== true && flags.port !== 0 && !(await portIsFree('127.0.0.1', flags.port))) {
    throw new RouterError('port-in-use', `port ${flags.port} is in use, and the demo would leave its router there: give another --port, or --once`);
  }
  const plans = planCells(fanOutMatrix);
  const signal = abortOnSignal();
  say('A fan-out of agent sessions with one shared prefix goes through kinroute, once for each placement mode:');
  say(`simulated SGLang engines (${flags.speed === 1 ? 'at the speed of the modelled GPU' : `${flags.speed} times as fast as the modelled GPU`}) with real HTTP and ZMQ, an agent each,`);
  say(`a real nats-server and a router, all started here. ${plans.length} rows, about a minute.`);
  const comparison = await compareLive(plans, { pool: { speed: flags.speed }, seed: 1, maxNewTokens: 8, gapMs: 0, signal }, createLog('demo', flags.logLevel), progress(plans.length));
  process.stdout.write(comparisonText(comparison));
  const wrong = [...comparison.failures, ...surprises(comparison.cells)];
  for (const line of wrong) say(`kinroute: not as it should be: ${line}`);
  if (wrong.length > 0) process.exitCode = exitCodes.comparisonFailed;
  else process.stdout.write('As it should be: B1 selected one worker and computed one copy in every row, B2 by events as many as the fan-out, C2 one.\n');
  if (flags.once !== true) await keepRunning(flags, signal);
}

async function keepRunning(flags: Flags, signal: AbortSignal): Promise<void> {
  const running = await startUp({ engines: 4, mode: 'affinity', parentAffinity: 'siblings', port: flags.port, speed: flags.speed }, createLog('demo', flags.logLevel));
  process.stdout.write(`\n${readable(running, 'affinity')}\nCtrl-C stops all of it.\n`);
  await aborted(signal);
  await running.close();
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    // The routers' own sockets keep the process alive meanwhile.
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
