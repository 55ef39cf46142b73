import { RouterError } from '../../core/router-error.ts';
import type { ResponseSink } from '../../ports/request-transport.ts';
import { deferred } from './deferred.ts';
import type { NatsHandle } from './nats-handle.ts';
import { largestFrameBytes, splitBytes } from './split-bytes.ts';
import { encodeFrame, frameOverheadBytes, type Frame } from './wire/frame.ts';
import type { HttpHeaders } from './wire/headers.ts';

export interface ResponseWriterParts {
  /** The request's private inbox at the router. */
  readonly inbox: string;
  /** Where the server tells us that nobody listens to the inbox. */
  readonly probe: string;
  readonly windowBytes: number;
}

/** A frame without its place in the order. */
type Unnumbered = Frame extends infer F ? (F extends Frame ? Omit<F, 'seq'> : never) : never;

/** One answer on its way out: numbers the frames, and waits where the router has not taken what was sent. */
export class ResponseWriter implements ResponseSink {
  readonly #handle: NatsHandle;
  readonly #parts: ResponseWriterParts;
  readonly #abort = new AbortController();
  #seq = 0;
  #sentBytes = 0;
  #consumedBytes = 0;
  #lastSentMs = performance.now();
  #over = false;
  /** Whether the router has been heard on this connection to the server. */
  #heard = true;
  readonly #unsent: Frame[] = [];
  readonly #flushed = deferred<void>();
  #wake: (() => void) | null = null;

  constructor(handle: NatsHandle, parts: ResponseWriterParts) {
    this.#handle = handle;
    this.#parts = parts;
  }

  /** Aborts when nobody wants the answer any more. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get over(): boolean {
    return this.#over;
  }

  head(status: number, headers: HttpHeaders): void {
    this.#mustGoOn();
    this.#send({ kind: 'head', status, headers });
  }

  async data(chunk: Uint8Array): Promise<void> {
    for (const bytes of splitBytes(chunk, largestFrameBytes(this.#handle.maxPayload, frameOverheadBytes))) {
      await this.#untilCredit();
      this.#send({ kind: 'data', bytes });
      this.#sentBytes += bytes.length;
    }
  }

  end(): void {
    this.#mustGoOn();
    this.#last({ kind: 'end' });
  }

  fail(error: RouterError): void {
    if (!this.#over) this.#last({ kind: 'error', error });
  }

  /** Resolves when the last frame is out, or nobody wants it. */
  get settled(): Promise<void> {
    return this.#unsent.length === 0 ? Promise.resolve() : this.#flushed.promise;
  }

  /** Ends the work on it; `reason` is what becomes of it. */
  cancel(reason: RouterError): void {
    if (this.#over) this.#unsent.length = 0;
    this.#flushed.resolve();
    if (this.#abort.signal.aborted || this.#over) return;
    this.#abort.abort(reason);
    this.#wake?.();
  }

  /** The router has taken so much in all. */
  consumed(totalBytes: number): void {
    this.#consumedBytes = Math.max(this.#consumedBytes, Math.min(totalBytes, this.#sentBytes));
    this.#heard = true;
    if (this.#open) for (const frame of this.#unsent.splice(0)) this.#publish(frame);
    if (this.#over) this.#flushed.resolve();
    this.#wake?.();
  }

  /**
   * The connection is back. The router may not listen yet, and what it does not hear is lost: nothing more goes out
   * until it has answered a probe.
   */
  reconnected(): void {
    this.#heard = false;
    this.#publish({ kind: 'probe', seq: this.#countedSeq });
  }

  /** Says that we live, unless something was sent since; or asks again whether the router does. */
  beat(silentSinceMs: number): void {
    if (this.signal.aborted || !this.#handle.connected) return;
    if (!this.#heard) return this.#publish({ kind: 'probe', seq: this.#countedSeq });
    if (this.#lastSentMs > silentSinceMs || this.#over) return;
    // Out of credit: what gave us more may have been lost with the router's connection.
    this.#publish({ kind: this.#hasCredit ? 'heartbeat' : 'probe', seq: this.#seq });
  }

  /** The number of the frame that goes out next. */
  get #countedSeq(): number {
    return this.#unsent[0]?.seq ?? this.#seq;
  }

  /** Whether a frame sent now reaches the router. */
  get #open(): boolean {
    return this.#handle.connected && this.#heard;
  }

  get #hasCredit(): boolean {
    return this.#sentBytes - this.#consumedBytes < this.#parts.windowBytes;
  }

  async #untilCredit(): Promise<void> {
    for (;;) {
      this.#mustGoOn();
      if (this.#open && this.#hasCredit) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  #mustGoOn(): void {
    this.signal.throwIfAborted();
    if (this.#over) throw new RouterError('internal', 'this answer has ended');
  }

  #last(frame: Unnumbered): void {
    this.#over = true;
    this.#send(frame);
  }

  /** Without a connection the head and the last frame wait for it; a body waits where it is written, a heartbeat is left out. */
  #send(frame: Unnumbered): void {
    const numbered = { ...frame, seq: this.#seq };
    this.#seq += 1;
    if (this.#open && this.#unsent.length === 0) this.#publish(numbered);
    else this.#unsent.push(numbered);
  }

  #publish(frame: Frame): void {
    this.#handle.publish(this.#parts.inbox, encodeFrame(frame), { reply: this.#parts.probe });
    this.#lastSentMs = performance.now();
  }
}
