import type { CacheEvent, StoredRun } from './cache-event.ts';

type Open =
  | { readonly kind: 'stored'; readonly first: StoredRun; readonly runs: StoredRun[] }
  | { readonly kind: 'removed'; readonly extraKey: string | null; readonly runs: Uint8Array[] }
  | { readonly kind: 'cleared' };

const equalBytes = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, index) => byte === b[index]);

function concat(runs: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(runs.reduce((sum, run) => sum + run.length, 0));
  let at = 0;
  for (const run of runs) {
    out.set(run, at);
    at += run.length;
  }
  return out;
}

function concatTokens(runs: readonly StoredRun[]): Int32Array {
  const out = new Int32Array(runs.reduce((sum, run) => sum + run.tokens.length, 0));
  let at = 0;
  for (const run of runs) {
    out.set(run.tokens, at);
    at += run.tokens.length;
  }
  return out;
}

function closed(open: Open): CacheEvent {
  if (open.kind === 'cleared') return open;
  if (open.kind === 'removed') return { kind: 'removed', runs: open.runs };
  return { ...open.first, kind: 'stored', digests: concat(open.runs.map((run) => run.digests)), tokens: concatTokens(open.runs) };
}

/**
 * Cache events until the engine sends them. As SGLang does since 0.5.18, a store that goes on from the last event's
 * end is merged into it, and so are neighbouring removals of one extra key: order between kinds is kept.
 */
export class CacheEventQueue {
  readonly #digestBytes: number;
  #open: Open[] = [];

  constructor(digestBytes: number) {
    this.#digestBytes = digestBytes;
  }

  stored(run: StoredRun): void {
    const tail = this.#open.at(-1);
    if (tail?.kind === 'stored' && this.#continues(tail.runs.at(-1), run)) tail.runs.push(run);
    else this.#open.push({ kind: 'stored', first: run, runs: [run] });
  }

  removed(digests: Uint8Array, extraKey: string | null): void {
    const tail = this.#open.at(-1);
    if (tail?.kind === 'removed' && tail.extraKey === extraKey) tail.runs.push(digests);
    else this.#open.push({ kind: 'removed', extraKey, runs: [digests] });
  }

  cleared(): void {
    this.#open.push({ kind: 'cleared' });
  }

  drain(): readonly CacheEvent[] {
    const events = this.#open.map(closed);
    this.#open = [];
    return events;
  }

  #continues(last: StoredRun | undefined, run: StoredRun): boolean {
    if (last === undefined || run.parent === null) return false;
    if (last.salt !== run.salt || last.sessionId !== run.sessionId) return false;
    return equalBytes(last.digests.subarray(last.digests.length - this.#digestBytes), run.parent);
  }
}
