import type { RouterError } from '../../core/router-error.ts';

export interface BodyQueueListener {
  /** All bytes that the reader has taken so far. */
  readonly onConsumed: (totalBytes: number) => void;
  /** The reader went away before the end. */
  readonly onLeft: () => void;
}

/** The chunks of a body between their arrival and one reader. Its bound is the credit that the sender was given. */
export class BodyQueue implements AsyncIterable<Uint8Array> {
  readonly #listener: BodyQueueListener;
  readonly #chunks: Uint8Array[] = [];
  #waitingBytes = 0;
  #consumedBytes = 0;
  #ended: { readonly error: RouterError | null } | null = null;
  #wake: (() => void) | null = null;

  constructor(listener: BodyQueueListener) {
    this.#listener = listener;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get consumedBytes(): number {
    return this.#consumedBytes;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#waitingBytes += chunk.length;
    this.#wake?.();
  }

  /** The reader gets what is waiting, then the end or the error. */
  end(error: RouterError | null): void {
    this.#ended ??= { error };
    this.#wake?.();
  }

  clear(): void {
    this.#chunks.length = 0;
    this.#waitingBytes = 0;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.clear();
        this.#listener.onLeft();
        return { done: true, value: undefined };
      },
    };
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) return { done: false, value: this.#take(chunk) };
      if (this.#ended !== null) return this.#atEnd(this.#ended.error);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  #take(chunk: Uint8Array): Uint8Array {
    this.#waitingBytes -= chunk.length;
    this.#consumedBytes += chunk.length;
    this.#listener.onConsumed(this.#consumedBytes);
    return chunk;
  }

  #atEnd(error: RouterError | null): IteratorResult<Uint8Array> {
    if (error !== null) throw error;
    return { done: true, value: undefined };
  }
}
