import type { Usage } from './usage-reader.ts';
import { noUsage, parsedOrNull, usageIn } from './usage-reader.ts';

/** Looks on while an answer passes, without changing a byte of it. */
export interface AnswerReader {
  /** Events that ended in this piece: about as many tokens. */
  push(piece: Uint8Array): number;
  usage(): Usage;
  /** The engine said an error inside a stream that began well. */
  readonly sawError: boolean;
  /** No event is begun and not ended. */
  readonly betweenEvents: boolean;
}

/** Answers and events above this are passed on and not looked into. */
const maxReadBytes = 16 * 1024 * 1024;

/** A JSON answer, read as a whole at its end. */
export class JsonReader implements AnswerReader {
  readonly sawError = false;
  readonly betweenEvents = false;
  readonly #decoder = new TextDecoder();
  #parts: Uint8Array[] = [];
  #bytes = 0;

  push(piece: Uint8Array): number {
    this.#bytes += piece.length;
    if (this.#bytes <= maxReadBytes) this.#parts.push(piece);
    else this.#parts = [];
    return 0;
  }

  usage(): Usage {
    if (this.#bytes > maxReadBytes) return noUsage;
    const text = this.#parts.map((part) => this.#decoder.decode(part, { stream: true })).join('') + this.#decoder.decode();
    return usageIn(parsedOrNull(text));
  }
}

/**
 * Server-sent events. A cumulative stream repeats the whole answer in each event, so events are only searched for the
 * names that matter, and the last one that has them is parsed once, at the end.
 */
export class EventStreamReader implements AnswerReader {
  readonly #decoder = new TextDecoder();
  #rest = '';
  #withUsage: string | null = null;
  #skipping = false;
  sawError = false;

  get betweenEvents(): boolean {
    return this.#rest === '' && !this.#skipping;
  }

  push(piece: Uint8Array): number {
    const events = (this.#rest + this.#decoder.decode(piece, { stream: true })).replaceAll('\r\n', '\n').split('\n\n');
    this.#rest = events.pop() ?? '';
    for (const event of events) this.#event(event);
    if (events.length > 0) this.#skipping = false;
    if (this.#rest.length > maxReadBytes) {
      this.#rest = '';
      this.#skipping = true;
    }
    return events.length;
  }

  usage(): Usage {
    const value = this.#withUsage === null ? null : parsedOrNull(this.#withUsage);
    // Several prompts in one stream: each event speaks of one of them, and none of all.
    return typeof value === 'object' && value !== null && 'index' in value ? noUsage : usageIn(value);
  }

  #event(event: string): void {
    const data = event.startsWith('data:') ? event.slice(5).trimStart() : '';
    if (/^\{\s*"error"\s*:/.test(data)) this.sawError = true;
    else if (data.includes('"prompt_tokens"')) this.#withUsage = data;
  }
}

export function answerReader(headers: readonly (readonly [string, string])[]): AnswerReader {
  return isEventStream(headers) ? new EventStreamReader() : new JsonReader();
}

export function isEventStream(headers: readonly (readonly [string, string])[]): boolean {
  return headers.some(([name, value]) => name === 'content-type' && value.startsWith('text/event-stream'));
}
