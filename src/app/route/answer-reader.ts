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
  /** All of the answer has passed: a client may close its connection now without having cancelled anything. */
  readonly complete: boolean;
  /** If this is the end, it came too early: only an answer without a length can end so. */
  readonly cutOff: boolean;
}

/** Answers and events above this are passed on and not looked into. */
const maxReadBytes = 16 * 1024 * 1024;

/** A JSON answer, read as a whole at its end. */
export class JsonReader implements AnswerReader {
  readonly sawError = false;
  readonly betweenEvents = false;
  readonly cutOff = false;
  readonly #decoder = new TextDecoder();
  /** Bytes, as its head says; null where it does not. */
  readonly #length: number | null;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(length: number | null = null) {
    this.#length = length;
  }

  get complete(): boolean {
    return this.#bytes === this.#length;
  }

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
  /** The event that is open, in the parts it came in: joined once, when it ends. */
  #open: string[] = [];
  #openChars = 0;
  /** What may be the beginning of an event's end. */
  #tail = '';
  #withUsage: string | null = null;
  #skipping = false;
  sawError = false;
  complete = false;

  get betweenEvents(): boolean {
    return this.#openChars + this.#tail.length === 0 && !this.#skipping;
  }

  /** The last event needs no empty line behind it. */
  get cutOff(): boolean {
    return this.#skipping || !['', 'data: [DONE]'].includes(this.#open.join('').trim());
  }

  push(piece: Uint8Array): number {
    const parts = (this.#tail + this.#decoder.decode(piece, { stream: true })).replaceAll('\r\n', '\n').split('\n\n');
    const rest = parts.pop() ?? '';
    for (const part of parts) this.#ended(part);
    const kept = /\n?\r?$/.exec(rest)?.[0] ?? '';
    this.#tail = kept;
    this.#keep(rest.slice(0, rest.length - kept.length));
    return parts.length;
  }

  usage(): Usage {
    const value = this.#withUsage === null ? null : parsedOrNull(this.#withUsage);
    // Several prompts in one stream: each event speaks of one of them, and none of all.
    return typeof value === 'object' && value !== null && 'index' in value ? noUsage : usageIn(value);
  }

  #keep(part: string): void {
    if (part === '' || this.#skipping) return;
    this.#open.push(part);
    this.#openChars += part.length;
    if (this.#openChars <= maxReadBytes) return;
    this.#skipping = true;
    this.#forgetOpen();
  }

  #ended(part: string): void {
    if (!this.#skipping) this.#event(this.#open.join('') + part);
    this.#skipping = false;
    this.#forgetOpen();
  }

  #forgetOpen(): void {
    this.#open = [];
    this.#openChars = 0;
  }

  #event(event: string): void {
    const data = event.startsWith('data:') ? event.slice(5).trimStart() : '';
    if (/^\{\s*"error"\s*:/.test(data)) this.sawError = true;
    else if (data === '[DONE]') this.complete = true;
    else if (data.includes('"prompt_tokens"')) this.#withUsage = data;
  }
}

export function answerReader(headers: readonly (readonly [string, string])[]): AnswerReader {
  return isEventStream(headers) ? new EventStreamReader() : new JsonReader(lengthOf(headers));
}

function lengthOf(headers: readonly (readonly [string, string])[]): number | null {
  const said = headers.find(([name]) => name === 'content-length')?.[1];
  return said === undefined ? null : Number(said);
}

export function isEventStream(headers: readonly (readonly [string, string])[]): boolean {
  return headers.some(([name, value]) => name === 'content-type' && value.startsWith('text/event-stream'));
}
