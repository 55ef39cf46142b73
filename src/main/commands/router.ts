import type { Command } from 'commander';
import { parentAffinities, placementModes } from '../../core/placement/placement.ts';
import type { ParentAffinity, PlacementMode } from '../../core/placement/placement.ts';
import { action, oneOf, untilStopped, wholeNumber } from '../command-tools.ts';
import { createLog, logLevels } from '../create-log.ts';
import type { LogLevel } from '../create-log.ts';
import { routerDefaults, startRouter } from '../start-router.ts';

interface Flags {
  readonly nats: string;
  readonly host: string;
  readonly port: number;
  readonly mode: PlacementMode;
  readonly parentAffinity: ParentAffinity;
  readonly name?: string;
  readonly retries: number;
  readonly tokenizer?: string;
  readonly bodyLimit: number;
  readonly deadline: number;
  readonly sessionIdle: number;
  readonly predictionTtl: number;
  readonly logLevel: LogLevel;
  readonly json?: boolean;
}

const examples = `
Examples:
  $ kinroute router --mode affinity --parent-affinity siblings        sessions stick to workers, siblings stay together
  $ kinroute router --mode event --port 8081 --name r2               a second router beside the first
  $ kinroute router --mode event --tokenizer /models/Qwen3-8B        tokenizes by itself instead of asking the engines`;

export function registerRouter(program: Command): void {
  program
    .command('router')
    .description('the HTTP front: places requests on workers; run as many as you like')
    .option('--nats <url>', 'the NATS server', 'nats://127.0.0.1:4222')
    .option('--host <address>', 'where it listens', routerDefaults.host)
    .option('--port <port>', '0 takes a free one', wholeNumber(0, 65_535), 8_080)
    .option('--mode <mode>', `how requests are placed, until \`kinroute mode\` says otherwise: ${placementModes.join(', ')}`, oneOf(placementModes), 'event')
    .option('--parent-affinity <kind>', `how affinity places a new child session: ${parentAffinities.join(', ')}`, oneOf(parentAffinities), routerDefaults.parentAffinity)
    .option('--name <name>', 'its name in placement events (default: one of its own)')
    .option('--retries <n>', 'further workers for a request that one failed before the first byte', wholeNumber(0, 16), routerDefaults.retries)
    .option('--tokenizer <folder>', "the model's tokenizer.json and tokenizer_config.json (default: the engines are asked)")
    .option('--body-limit <bytes>', 'largest body that is taken', wholeNumber(1_024, 1_073_741_824), routerDefaults.bodyLimitBytes)
    .option('--deadline <ms>', 'longest life of a request', wholeNumber(1, 86_400_000), routerDefaults.deadlineMs)
    .option('--session-idle <ms>', "a session's binding goes after so long without a request", wholeNumber(1, 86_400_000), routerDefaults.sessionIdleMs)
    .option('--prediction-ttl <ms>', 'how long a placement promises its blocks', wholeNumber(1, 86_400_000), routerDefaults.predictionTtlMs)
    .option('--log-level <level>', `what goes to standard error: ${logLevels.join(', ')}`, oneOf(logLevels), 'info')
    .option('--json', 'print the address as one JSON object')
    .addHelpText('after', examples)
    .action(action(router));
}

async function router(flags: Flags): Promise<void> {
  const { nats, host, port, mode, parentAffinity, retries } = flags;
  const stopped = untilStopped();
  const limits = { bodyLimitBytes: flags.bodyLimit, deadlineMs: flags.deadline, sessionIdleMs: flags.sessionIdle, predictionTtlMs: flags.predictionTtl };
  const options = { nats: { servers: nats }, name: flags.name ?? null, host, port, mode, parentAffinity, retries, tokenizer: flags.tokenizer ?? null, ...limits };
  const running = await startRouter(options, createLog('router', flags.logLevel));
  process.stdout.write(flags.json === true ? `${JSON.stringify({ url: running.url, name: running.name, mode })}\n` : `router ${running.name} listens at ${running.url}, mode ${mode}\n`);
  await stopped;
  await running.close();
}
