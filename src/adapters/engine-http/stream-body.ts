import type { Readable } from 'node:stream';
import { abortedBecause, brokeOff } from './transport-error.ts';

interface BodyOf {
  readonly engineUrl: string;
  readonly signal: AbortSignal;
  /** The answer is over, in whichever way. */
  readonly settled: () => void;
  /** The reader left before the end: the engine should stop. */
  readonly abandon: () => void;
}

/** An engine's answer in pieces as they came. Throws `worker-failed` when it breaks off, or as the signal says. */
export async function* streamBody(body: Readable, { engineUrl, signal, settled, abandon }: BodyOf): AsyncGenerator<Uint8Array, void, undefined> {
  let over = false;
  try {
    for await (const piece of body) {
      if (piece instanceof Uint8Array) yield piece;
    }
    over = true;
  } catch (error) {
    over = true;
    if (signal.aborted) throw abortedBecause(signal);
    throw brokeOff(engineUrl, error);
  } finally {
    settled();
    // Leaving the loop destroys the connection; that alone is noticed late.
    if (!over && !signal.aborted) abandon();
  }
}
