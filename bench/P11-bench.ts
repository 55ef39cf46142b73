import { setImmediate } from 'node:timers/promises';
import { Tokenizer } from 'tokenizers';
import { ChatTemplate } from '../src/adapters/tokenizer/chat-template.ts';
import { readModelFolder } from '../src/adapters/tokenizer/model-folder.ts';
import { loadModelTokenizer } from '../src/adapters/tokenizer/model-tokenizer.ts';
import type { ModelTokenizer } from '../src/adapters/tokenizer/model-tokenizer.ts';
import { seededRandom } from '../src/core/evidence/seeded-random.ts';
import { parsePoolId } from '../src/core/identity/ids.ts';
import type { Log } from '../src/ports/log.ts';
import { modelFolder, realModels } from '../test/adapters/tokenizer/real-tokenizers.ts';
import type { Bench, BenchCell } from './bench.ts';
import { median } from './bench.ts';

const rounds = 21;
const messageCount = 64;
const messageLength = 2048;
const cacheBytes = 64 * 1024 * 1024;
const pool = parsePoolId('bench');
const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const words = ['the', 'router', 'reads', '"cache"', 'events;', 'worker', '3', 'has', '4217', 'blocks,', 'naïve', 'café', '你好', 'and\n', '  const', 'x', '=', 'foo(bar[1]);\n', '\n\n', 'Größe', 'функция', '{"key":', 'null}'];

interface Message {
  readonly role: string;
  readonly content: string;
}

function text(random: () => number): string {
  let written = '';
  while (written.length < messageLength) written += `${words[Math.floor(random() * words.length)] ?? ''} `;
  return written.slice(0, messageLength);
}

/** The user speaks first and last. */
const conversation = (random: () => number): readonly Message[] =>
  Array.from({ length: messageCount - 1 }, (_, place) => ({ role: place === 0 ? 'system' : place % 2 === 1 ? 'user' : 'assistant', content: text(random) }));

interface Measured {
  readonly ms: number;
  /** Of all threads of this process. */
  readonly cpuMs: number;
  readonly tokens: ArrayLike<number>;
}

async function measured(work: () => Promise<ArrayLike<number>>): Promise<Measured> {
  const [startMs, cpu] = [performance.now(), process.cpuUsage()];
  const tokens = await work();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - startMs, cpuMs: (user + system) / 1000, tokens };
}

/** The longest that this process's loop is held up meanwhile, in milliseconds. */
async function holdUp(work: () => Promise<unknown>): Promise<number> {
  let ended = false;
  let longest = 0;
  let last = performance.now();
  const watch = async (): Promise<void> => {
    while (!ended) {
      await setImmediate();
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }
  };
  const watching = watch();
  await work();
  ended = true;
  await watching;
  return longest;
}

function assertEqual(ours: ArrayLike<number>, whole: ArrayLike<number>): void {
  if (ours.length !== whole.length || Array.from(ours).some((token, place) => token !== whole[place])) throw new Error('the tokens of the pieces are not those of the whole text');
}

async function oneModel(model: (typeof realModels)[number], ours: ModelTokenizer): Promise<readonly BenchCell[]> {
  const folder = await readModelFolder(modelFolder(model));
  const [tokenizer, template] = [Tokenizer.fromString(folder.tokenizer), new ChatTemplate(folder.template ?? '', folder.specialTokens)];
  const random = seededRandom(`P11 ${model}`);
  const before = conversation(random);
  const pieces = async (messages: readonly Message[]): Promise<ArrayLike<number>> => ours.ofChat(pool, { messages }, new AbortController().signal);
  const whole = async (rendered: string): Promise<ArrayLike<number>> => Int32Array.from((await tokenizer.encode(rendered, null, { addSpecialTokens: false })).getIds());
  const next = (): readonly Message[] => [...before, { role: 'user', content: text(random) }];
  const render = (messages: readonly Message[]): string => template.render({ messages }, 'sglang');
  const cold = await measured(() => pieces(next()));
  const [mine, reference]: [Measured[], Measured[]] = [[], []];
  const [myHoldUps, theirHoldUps]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const messages = next();
    const rendered = render(messages);
    const inOrder = [async () => mine.push(await measured(() => pieces(messages))), async () => reference.push(await measured(() => whole(rendered)))];
    for (const one of round % 2 === 0 ? inOrder : inOrder.reverse()) await one();
    assertEqual(mine.at(-1)?.tokens ?? [], reference.at(-1)?.tokens ?? []);
    const [again, renderedAgain] = [next(), render(next())];
    myHoldUps.push(await holdUp(() => pieces(again)));
    theirHoldUps.push(await holdUp(() => whole(renderedAgain)));
  }
  const cell = (name: string, ours: readonly number[], theirs: readonly number[]): BenchCell => {
    const [a, b] = [median(ours), median(theirs)];
    return { name: `${model}: ${name}`, ours: a, reference: b, ratio: a / b, unit: 'ms' };
  };
  return [
    cell('last message new, template and thread included / whole text', mine.map(({ ms }) => ms), reference.map(({ ms }) => ms)),
    cell('the same, processor time of all threads', mine.map(({ cpuMs }) => cpuMs), reference.map(({ cpuMs }) => cpuMs)),
    cell('longest hold-up of the loop in one request', myHoldUps, theirHoldUps),
    { name: `${model}: the first time, nothing kept`, ours: cold.ms, reference: null, ratio: null, unit: 'ms' },
  ];
}

export const bench: Bench = {
  about: `tokens of a conversation of ${(messageCount * messageLength) / 1024} KB in ${messageCount} messages whose last one is new, beside the whole text by the same tokenizer`,
  async run(progress): Promise<readonly BenchCell[]> {
    const cells: BenchCell[] = [];
    for (const model of realModels) {
      progress(`${model}, ${rounds} rounds`);
      const ours = await loadModelTokenizer({ directory: modelFolder(model), kindOf: () => 'sglang', cacheBytes }, silent);
      try {
        cells.push(...(await oneModel(model, ours)));
      } finally {
        await ours.close();
      }
    }
    return cells;
  },
};
