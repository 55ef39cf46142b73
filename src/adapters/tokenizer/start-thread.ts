import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { ThreadOptions } from './thread-messages.ts';

/** Compiled, the thread's file lies beside this one. */
const isSource = import.meta.url.endsWith('.ts');

/** Starts `tokenizer-thread`. From TypeScript, a thread of Node 20 has no loader from its program and brings its own first. */
export function startThread(workerData: ThreadOptions): Worker {
  if (!isSource) return new Worker(new URL('./tokenizer-thread.js', import.meta.url), { workerData });
  const loader = new URL('./dist/esm/api/index.mjs', pathToFileURL(createRequire(import.meta.url).resolve('tsx/package.json'))).href;
  const file = new URL('./tokenizer-thread.ts', import.meta.url).href;
  return new Worker(`import(${JSON.stringify(loader)}).then(({ register }) => (register(), import(${JSON.stringify(file)})))`, { workerData, eval: true, execArgv: [] });
}
