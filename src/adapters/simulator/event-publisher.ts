import { Publisher, Router } from 'zeromq';
import type { Log } from '../../ports/log.ts';

interface Sent {
  readonly seq: number;
  readonly payload: Buffer;
}

export interface EventPublisherOptions {
  readonly host: string;
  readonly kvPort: number;
  readonly replayPort: number;
  readonly topic: string;
  /** How many batches can be asked for again (`buffer_steps`). */
  readonly bufferSteps: number;
  readonly topicInReplay: boolean;
}

/** SGLang bounds its buffer by steps alone; at pages of one token that could be gigabytes, so bytes bound it too. */
const mostBufferedBytes = 256 * 1024 * 1024;

const seqFrame = (seq: number): Buffer => {
  const frame = Buffer.alloc(8);
  frame.writeBigInt64BE(BigInt(seq));
  return frame;
};

/** The event socket of one rank and the replay socket behind it, as SGLang's own publisher has them. */
export class EventPublisher {
  readonly #options: EventPublisherOptions;
  readonly #log: Log;
  readonly #publisher = new Publisher({ sendHighWaterMark: 100_000, linger: 0 });
  readonly #router = new Router({ sendHighWaterMark: 100_000, linger: 0 });
  #buffer: Sent[] = [];
  #bufferedBytes = 0;
  #nextSeq = 0;
  #sending: Promise<void> = Promise.resolve();
  #replaying: Promise<void> = Promise.resolve();

  constructor(options: EventPublisherOptions, log: Log) {
    this.#options = options;
    this.#log = log;
  }

  /** Rejects with ZMQ's own error when a port is in use. */
  async open(): Promise<void> {
    const { kvPort, replayPort } = this.#options;
    // ZMQ binds addresses and interfaces, not names.
    const host = this.#options.host === 'localhost' ? '127.0.0.1' : this.#options.host;
    await this.#publisher.bind(`tcp://${host}:${kvPort}`);
    await this.#router.bind(`tcp://${host}:${replayPort}`);
    this.#replaying = this.#answerReplays();
  }

  publish(payload: Buffer): void {
    const sent = { seq: this.#nextSeq++, payload };
    this.#remember(sent);
    this.#sending = this.#sending.then(() => this.#send(sent));
  }

  async close(): Promise<void> {
    await this.#sending;
    this.#publisher.close();
    this.#router.close();
    await this.#replaying;
  }

  async #send({ seq, payload }: Sent): Promise<void> {
    try {
      await this.#publisher.send([this.#options.topic, seqFrame(seq), payload]);
    } catch (error) {
      this.#log.warn({ err: error, seq }, 'event-not-sent');
    }
  }

  #remember(sent: Sent): void {
    this.#buffer.push(sent);
    this.#bufferedBytes += sent.payload.length;
    while (this.#buffer.length > 1 && (this.#buffer.length > this.#options.bufferSteps || this.#bufferedBytes > mostBufferedBytes)) {
      this.#bufferedBytes -= this.#buffer.shift()?.payload.length ?? 0;
    }
  }

  async #answerReplays(): Promise<void> {
    try {
      for await (const frames of this.#router) await this.#answerReplay(frames);
    } catch (error) {
      if (!this.#router.closed) this.#log.warn({ err: error }, 'replay-socket-failed');
    }
  }

  /** A request is `identity, "", start`; any other number of frames gets no answer at all, as from SGLang. */
  async #answerReplay(frames: readonly Buffer[]): Promise<void> {
    const [identity, delimiter, start] = frames;
    if (frames.length !== 3 || identity === undefined || delimiter?.length !== 0 || start === undefined) return;
    const from = BigInt(`0x${start.toString('hex') || '0'}`);
    const topic = this.#options.topicInReplay ? [this.#options.topic] : [];
    for (const { seq, payload } of this.#buffer.filter((sent) => BigInt(sent.seq) >= from)) {
      await this.#router.send([identity, '', ...topic, seqFrame(seq), payload]);
    }
    await this.#router.send([identity, '', ...(this.#options.topicInReplay ? [''] : []), seqFrame(-1), '']);
  }
}
