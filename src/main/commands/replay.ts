import type { Command } from 'commander';
import { readTraceText } from '../../adapters/trace-file/read-trace-text.ts';
import type { ReplayedRequest } from '../../app/replay-trace.ts';
import { parseTrace } from '../../core/evidence/parse-trace.ts';
import { mooncakeBlockTokens } from '../../core/evidence/parse-mooncake.ts';
import type { ReplaySummary } from '../../core/evidence/replay-summary.ts';
import { replaySpeed } from '../../core/evidence/replay-speed.ts';
import { summarizeReplay } from '../../core/evidence/replay-summary.ts';
import type { Trace } from '../../core/evidence/trace.ts';
import { parentAffinities, placementModes } from '../../core/placement/placement.ts';
import type { ParentAffinity, PlacementMode } from '../../core/placement/placement.ts';
import { action, exitCodes, httpUrl, oneOf, positiveNumber, wholeNumber } from '../command-tools.ts';
import { abortOnSignal } from '../abort-on-signal.ts';
import { createLog, logLevels } from '../create-log.ts';
import type { LogLevel } from '../create-log.ts';
import { replayLive } from '../replay-live.ts';
import type { EngineFlags } from '../up-flags.ts';
import { addEngineFlags } from '../up-flags.ts';
import { upDefaults } from '../up.ts';

interface Flags extends EngineFlags {
  readonly mode: PlacementMode;
  readonly parentAffinity: ParentAffinity;
  readonly engines: number;
  readonly routers: number;
  readonly router?: string;
  readonly limit?: number;
  readonly maxConcurrency: number;
  readonly maxOutputTokens: number;
  readonly traceBlockSize: number;
  readonly engineSpeed?: number;
  readonly json?: boolean;
  readonly logLevel: LogLevel;
  readonly speed: number | 'auto';
}

const examples = `
Examples:
  $ kinroute replay mooncake_trace.jsonl --mode event --json
  $ kinroute replay trace_0291.json --mode affinity --speed 50
  $ kinroute replay trace.jsonl.gz --router http://127.0.0.1:8080 --speed 1     against a running router, in real time
The format is told from the file: Mooncake JSONL, a Claude Code tree, Dynamo's request trace; each also as .gz.
--speed divides the arrival times and multiplies the simulated engines' rates, so that load stays what was recorded:
times in the result are then shorter than real ones by that factor, as far as this machine keeps up. auto takes about
a minute, or as long as one machine needs for that many tokens. A turn of a session waits for the turn before it.
Exit code 1 when a request failed.`;

/** Above this the load generator was behind its plan, and the run says little about latency. */
const tooLateMs = 1_000;

