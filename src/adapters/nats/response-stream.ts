import { assertNever } from '../../core/assert-never.ts';
import type { RankId } from '../../core/identity/ids.ts';
import { RouterError } from '../../core/router-error.ts';
import type { EngineRequest, EngineResponse } from '../../ports/request-transport.ts';
import { BodyQueue } from './body-queue.ts';
import { deferred } from './deferred.ts';
import type { Flow } from './wire/flow.ts';
import type { Frame } from './wire/frame.ts';

export interface ResponseStreamParts {
  readonly request: EngineRequest;
  readonly target: RankId;
  readonly windowBytes: number;
  readonly silentMs: number;
  readonly sendFlow: (flow: Flow) => void;
  /** Called once: nothing more is wanted of the agent. */
  readonly onEnd: () => void;
}

/** An agent sends at most one frame beyond the window; who sends twice the window does not count. */
const allowedWindows = 2;
/** A longer one fires at once. */
const longestTimerMs = 2 ** 31 - 1;

/** One answer as its frames come in, until the first of: its end, an error, a hole, silence, its deadline, cancellation. */
export class ResponseStream {
  readonly target: RankId;
  readonly #parts: ResponseStreamParts;
  readonly #head = deferred<EngineResponse>();
  readonly #body: BodyQueue;
  readonly #deadline: NodeJS.Timeout;
  #headCame = false;
  #nextSeq = 0;
  #lastFrameMs = performance.now();
  #toldConsumed = 0;
  #over = false;

  constructor(parts: ResponseStreamParts) {
    this.#parts = parts;
    this.target = parts.target;
    this.#body = new BodyQueue({ onConsumed: (totalBytes) => this.#consumed(totalBytes), onLeft: () => this.cancel(null) });
    this.#deadline = setTimeout(() => this.failAndCancel(this.#error('deadline-exceeded', `did not end within ${parts.request.deadlineMs} ms`)), Math.min(parts.request.deadlineMs, longestTimerMs));
  }

  /** Settles with the head, or what came instead. */
  get response(): Promise<EngineResponse> {
    return this.#head.promise;
  }

  accept(frame: Frame): void {
    if (this.#over) return;
    this.#lastFrameMs = performance.now();
    if (frame.kind === 'error') return this.fail(frame.error);
    if (frame.seq !== this.#nextSeq) return this.failAndCancel(this.#error('worker-failed', `lost part ${this.#nextSeq} of its answer on the way`));
    if (frame.kind === 'heartbeat') return;
    if (frame.kind === 'probe') return this.#tell(this.#body.consumedBytes);
    this.#nextSeq += 1;
    switch (frame.kind) {
      case 'head':
        this.#headCame = true;
        return this.#head.resolve({ status: frame.status, headers: frame.headers, body: this.#body });
      case 'data':
        return this.#data(frame.bytes);
      case 'end':
        return this.#headCame ? this.#finish(null) : this.fail(this.#error('worker-failed', 'was ended without an answer'));
      default:
        return assertNever(frame, 'frame');
    }
  }

  nobodyThere(): void {
    this.fail(this.#error('no-responder', 'reached nobody: the worker is gone, or not connected'));
  }

  checkSilence(nowMs: number): void {
    if (nowMs - this.#lastFrameMs < this.#parts.silentMs) return;
    this.failAndCancel(this.#error('worker-silent', `got no sign of life for ${this.#parts.silentMs} ms`));
  }

  /** Nobody wants it any more, or may wait for it: `reason`, where it is an error of ours, says which. */
  cancel(reason: unknown): void {
    if (this.#over) return;
    this.#body.clear();
    this.failAndCancel(reason instanceof RouterError ? reason : this.#error('cancelled', 'was cancelled'));
  }

  /** What came before stays readable. */
  fail(error: RouterError): void {
    if (!this.#over) this.#finish(error);
  }

  failAndCancel(error: RouterError): void {
    if (this.#over) return;
    this.#parts.sendFlow({ kind: 'cancel' });
    this.#finish(error);
  }

  #data(bytes: Uint8Array): void {
    if (!this.#headCame) return this.failAndCancel(this.#error('worker-failed', 'was answered with a body before its head'));
    this.#body.push(bytes);
    if (this.#body.waitingBytes <= allowedWindows * this.#parts.windowBytes) return;
    this.failAndCancel(this.#error('worker-failed', `was sent more than ${allowedWindows * this.#parts.windowBytes} bytes ahead of what was taken`));
  }

  #consumed(totalBytes: number): void {
    if (!this.#over && totalBytes - this.#toldConsumed >= this.#parts.windowBytes / 4) this.#tell(totalBytes);
  }

  #tell(totalBytes: number): void {
    this.#toldConsumed = totalBytes;
    this.#parts.sendFlow({ kind: 'consumed', totalBytes });
  }

  #finish(error: RouterError | null): void {
    this.#over = true;
    clearTimeout(this.#deadline);
    if (error !== null) this.#head.reject(error);
    this.#body.end(error);
    this.#parts.onEnd();
  }

  #error(code: RouterError['code'], what: string): RouterError {
    return new RouterError(code, `request ${this.#parts.request.id} at worker ${this.target.worker} rank ${this.target.rank} ${what}`);
  }
}
