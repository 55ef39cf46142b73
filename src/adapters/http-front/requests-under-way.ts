import type { IncomingMessage, ServerResponse } from 'node:http';
import { RouterError } from '../../core/router-error.ts';

/** One request from its head to the end of its answer. */
export interface RequestUnderWay {
  /** The client is gone: nobody reads an answer. */
  readonly gone: AbortSignal;
  /** The client is gone, or the router has no more time for it. */
  readonly over: AbortSignal;
}

interface Open extends RequestUnderWay {
  readonly response: ServerResponse;
  readonly cancel: (reason: RouterError) => void;
  readonly ended: Promise<void>;
}

/** Requests whose head has come, also while their body is still coming; closing waits for them, and ends what is left. */
export class RequestsUnderWay {
  readonly #open = new Map<IncomingMessage, Open>();
  readonly #work = new Set<Promise<unknown>>();
  #leaving = false;

  begin(request: IncomingMessage, response: ServerResponse): void {
    const [gone, over] = [new AbortController(), new AbortController()];
    const ended = new Promise<void>((resolve) => {
      const closed = (): void => {
        response.off('close', closed);
        request.socket.off('close', closed);
        this.#open.delete(request);
        if (!response.writableFinished) {
          const reason = new RouterError('cancelled', 'the client closed the connection');
          gone.abort(reason);
          over.abort(reason);
        }
        resolve();
      };
      response.once('close', closed);
      // An answer that waits behind another of its connection is not told when that closes.
      request.socket.once('close', closed);
    });
    if (this.#leaving) response.setHeader('connection', 'close');
    this.#open.set(request, { response, gone: gone.signal, over: over.signal, cancel: (reason) => over.abort(reason), ended });
  }

  /** Throws for a request that was not begun, or has ended. */
  get(request: IncomingMessage): RequestUnderWay {
    const open = this.#open.get(request);
    if (open === undefined) throw new RouterError('cancelled', 'the client closed the connection');
    return open;
  }

  /** Work for a request that may outlast its connection: books to be closed. */
  add(work: Promise<unknown>): void {
    const tracked = work.finally(() => this.#work.delete(tracked)).catch(() => undefined);
    this.#work.add(tracked);
  }

  /** From now on each answer is the last of its connection. */
  sayGoodbye(): void {
    this.#leaving = true;
    for (const { response } of this.#open.values()) if (!response.headersSent) response.setHeader('connection', 'close');
  }

  /** Resolves when all have ended; from `grace`'s end on they are told to. */
  async finish(grace: AbortSignal): Promise<void> {
    const cancel = (): void => {
      for (const { cancel: cancelOne } of this.#open.values()) cancelOne(new RouterError('stopping', 'the router is stopping: send the request again, to another one'));
    };
    grace.addEventListener('abort', cancel, { once: true });
    if (grace.aborted) cancel();
    while (this.#open.size > 0 || this.#work.size > 0) await Promise.all([...[...this.#open.values()].map(({ ended }) => ended), ...this.#work]);
    grace.removeEventListener('abort', cancel);
  }
}