export function registerReplay(program: Command): void {
  const command = program
    .command('replay')
    .description('send a recorded workload through a router, at its own times')
    .argument('<file>', 'the trace')
    .option('--mode <mode>', `placement mode: ${placementModes.join(', ')}`, oneOf(placementModes), 'event')
    .option('--parent-affinity <kind>', `how affinity places a new child session: ${parentAffinities.join(', ')}`, oneOf(parentAffinities), upDefaults.parentAffinity)
    .option('--engines <n>', 'simulated engines of the pool that is started for it', wholeNumber(1, 256), 4)
    .option('--routers <n>', 'routers of that pool, used in turn', wholeNumber(1, 64), 1)
    .option('--router <url>', 'a router that is already there, instead; it is switched to --mode', httpUrl)
    .option('--limit <n>', 'only the first so many requests', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--max-concurrency <n>', 'requests on their way at once; further ones wait', wholeNumber(1, 100_000), 256)
    .option('--max-output-tokens <n>', 'longest answer that is asked for, however long the recorded one', wholeNumber(1, 1_000_000), 1_024)
    .option('--trace-block-size <tokens>', 'tokens that one id of a Mooncake row stands for', wholeNumber(1, 65_536), mooncakeBlockTokens);
  addEngineFlags(command, { ...upDefaults, pageSize: 16 })
    .option('--speed <factor>', 'how much faster than recorded requests arrive: a number, or auto for about a minute', speed, 'auto')
    .option('--engine-speed <factor>', "the engines' factor where it is not to be that of the arrivals (--speed)", positiveNumber)
    .option('--log-level <level>', `what goes to standard error: ${logLevels.join(', ')}`, oneOf(logLevels), 'warn')
    .option('--json', 'print the summary as one JSON object')
    .addHelpText('after', examples)
    .action(action(replay));
}

const speed = (text: string): number | 'auto' => (text === 'auto' ? 'auto' : positiveNumber(text));

async function replay(file: string, flags: Flags): Promise<void> {
  const trace = await readTrace(file, flags);
  const factor = flags.speed === 'auto' ? replaySpeed(trace, flags.maxOutputTokens) : flags.speed;
  process.stderr.write(`kinroute: ${trace.requests.length} requests of ${trace.name} (${trace.format}) at ${factor} times their speed\n`);
  const startedAt = performance.now();
  const requests = await replayLive(trace, optionsOf(flags, factor), createLog('replay', flags.logLevel), progress(trace.requests.length));
  const summary = { ...summarizeReplay(requests.map(({ outcome }) => outcome)), speed: factor, lateMsMax: Math.round(latest(requests)) };
  process.stdout.write(flags.json === true ? `${JSON.stringify(summary)}\n` : readable(trace, flags.mode, summary));
  process.stderr.write(`kinroute: took ${((performance.now() - startedAt) / 1_000).toFixed(1)} s, requests were sent at most ${summary.lateMsMax} ms late\n`);
  if (summary.lateMsMax > tooLateMs) process.stderr.write('kinroute: this machine did not keep up, so times are its own more than the router\'s: lower --speed or raise --max-concurrency\n');
  for (const [message, times] of Object.entries(summary.errorMessages)) process.stderr.write(`kinroute: ${times} failed: ${message}\n`);
  if (summary.errors > 0) process.exitCode = exitCodes.failed;
}

async function readTrace(file: string, flags: Flags): Promise<Trace> {
  const { name, text } = await readTraceText(file);
  const trace = parseTrace(text, name, flags.traceBlockSize);
  return { ...trace, requests: trace.requests.slice(0, flags.limit) };
}

function optionsOf(flags: Flags, factor: number): Parameters<typeof replayLive>[1] {
  const { engines, routers, pageSize, engineKvTokens, contextLength, dpSize } = flags;
  return {
    speed: factor,
    maxOutputTokens: flags.maxOutputTokens,
    maxConcurrency: flags.maxConcurrency,
    policy: { mode: flags.mode, parentAffinity: flags.parentAffinity },
    router: flags.router ?? null,
    pool: { engines, routers, pageSize, engineKvTokens, contextLength, dpSize, speed: flags.engineSpeed ?? factor, blockSize: flags.blockSize ?? null },
    signal: abortOnSignal(),
  };
}

const latest = (requests: readonly ReplayedRequest[]): number => requests.reduce((most, { lateMs }) => Math.max(most, lateMs), 0);

const progress =
  (total: number) =>
  (done: number, failed: number): void => {
    const step = Math.max(1, Math.floor(total / 20));
    if (done % step === 0 || done === total) process.stderr.write(`${done}/${total} done${failed > 0 ? `, ${failed} failed` : ''}\n`);
  };

function readable(trace: Trace, mode: string, summary: ReplaySummary & { readonly speed: number }): string {
  const counts = (of: Readonly<Record<string, number>>): string => Object.entries(of).map(([name, count]) => `${name} ${count}`).join(', ');
  return [
    `${trace.name} (${trace.format}), mode ${mode}, ${summary.speed} times its speed`,
    `  requests   ${summary.requests}, ${summary.errors} failed, in ${(summary.durationMs / 1_000).toFixed(1)} s`,
    `  prompt     ${summary.promptTokens} tokens, ${summary.cachedTokens} of them cached: hit rate ${(summary.hitRate * 100).toFixed(1)} %`,
    `  computed   ${summary.computedPrefillTokens} tokens`,
    `  TTFT       p50 ${summary.ttftMsP50 ?? '?'} ms, p99 ${summary.ttftMsP99 ?? '?'} ms`,
    `  by reason  ${counts(summary.placementsByReason)}`,
    `  by worker  ${counts(summary.requestsByWorker)}`,
    '',
  ].join('\n');
}
