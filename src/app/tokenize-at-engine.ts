import { requestId } from '../core/identity/ids.ts';
import { RouterError } from '../core/router-error.ts';
import type { EngineClient } from '../ports/engine.ts';

/** Where SGLang (from 0.5.9) and vLLM tokenize alike. */
const path = '/tokenize';
const patienceMs = 30_000;

/** The engine's own tokenizer: its JSON body in, its JSON answer out. Rejects with `not-found` where it has none, `bad-request` where it refuses. */
export async function tokenizeAtEngine(body: Uint8Array, engine: EngineClient, signal: AbortSignal): Promise<Uint8Array> {
  const headers: [string, string][] = [['content-type', 'application/json']];
  const response = await engine.send({ id: requestId('tokenize'), method: 'POST', path, headers, body, deadlineMs: patienceMs }, signal);
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body) pieces.push(piece);
  if (response.status === 404 || response.status === 405) throw new RouterError('not-found', `the engine has no ${path}`);
  if (response.status !== 200) throw new RouterError('bad-request', `the engine's ${path} answers ${response.status}`);
  return joined(pieces);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
