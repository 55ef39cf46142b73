import type { Msg } from 'nats';
import { assertNever } from '../../core/assert-never.ts';
import type { PoolId, WorkerId } from '../../core/identity/ids.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { Closable, ControlHandler, ControlServer } from '../../ports/kv-bus.ts';
import type { NatsHandle } from './nats-handle.ts';
import { decodeControl, type ControlMessage } from './wire/control.ts';
import { encodeFrame, frameOverheadBytes } from './wire/frame.ts';
import { encodeKvSnapshot } from './wire/kv-snapshot.ts';
import { splitBytes, largestFrameBytes } from './split-bytes.ts';

/** Questions answered at the same time; one more is refused. */
const maxOpenQuestions = 256;

/** Answers what routers ask of one worker: data frames and an end, or an error frame. */
export function controlServer(handle: NatsHandle): ControlServer {
  return {
    async serve(pool: PoolId, worker: WorkerId, handler: ControlHandler): Promise<Closable> {
      const questions = new OpenQuestions(handle, handler);
      const subscription = handle.subscribe(handle.names.control(pool, worker), (message) => questions.take(message));
      await handle.flush();
      return {
        async close(): Promise<void> {
          subscription.unsubscribe();
          await questions.close();
        },
      };
    },
  };
}

class OpenQuestions {
  readonly #handle: NatsHandle;
  readonly #handler: ControlHandler;
  readonly #open = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(handle: NatsHandle, handler: ControlHandler) {
    this.#handle = handle;
    this.#handler = handler;
  }

  take(message: Msg): void {
    const { reply } = message;
    if (reply === undefined || reply === '') return;
    if (this.#open.size >= maxOpenQuestions) return this.#refuse(reply, new RouterError('all-overloaded', `more than ${maxOpenQuestions} questions are open here`));
    const answered = this.#answer(message, reply).finally(() => this.#open.delete(answered));
    this.#open.add(answered);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#open);
  }

  async #answer(message: Msg, reply: string): Promise<void> {
    try {
      this.#send(reply, await this.#result(decodeControl(message.data)));
    } catch (error) {
      const failure = error instanceof RouterError ? error : new RouterError('internal', messageOf(error), { cause: error });
      this.#handle.log.warn({ code: failure.code, error: failure.message }, 'control-failed');
      this.#refuse(reply, failure);
    }
  }

  async #result(message: ControlMessage): Promise<Uint8Array> {
    switch (message.op) {
      case 'snapshot': {
        const snapshot = this.#handler.snapshot(message.rank);
        if (snapshot === null) throw new RouterError('not-found', `rank ${message.rank} is not followed here`);
        return encodeKvSnapshot(snapshot);
      }
      case 'tokenize':
        return this.#handler.tokenize(message.body, this.#stop.signal);
      case 'drain':
        this.#handler.drain(message.draining);
        return new Uint8Array(0);
      default:
        return assertNever(message, 'control message');
    }
  }

  #send(reply: string, result: Uint8Array): void {
    let seq = 0;
    for (const bytes of splitBytes(result, largestFrameBytes(this.#handle.maxPayload, frameOverheadBytes))) {
      this.#handle.publish(reply, encodeFrame({ kind: 'data', seq, bytes }));
      seq += 1;
    }
    this.#handle.publish(reply, encodeFrame({ kind: 'end', seq }));
  }

  #refuse(reply: string, error: RouterError): void {
    // Without a connection nobody waits for it any more.
    if (this.#handle.connected) this.#handle.publish(reply, encodeFrame({ kind: 'error', seq: 0, error }));
  }
}
