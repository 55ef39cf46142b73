import type { SequenceHashes } from '../identity/sequence-hash.ts';
import type { KvEvent, StorageTier } from './kv-event.ts';

/** Tiers by the number that bit masks use. */
export const storageTiers: readonly StorageTier[] = ['device', 'host', 'disk', 'external'];

export const tierNumber = (tier: StorageTier): number => storageTiers.indexOf(tier);

interface Run {
  readonly kind: 'stored' | 'removed';
  readonly tier: number;
  /** Two words; null in a removal, and where the run starts the prompt. */
  readonly parent: readonly [number, number] | null;
  readonly words: number[];
}

/**
 * Collects block after block into as few events as say the same in the same order: neighbours of one chain become one
 * run. A run stands where its first block stood, so every parent is said before what hangs on it.
 */
export class BlockChanges {
  readonly #runs: Run[] = [];
  /** The run of each tier that may still grow. */
  readonly #open: (Run | undefined)[] = [];
  #openKind: Run['kind'] = 'stored';

  /** The block at `at` of `hashes`, after the one at `before` (null: it starts the prompt). */
  stored(tier: number, hashes: Int32Array, at: number, before: number | null): void {
    this.#turnTo('stored');
    const open = this.#open[tier];
    const run = open !== undefined && continues(open, hashes, before) ? open : this.#begin({ kind: 'stored', tier, parent: parentAt(hashes, before), words: [] });
    run.words.push(hashes[at] ?? 0, hashes[at + 1] ?? 0);
  }

  removed(tier: number, hashes: Int32Array, at: number): void {
    this.#turnTo('removed');
    const run = this.#open[tier] ?? this.#begin({ kind: 'removed', tier, parent: null, words: [] });
    run.words.push(hashes[at] ?? 0, hashes[at + 1] ?? 0);
  }

  /** What was collected; the collection is empty then. */
  take(): KvEvent[] {
    const events = this.#runs.map(eventOf);
    this.#runs.length = 0;
    this.#open.length = 0;
    return events;
  }

  /** A block removed and stored again in one go must be said in that order. */
  #turnTo(kind: Run['kind']): void {
    if (kind === this.#openKind) return;
    this.#openKind = kind;
    this.#open.length = 0;
  }

  #begin(run: Run): Run {
    this.#runs.push(run);
    this.#open[run.tier] = run;
    return run;
  }
}

function continues(run: Run, hashes: Int32Array, before: number | null): boolean {
  const { words } = run;
  return before !== null && words[words.length - 2] === hashes[before] && words[words.length - 1] === hashes[before + 1];
}

const parentAt = (hashes: Int32Array, before: number | null): Run['parent'] => (before === null ? null : [hashes[before] ?? 0, hashes[before + 1] ?? 0]);

const toHashes = (words: readonly number[]): SequenceHashes => Int32Array.from(words) as SequenceHashes;

function eventOf(run: Run): KvEvent {
  const tier = storageTiers[run.tier] ?? 'device';
  const hashes = toHashes(run.words);
  if (run.kind === 'removed') return { kind: 'removed', hashes, tier };
  return { kind: 'stored', parent: run.parent === null ? null : toHashes(run.parent), hashes, tier };
}
