import type { Msg } from 'nats';
import { RouterError } from '../../core/router-error.ts';
import { isStatus } from './delivery.ts';
import type { NatsHandle } from './nats-handle.ts';
import { decodeFrame, type Frame } from './wire/frame.ts';

export interface Question {
  readonly subject: string;
  readonly payload: Uint8Array;
  /** For messages. */
  readonly worker: string;
  readonly silentMs: number;
}

/** What no snapshot reaches: 32 million blocks. */
const maxAnswerBytes = 256 * 1024 * 1024;

/** Asks once and puts the answer's data frames together. Rejects as `ControlClient` says. */
export function collectAnswer(handle: NatsHandle, question: Question, signal: AbortSignal): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const answer = new Answer(question.worker);
    const inbox = handle.newInbox();
    const finish = (outcome: Uint8Array | RouterError): void => {
      clearTimeout(silence);
      signal.removeEventListener('abort', onAbort);
      subscription.unsubscribe();
      if (outcome instanceof RouterError) reject(outcome);
      else resolve(outcome);
    };
    const onAbort = (): void => finish(new RouterError('cancelled', `the question to worker ${question.worker} was given up`));
    const silence = setTimeout(() => finish(new RouterError('worker-silent', `worker ${question.worker} did not answer on ${question.subject} within ${question.silentMs} ms`)), question.silentMs);
    const subscription = handle.subscribe(inbox, (message) => {
      silence.refresh();
      const outcome = answer.add(message);
      if (outcome !== null) finish(outcome);
    });
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) return onAbort();
    try {
      handle.publish(question.subject, question.payload, { reply: inbox });
    } catch (error) {
      finish(error instanceof RouterError ? error : new RouterError('internal', String(error), { cause: error }));
    }
  });
}

class Answer {
  readonly #worker: string;
  readonly #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(worker: string) {
    this.#worker = worker;
  }

  /** Null while more is to come. */
  add(message: Msg): Uint8Array | RouterError | null {
    if (isStatus(message, 503)) return new RouterError('no-responder', `nobody answers for worker ${this.#worker}: it is gone, or not connected`);
    const frame = frameOf(message);
    if (frame === null) return new RouterError('worker-failed', `worker ${this.#worker} answered with what is no frame`);
    if (frame.kind === 'error') return frame.error;
    if (frame.kind === 'heartbeat' || frame.kind === 'probe') return null;
    if (frame.kind === 'head' || frame.seq !== this.#parts.length) return new RouterError('worker-failed', `part ${this.#parts.length} of the answer of worker ${this.#worker} is missing`);
    if (frame.kind === 'end') return Buffer.concat(this.#parts);
    this.#parts.push(frame.bytes);
    this.#bytes += frame.bytes.length;
    return this.#bytes > maxAnswerBytes ? new RouterError('worker-failed', `the answer of worker ${this.#worker} is above ${maxAnswerBytes} bytes`) : null;
  }
}

function frameOf(message: Msg): Frame | null {
  try {
    return decodeFrame(message.data);
  } catch {
    // Told to the caller by the null, as a failure of the worker.
    return null;
  }
}
