import type { Msg, Subscription } from 'nats';
import type { DpRank, PoolId, WorkerId } from '../../core/identity/ids.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { RequestHandler, RequestServer, ServedRequests } from '../../ports/request-transport.ts';
import { decodeCounted } from './decode-counted.ts';
import { isStatus } from './delivery.ts';
import type { NatsHandle } from './nats-handle.ts';
import { ResponseWriter } from './response-writer.ts';
import { decodeRequest, type RequestMessage } from './wire/engine-request.ts';
import { decodeFlow } from './wire/flow.ts';
import { encodeFrame } from './wire/frame.ts';

export interface RequestServerOptions {
  /** A running request is silent for at most this long. */
  readonly heartbeatMs: number;
  /** Requests at the same time; one more is refused. */
  readonly maxRunning: number;
}

const defaults: RequestServerOptions = { heartbeatMs: 1_000, maxRunning: 8_192 };

/** Takes the requests for the ranks of one worker and streams the answers back. */
export class NatsRequestServer implements RequestServer {
  readonly #handle: NatsHandle;
  readonly #options: RequestServerOptions;

  constructor(handle: NatsHandle, options: Partial<RequestServerOptions> = {}) {
    this.#handle = handle;
    this.#options = { ...defaults, ...options };
  }

  async serve(pool: PoolId, worker: WorkerId, ranks: readonly DpRank[], handler: RequestHandler): Promise<ServedRequests> {
    const running = new RunningRequests(this.#handle, this.#options, { pool, worker, ranks, handler });
    // Until the server knows the subscriptions, a request would reach nobody.
    await this.#handle.flush();
    return running;
  }
}

interface Service {
  readonly pool: PoolId;
  readonly worker: WorkerId;
  readonly ranks: readonly DpRank[];
  readonly handler: RequestHandler;
}

/** After our own reconnection routers may be a little later: their missing inboxes then prove nothing. */
const reconnectGraceMs = 2_000;

class RunningRequests implements ServedRequests {
  readonly #handle: NatsHandle;
  readonly #options: RequestServerOptions;
  readonly #handler: RequestHandler;
  readonly #running = new Map<string, ResponseWriter>();
  readonly #finished = new Map<string, Promise<void>>();
  /** Answers carry it as their reply, so that the server's "nobody listens there" comes back to us. */
  readonly #probeInbox: string;
  readonly #intake: readonly Subscription[];
  readonly #others: readonly Subscription[];
  readonly #heartbeat: NodeJS.Timeout;
  readonly #unlisten: () => void;
  #graceUntilMs = 0;

  constructor(handle: NatsHandle, options: RequestServerOptions, service: Service) {
    this.#handle = handle;
    this.#options = options;
    this.#handler = service.handler;
    this.#probeInbox = handle.newInbox();
    const { names } = handle;
    this.#others = [
      handle.subscribe(names.flow(service.pool, service.worker, '*'), (message) => this.#flow(message)),
      handle.subscribe(`${this.#probeInbox}.*`, (message) => this.#probed(message)),
    ];
    this.#intake = service.ranks.map((rank) => handle.subscribe(names.request(service.pool, { worker: service.worker, rank }), (message) => this.#take(rank, message)));
    this.#heartbeat = setInterval(() => this.#beat(), options.heartbeatMs / 4);
    this.#heartbeat.unref();
    this.#unlisten = handle.onConnected(() => {
      this.#graceUntilMs = performance.now() + reconnectGraceMs;
      for (const writer of this.#running.values()) writer.reconnected();
    });
  }

  async close(signal: AbortSignal): Promise<void> {
    // What the server had already sent us is still taken; a drain fails only without a connection.
    await Promise.all(this.#intake.map((subscription) => subscription.drain().catch(() => subscription.unsubscribe())));
    const cancelAll = (): void => {
      for (const writer of this.#running.values()) writer.cancel(new RouterError('stopping', 'the agent has stopped, or its engine is gone'));
    };
    signal.addEventListener('abort', cancelAll);
    if (signal.aborted) cancelAll();
    while (this.#finished.size > 0) await Promise.all(this.#finished.values());
    signal.removeEventListener('abort', cancelAll);
    clearInterval(this.#heartbeat);
    this.#unlisten();
    for (const subscription of this.#others) subscription.unsubscribe();
  }

  #take(rank: DpRank, message: Msg): void {
    const { reply } = message;
    if (reply === undefined || reply === '') return;
    const request = decodeCounted(this.#handle, message.subject, () => decodeRequest(message.data));
    if (request === null) return this.#refuse(reply, new RouterError('bad-request', 'the agent does not understand the request: router and agent are of different versions'));
    if (this.#running.size >= this.#options.maxRunning) return this.#refuse(reply, new RouterError('all-overloaded', `the agent already runs ${this.#options.maxRunning} requests`));
    if (this.#running.has(request.token)) return;
    const writer = new ResponseWriter(this.#handle, { inbox: reply, probe: `${this.#probeInbox}.${request.token}`, windowBytes: request.windowBytes });
    this.#running.set(request.token, writer);
    this.#finished.set(request.token, this.#run(rank, request, writer));
  }

  async #run(rank: DpRank, { request, token }: RequestMessage, writer: ResponseWriter): Promise<void> {
    try {
      await this.#handler(rank, request, writer, writer.signal);
      if (!writer.over) writer.fail(new RouterError('internal', `request ${request.id} was left without an end`));
    } catch (error) {
      writer.fail(error instanceof RouterError ? error : new RouterError('internal', messageOf(error), { cause: error }));
    } finally {
      await writer.settled;
      this.#running.delete(token);
      this.#finished.delete(token);
    }
  }

  #refuse(reply: string, error: RouterError): void {
    if (this.#handle.connected) this.#handle.publish(reply, encodeFrame({ kind: 'error', seq: 0, error }));
  }

  #flow(message: Msg): void {
    const writer = this.#running.get(lastToken(message.subject));
    if (writer === undefined) return;
    const flow = decodeCounted(this.#handle, message.subject, () => decodeFlow(message.data));
    if (flow === null) return;
    if (flow.kind === 'cancel') writer.cancel(new RouterError('cancelled', 'the router cancelled it'));
    else writer.consumed(flow.totalBytes);
  }

  #probed(message: Msg): void {
    if (!isStatus(message, 503) || performance.now() < this.#graceUntilMs) return;
    this.#running.get(lastToken(message.subject))?.cancel(new RouterError('cancelled', 'the router is gone'));
  }

  #beat(): void {
    const silentSinceMs = performance.now() - this.#options.heartbeatMs;
    for (const writer of this.#running.values()) writer.beat(silentSinceMs);
  }
}

const lastToken = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1);
