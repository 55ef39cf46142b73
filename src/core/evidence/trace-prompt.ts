import type { Trace } from './trace.ts';
import { tokenRun } from './token-run.ts';

/** The tokens of request `index` of a trace: equal block ids give equal tokens, what no id names is this request's own. */
export function tracePrompt(trace: Trace, index: number): Int32Array {
  const request = trace.requests[index];
  if (request === undefined) return new Int32Array(0);
  const tokens = new Int32Array(request.promptTokens);
  let at = 0;
  for (const id of request.blockIds) {
    const length = Math.min(trace.blockTokens, tokens.length - at);
    tokens.set(tokenRun(`${trace.name} block ${id}`, length), at);
    at += length;
  }
  tokens.set(tokenRun(`${trace.name} request ${index}`, tokens.length - at), at);
  return tokens;
}
