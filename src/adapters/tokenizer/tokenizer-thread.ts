import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../core/router-error.ts';
import { ModelPrompts } from './model-prompts.ts';
import type { ThreadAnswer, ThreadOptions, ThreadQuestion, ThreadRequest } from './thread-messages.ts';

// A thread's beginning: it loads one model's files and answers questions until it is ended.
const port = parentPort;
if (port === null) throw new Error('this file is the beginning of a thread, not of a program');

const say = (answer: ThreadAnswer, moved: readonly ArrayBuffer[] = []): void => port.postMessage(answer, moved);

const tokensOf = (model: ModelPrompts, question: ThreadQuestion): Promise<Int32Array> => (question.kind === 'text' ? model.ofText(question.text) : model.ofChat(question.fields, question.engine));

async function answer(model: ModelPrompts, { id, question }: ThreadRequest): Promise<void> {
  try {
    const tokens = await tokensOf(model, question);
    say({ kind: 'tokens', id, tokens }, tokens.buffer instanceof ArrayBuffer ? [tokens.buffer] : []);
  } catch (error) {
    say({ kind: 'refused', id, message: messageOf(error) });
  }
}

async function run({ directory, cacheBytes }: ThreadOptions): Promise<void> {
  try {
    const model = await ModelPrompts.load(directory, cacheBytes);
    port?.on('message', (request: ThreadRequest) => void answer(model, request));
    say({ kind: 'ready', loaded: { wholeBecause: model.wholeBecause, noChatsBecause: model.noChatsBecause } });
  } catch (error) {
    say({ kind: 'unloadable', message: messageOf(error) });
  }
}

await run(workerData as ThreadOptions);
