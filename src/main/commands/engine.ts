import type { Command } from 'commander';
import { engineWires, type EngineWireName } from '../../adapters/simulator/engine-wire.ts';
import { mostVocabulary } from '../../adapters/simulator/simulated-tokenizer.ts';
import type { StepRates } from '../../core/engine-model/step-timing.ts';
import { action, oneOf, positiveNumber, untilStopped, wholeNumber } from '../command-tools.ts';
import { createLog, logLevels, type LogLevel } from '../create-log.ts';
import { engineDefaults, startEngine, type EngineOptions, type RunningEngine } from '../start-engine.ts';

interface Flags extends StepRates {
  readonly host: string;
  readonly port: number;
  readonly kvPort?: number;
  readonly pageSize: number;
  readonly kvTokens: number;
  readonly dpSize: number;
  readonly wire: EngineWireName;
  readonly speed: number;
  readonly modelName: string;
  readonly chunkTokens: number;
  readonly maxRunning: number;
  readonly contextLength: number;
  readonly vocabSize: number;
  readonly topic: string;
  readonly bufferSteps: number;
  readonly apiKey?: string;
  readonly cacheReport: boolean;
  readonly incrementalStreaming: boolean;
  readonly json?: boolean;
  readonly logLevel: LogLevel;
}

const examples = `
Examples:
  $ kinroute engine                                              on a free port, pages of one token, as SGLang has it
  $ kinroute engine --port 30000 --kv-port 5557 --page-size 16   where a real server would be
  $ kinroute engine --dp-size 2 --kv-tokens 100000 --speed 10    two ranks, a small cache, ten times as fast
  $ kinroute engine --wire 0.5.9                                 events and answers as SGLang 0.5.9 wrote them
  $ kinroute engine --wire vllm --page-size 16                   a vLLM server: /v1/completions and chats, no /generate
The rates are estimates for an 8B model on one H100. Trust ratios, not milliseconds.`;

function cacheFlags(command: Command): Command {
  const preset = engineDefaults;
  return command
    .option('--page-size <tokens>', 'tokens a page of the cache', wholeNumber(1, 4_096), preset.pageSize)
    .option('--kv-tokens <tokens>', 'KV cache of each rank', wholeNumber(64, 100_000_000), preset.kvTokens)
    .option('--dp-size <ranks>', 'data-parallel ranks', wholeNumber(1, 64), preset.dpSize)
    .option('--chunk-tokens <tokens>', 'prompt tokens a prefill step computes at most', wholeNumber(1, 1_000_000), preset.chunkTokens)
    .option('--max-running <requests>', 'requests that run at once on a rank', wholeNumber(1, 100_000), preset.maxRunning)
    .option('--context-length <tokens>', 'longest prompt plus answer', wholeNumber(64, 10_000_000), preset.contextLength)
    .option('--vocab-size <ids>', 'token ids are below this', wholeNumber(512, mostVocabulary), preset.vocabSize);
}

function rateFlags(command: Command): Command {
  const { rates } = engineDefaults;
  return command
    .option('--speed <factor>', 'how many times faster than the rates say', positiveNumber, engineDefaults.speed)
    .option('--prefill-step-ms <ms>', 'any prefill step', positiveNumber, rates.prefillStepMs)
    .option('--prefill-token-ms <ms>', 'and each prompt token in it', positiveNumber, rates.prefillTokenMs)
    .option('--prefill-pair-ms <ms>', 'and each pair of it and a token before it', positiveNumber, rates.prefillPairMs)
    .option('--decode-step-ms <ms>', 'any decode step', positiveNumber, rates.decodeStepMs)
    .option('--decode-sequence-ms <ms>', 'and each request in it', positiveNumber, rates.decodeSequenceMs)
    .option('--decode-context-ms <ms>', 'and each token of their context', positiveNumber, rates.decodeContextMs);
}

export function registerEngine(program: Command): void {
  const preset = engineDefaults;
  const command = program
    .command('engine')
    .description('a simulated SGLang server: its HTTP, its KV events over ZMQ, a real radix cache, a timing model')
    .option('--host <address>', 'where it listens', preset.host)
    .option('--port <port>', 'HTTP port; 0 takes a free one', wholeNumber(0, 65_535), preset.port)
    .option('--kv-port <port>', 'event port of rank 0, the other ranks and the replay sockets follow (default: free ones)', wholeNumber(1, 65_535))
    .option('--model-name <name>', 'the model it says it serves', preset.modelName);
  rateFlags(cacheFlags(command))
    .option('--wire <version>', `what it speaks like: ${engineWires.join(', ')} (releases of SGLang; vllm is 0.32)`, oneOf(engineWires), preset.wire)
    .option('--topic <topic>', 'topic of the events', preset.topic)
    .option('--buffer-steps <batches>', 'event batches it can send again', wholeNumber(1, 1_000_000), preset.bufferSteps)
    .option('--api-key <key>', 'ask for this key')
    .option('--no-cache-report', 'leave cached tokens out of usage')
    .option('--incremental-streaming', '/generate streams only what is new', preset.incrementalStreaming)
    .option('--log-level <level>', `what goes to standard error: ${logLevels.join(', ')}`, oneOf(logLevels), 'warn')
    .option('--json', 'print the addresses as one JSON object')
    .addHelpText('after', examples)
    .action(action(engine));
}

function optionsOf({ json: _json, logLevel: _logLevel, apiKey, kvPort, ...flags }: Flags): EngineOptions {
  const { prefillStepMs, prefillTokenMs, prefillPairMs, decodeStepMs, decodeSequenceMs, decodeContextMs, ...rest } = flags;
  const rates = { prefillStepMs, prefillTokenMs, prefillPairMs, decodeStepMs, decodeSequenceMs, decodeContextMs };
  return { ...rest, rates, apiKey: apiKey ?? null, kvPort: kvPort ?? null };
}

function readable({ url, kvPort, replayPort }: RunningEngine): string {
  const { hostname } = new URL(url);
  return `engine ${url}\nKV events tcp://${hostname}:${kvPort}, replay tcp://${hostname}:${replayPort}\n`;
}

async function engine(flags: Flags): Promise<void> {
  const stopped = untilStopped();
  const running = await startEngine(optionsOf(flags), createLog('engine', flags.logLevel));
  const { url, kvPort, replayPort } = running;
  process.stdout.write(flags.json === true ? `${JSON.stringify({ url, kvPort, replayPort })}\n` : readable(running));
  const signal = await stopped;
  process.stderr.write(`kinroute: ${signal}, stopping\n`);
  await running.close();
}
