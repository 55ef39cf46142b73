import type { ServerResponse } from 'node:http';

/** A server-sent-event answer. While its client reads too slowly, the caller holds back and sends what is newest later. */
export class SseStream {
  readonly #raw: ServerResponse;

  constructor(raw: ServerResponse, onDrain: () => void) {
    this.#raw = raw;
    raw.on('drain', onDrain);
    raw.socket?.setNoDelay(true);
  }

  get congested(): boolean {
    return this.#raw.writableNeedDrain;
  }

  /** Sends the head at once, so that a client sees that it was taken while it waits for the first token. */
  open(): void {
    if (this.#raw.headersSent) return;
    this.#raw.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    this.#raw.flushHeaders();
  }

  send(event: object): void {
    this.open();
    this.#raw.write(`data: ${JSON.stringify(event)}\n\n`);
  }

  done(): void {
    this.open();
    this.#raw.end('data: [DONE]\n\n');
  }
}
