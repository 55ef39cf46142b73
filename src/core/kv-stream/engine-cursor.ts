/** What a sequence number on an engine's event socket means for the one who follows it. */
export type SeqVerdict =
  /** The batch that was expected: apply it. */
  | { readonly kind: 'next' }
  /** The first batch seen. Where `missing` is not 0, that many were published before it: as a gap. */
  | { readonly kind: 'first'; readonly missing: number }
  /** `missing` batches lie between the last one and this: nothing may be applied before they are brought. */
  | { readonly kind: 'gap'; readonly missing: number }
  /** It was applied already. */
  | { readonly kind: 'duplicate' }
  /** The engine began anew and its cache is empty: drop what it held. Where `missing` is not 0: as a gap from 0. */
  | { readonly kind: 'restart'; readonly missing: number };

/** `live`: from the event socket. `repair`: from the replay socket, or a live one that was held back meanwhile. */
export type SeqOrigin = 'live' | 'repair';

const nothing = -1;

/**
 * Follows the sequence numbers of one rank. A publisher counts from 0 and never says a number twice on its socket, so a
 * number that does not exceed the last live one is a new life of the engine: nothing else marks it, and to take it for
 * a repetition would credit what an empty cache no longer has. Numbers that a replay brought before their live message
 * came are the only duplicates.
 */
export class EngineCursor {
  #applied = nothing;
  #lastLive = nothing;
  #started = false;

  /** The number of the batch to apply next. */
  get expected(): number {
    return this.#applied + 1;
  }

  /** Judges a batch, and counts it as applied where nothing is missing before it. */
  see(seq: number, origin: SeqOrigin): SeqVerdict {
    const fellBack = origin === 'live' && seq <= this.#lastLive;
    if (origin === 'live') this.#lastLive = seq;
    if (fellBack) return this.#begin('restart', seq);
    if (!this.#started) return this.#begin('first', seq);
    if (seq < this.expected) return { kind: 'duplicate' };
    if (seq > this.expected) return { kind: 'gap', missing: seq - this.expected };
    this.#applied = seq;
    return { kind: 'next' };
  }

  /** What lies before `seq` can't be brought any more: go on with `seq` as the next one. */
  resumeAt(seq: number): void {
    this.#started = true;
    this.#applied = seq - 1;
  }

  #begin(kind: 'first' | 'restart', seq: number): SeqVerdict {
    this.#started = true;
    this.#applied = seq === 0 ? 0 : nothing;
    return { kind, missing: seq };
  }
}
