import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from '../src/adapters/system/free-port.ts';
import { createLog } from '../src/main/create-log.ts';
import { startUp } from '../src/main/up.ts';
import type { Bench, BenchCell } from './bench.ts';
import { median } from './bench.ts';

const blockSize = 16;
const startPatienceMs = 300_000;
const tellPatienceMs = 30_000;
const timedRequests = 30;

interface RealEngine {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the server that `setup.sh FOLDER` of the shared real-sglang made; resolves when it is healthy. */
async function startReal(folder: string, progress: (line: string) => void): Promise<RealEngine> {
  const script = fileURLToPath(new URL('../../shared/real-sglang/serve.sh', import.meta.url));
  // Replay is 100 ports above, load reports after that: a base far from what others are given.
  const [port, kvPort] = [await freePort(), 20_000 + Math.floor(Math.random() * 10_000)];
  const log = createWriteStream(join(folder, 'serve.log'));
  const child = spawn('bash', [script, folder, String(port), String(kvPort)], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.pipe(log);
  child.stderr.pipe(log);
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    // The server starts children of its own: the group goes as one.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await ended;
  };
  progress(`starting SGLang on port ${port}, its output is in ${join(folder, 'serve.log')}`);
  const url = `http://127.0.0.1:${port}`;
  const gone = ended.then(() => {
    throw new Error(`SGLang ended before it was ready: see ${join(folder, 'serve.log')}`);
  });
  try {
    await Promise.race([until(async () => (await fetch(`${url}/health`)).ok, startPatienceMs, 'SGLang to be healthy'), gone]);
  } catch (error) {
    await stop();
    throw error;
  }
  gone.catch(() => undefined);
  return { url, stop };
}

async function until(holds: () => Promise<boolean>, patienceMs: number, what: string): Promise<void> {
  const endMs = performance.now() + patienceMs;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`waited ${patienceMs} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly worker: string | null;
  readonly reason: string | null;
  readonly overlapTokens: number;
}

async function post(url: string, path: string, body: object): Promise<Answer> {
  const response = await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const { headers } = response;
  const overlapTokens = Number(headers.get('x-kinroute-overlap-blocks') ?? 0) * blockSize;
  return { status: response.status, text: await response.text(), worker: headers.get('x-kinroute-worker'), reason: headers.get('x-kinroute-reason'), overlapTokens };
}

/** `cached_tokens`, wherever an answer has it: an engine's own word. */
const cachedTokensOf = (answer: Answer): number => Number(/"cached_tokens":\s*(\d+)/g.exec(answer.text)?.[1] ?? 0);

const heldBlocks = async (url: string): Promise<number> => {
  const { workers } = (await (await fetch(`${url}/workers`)).json()) as { readonly workers: readonly { readonly heldBlocks: number }[] };
  return workers.reduce((sum, rank) => sum + rank.heldBlocks, 0);
};

/** Sends twice, the second time when the router knows what the first stored; promised against cached. */
async function twice(name: string, url: string, send: () => Promise<Answer>, progress: (line: string) => void): Promise<BenchCell> {
  const before = await heldBlocks(url);
  const first = await send();
  if (first.status !== 200) throw new Error(`${name}: ${first.status} ${first.text.slice(0, 300)}`);
  await until(async () => (await heldBlocks(url)) > before, tellPatienceMs, `the blocks of ${name}`);
  const second = await send();
  const cached = cachedTokensOf(second);
  progress(`${name}: first cached ${cachedTokensOf(first)}; second placed on ${second.worker} (${second.reason}) with ${second.overlapTokens} tokens of overlap, the engine took ${cached} from its cache`);
  return { name: `${name}, again: overlap and cached tokens`, ours: second.overlapTokens, reference: cached, ratio: second.overlapTokens / cached, unit: 'tokens' };
}

async function medianMs(url: string, body: object): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < timedRequests; round++) {
    const startMs = performance.now();
    await post(url, '/generate', body);
    times.push(performance.now() - startMs);
  }
  return median(times);
}

async function judge(engineUrl: string, progress: (line: string) => void): Promise<BenchCell[]> {
  const up = await startUp({ engineUrls: [engineUrl], mode: 'event', blockSize }, createLog('real-sglang', 'warn'));
  try {
    const url = up.routers[0]?.url ?? '';
    const salt = `bench-${Date.now()}`;
    const words = 'this is a test of the router and the cache. '.repeat(6);
    const chat = { model: 'tiny', cache_salt: salt, messages: [{ role: 'user', content: words }], max_tokens: 4, temperature: 0 };
    const streamed = { ...chat, cache_salt: `${salt}-s`, stream: true, stream_options: { include_usage: true } };
    const ids = { cache_salt: salt, input_ids: Array.from({ length: 300 }, (_, index) => 5 + ((index * 7) % 400)), sampling_params: { max_new_tokens: 1, temperature: 0 } };
    const cells = [
      await twice('chat completion', url, () => post(url, '/v1/chat/completions', chat), progress),
      await twice('streamed chat completion', url, () => post(url, '/v1/chat/completions', streamed), progress),
      await twice('/generate with token ids', url, () => post(url, '/generate', ids), progress),
    ];
    const [direct, routed] = [await medianMs(engineUrl, ids), await medianMs(url, ids)];
    progress(`a cached /generate: ${routed.toFixed(1)} ms through router, NATS and agent, ${direct.toFixed(1)} ms direct (medians of ${timedRequests})`);
    return [...cells, { name: 'cached /generate, through the router and direct', ours: routed, reference: direct, ratio: routed / direct, unit: 'ms' }];
  } finally {
    await up.close();
  }
}

/** `npm run -s bench -- real-sglang --engine URL`, or `--folder DIR` where setup.sh has put a real SGLang. */
export const bench: Bench = {
  about: 'a real SGLang behind router, NATS and agent (--engine URL, or --folder DIR to start one)',
  async run(progress) {
    const { values } = parseArgs({ args: process.argv.slice(3), options: { engine: { type: 'string' }, folder: { type: 'string' } } });
    if (values.engine !== undefined) return judge(values.engine, progress);
    if (values.folder === undefined) throw new Error('give --engine URL of a running SGLang, or --folder DIR of one to start');
    const real = await startReal(values.folder, progress);
    try {
      return await judge(real.url, progress);
    } finally {
      await real.stop();
    }
  },
};
