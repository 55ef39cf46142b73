import { nuid, type Msg } from 'nats';
import type { PoolId, RankId } from '../../core/identity/ids.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { EngineRequest, EngineResponse, RequestTransport } from '../../ports/request-transport.ts';
import { isStatus } from './delivery.ts';
import type { NatsHandle } from './nats-handle.ts';
import { ResponseStream } from './response-stream.ts';
import { everyUnlessLate } from './unless-late.ts';
import { encodeRequest } from './wire/engine-request.ts';
import { encodeFlow, type Flow } from './wire/flow.ts';
import { decodeFrame } from './wire/frame.ts';

export interface TransportOptions {
  /** Without any frame, not even a heartbeat, for this long, the worker counts as silent. */
  readonly silentMs: number;
  /** Body bytes that an agent may send ahead of what the client has taken. */
  readonly windowBytes: number;
}

const defaults: TransportOptions = { silentMs: 10_000, windowBytes: 1024 * 1024 };
const checksPerDeadline = 8;

/** Sends requests to agents, each with an inbox of its own: when that is gone, the server tells the agent. */
export class NatsRequestTransport implements RequestTransport {
  readonly #handle: NatsHandle;
  readonly #options: TransportOptions;
  readonly #open = new Set<ResponseStream>();
  #stopChecking: (() => void) | null = null;

  constructor(handle: NatsHandle, options: Partial<TransportOptions> = {}) {
    this.#handle = handle;
    this.#options = { ...defaults, ...options };
  }

  /** Requests whose answer has not ended. */
  get open(): number {
    return this.#open.size;
  }

  async send(pool: PoolId, target: RankId, request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    if (signal.aborted) throw new RouterError('cancelled', `request ${request.id} was cancelled before it was sent`);
    const token = nuid.next();
    const inbox = this.#handle.newInbox();
    const stream = new ResponseStream({
      request,
      target,
      windowBytes: this.#options.windowBytes,
      silentMs: this.#options.silentMs,
      sendFlow: (flow) => this.#sendFlow(pool, target, token, flow),
      onEnd: () => end(),
    });
    const onAbort = (): void => stream.cancel(signal.reason);
    const subscription = this.#handle.subscribe(inbox, (message) => receive(stream, message));
    const end = (): void => {
      subscription.unsubscribe();
      signal.removeEventListener('abort', onAbort);
      this.#forget(stream);
    };
    signal.addEventListener('abort', onAbort);
    this.#remember(stream);
    this.#dispatch(stream, pool, encodeRequest({ request, token, windowBytes: this.#options.windowBytes }), inbox);
    return stream.response;
  }

  #dispatch(stream: ResponseStream, pool: PoolId, payload: Uint8Array, inbox: string): void {
    try {
      this.#handle.publish(this.#handle.names.request(pool, stream.target), payload, { reply: inbox });
    } catch (error) {
      stream.fail(error instanceof RouterError ? error : new RouterError('internal', messageOf(error), { cause: error }));
    }
  }

  #sendFlow(pool: PoolId, target: RankId, token: string, flow: Flow): void {
    // Without a connection: the agent asks for consumption after it, and a cancelled request ends by its missing inbox.
    if (this.#handle.connected) this.#handle.publish(this.#handle.names.flow(pool, target.worker, token), encodeFlow(flow));
  }

  #remember(stream: ResponseStream): void {
    this.#open.add(stream);
    // One timer for all: a timer a frame would cost more than the frame.
    this.#stopChecking ??= everyUnlessLate(this.#options.silentMs / checksPerDeadline, (nowMs) => this.#checkSilence(nowMs));
  }

  #forget(stream: ResponseStream): void {
    this.#open.delete(stream);
    if (this.#open.size > 0) return;
    this.#stopChecking?.();
    this.#stopChecking = null;
  }

  #checkSilence(nowMs: number): void {
    for (const stream of this.#open) stream.checkSilence(nowMs);
  }
}

function receive(stream: ResponseStream, message: Msg): void {
  if (isStatus(message, 503)) return stream.nobodyThere();
  try {
    stream.accept(decodeFrame(message.data));
  } catch (error) {
    stream.failAndCancel(new RouterError('worker-failed', `worker ${stream.target.worker} sent what is no frame: ${messageOf(error)}`, { cause: error }));
  }
}
