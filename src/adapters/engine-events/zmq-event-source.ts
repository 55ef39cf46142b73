import { Subscriber } from 'zeromq';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { EngineBatch } from '../../core/kv-stream/engine-event.ts';
import type { EngineEventListener, EngineEventSource, RankEventEndpoints } from '../../ports/engine.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { Log } from '../../ports/log.ts';
import { readPublished } from './event-frames.ts';
import { replayFrom } from './replay.ts';

export interface ZmqEventSourceOptions {
  /** How long a replay may be silent before it counts as unanswered. An engine answers within 0.1 s, or not at all. */
  readonly replaySilenceMs?: number;
  /** How long `subscribe` waits for an engine to be there; afterwards it subscribes whenever one comes. */
  readonly connectWaitMs?: number;
}

/** Messages that may wait in a socket before it drops new ones, which then shows as a gap. */
const receiveHighWaterMark = 100_000;
/** The largest message taken; a longer one ends the connection, which shows as a gap. */
const maxMessageBytes = 256 * 1024 * 1024;

/** The KV event sockets of an engine over ZMQ: one SUB a rank, read without pause, since an unread one does not subscribe again after its engine restarts. */
export class ZmqEventSource implements EngineEventSource {
  readonly #log: Log;
  readonly #replaySilenceMs: number;
  readonly #connectWaitMs: number;

  constructor(log: Log, options: ZmqEventSourceOptions = {}) {
    this.#log = log;
    this.#replaySilenceMs = options.replaySilenceMs ?? 2_000;
    this.#connectWaitMs = options.connectWaitMs ?? 1_000;
  }

  /** Rejects with `port-in-use` where a socket that must bind can't, `bad-config` for an endpoint that is none. */
  async subscribe(events: readonly RankEventEndpoints[], topic: string, listener: EngineEventListener): Promise<Closable> {
    const open: RankSocket[] = [];
    const close = async (): Promise<void> => {
      await Promise.all(open.map((socket) => socket.close()));
    };
    try {
      for (const endpoints of events) {
        const socket = new RankSocket(endpoints, topic, this.#log);
        open.push(socket);
        await socket.open(listener, this.#connectWaitMs);
      }
    } catch (error) {
      await close();
      throw error;
    }
    return { close };
  }

  async replay(endpoints: RankEventEndpoints, from: number, signal: AbortSignal): Promise<readonly EngineBatch[] | null> {
    if (endpoints.replayEndpoint === null) return null;
    const batches = await replayFrom(endpoints.replayEndpoint, { from, silenceMs: this.#replaySilenceMs, signal });
    this.#log.info({ rank: endpoints.rank, endpoint: endpoints.replayEndpoint, from, batches: batches?.length ?? null }, 'engine-replay');
    return batches;
  }
}

class RankSocket {
  readonly #socket = new Subscriber({ receiveHighWaterMark, maxMessageSize: maxMessageBytes, linger: 0 });
  readonly #endpoints: RankEventEndpoints;
  readonly #topic: string;
  readonly #log: Log;
  #reading: Promise<void> = Promise.resolve();

  constructor(endpoints: RankEventEndpoints, topic: string, log: Log) {
    this.#endpoints = endpoints;
    this.#topic = topic;
    this.#log = log;
  }

  async open(listener: EngineEventListener, connectWaitMs: number): Promise<void> {
    const { rank, endpoint, bind } = this.#endpoints;
    const connected = this.#connected(connectWaitMs);
    try {
      this.#socket.subscribe(this.#topic);
      if (bind) await this.#socket.bind(endpoint);
      else this.#socket.connect(endpoint);
    } catch (error) {
      throw this.#openFailure(error);
    }
    this.#reading = this.#read(listener);
    if (!bind && !(await connected)) this.#log.warn({ rank, endpoint }, 'engine-events-not-there-yet');
  }

  async close(): Promise<void> {
    this.#socket.close();
    await this.#reading;
  }

  async #read(listener: EngineEventListener): Promise<void> {
    const { rank } = this.#endpoints;
    for await (const frames of this.#socket) {
      const reading = readPublished(frames, this.#topic);
      try {
        if (reading.kind === 'batch') listener.batch(rank, reading.batch);
        else if (reading.kind === 'invalid') listener.invalid(rank, reading.reason);
      } catch (error) {
        // A listener that throws must not end the reading: an unread socket loses everything from then on.
        this.#log.error({ rank, error: messageOf(error) }, 'engine-event-listener-threw');
      }
    }
  }

  /** True once the engine's socket has answered. */
  #connected(waitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), waitMs);
      this.#socket.events.on('handshake', () => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  #openFailure(error: unknown): RouterError {
    const { rank, endpoint, bind } = this.#endpoints;
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (bind && code === 'EADDRINUSE') return new RouterError('port-in-use', `${endpoint} for the events of rank ${rank} is in use: the engine connects there, so give both another port`, { cause: error });
    return new RouterError('bad-config', `${endpoint} for the events of rank ${rank} can't be ${bind ? 'bound' : 'connected'}: ${messageOf(error)}`, { cause: error });
  }
}
