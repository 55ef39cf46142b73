import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RankId, RankKey, RequestId } from '../../../src/core/identity/ids.ts';
import { rankKey, requestId } from '../../../src/core/identity/ids.ts';
import type { SequenceHashes } from '../../../src/core/identity/sequence-hash.ts';
import { PredictedIndex } from '../../../src/core/prefix-index/predicted-index.ts';
import { chain, lastOf, names, rank, sorted } from './index-support.ts';

const w1 = rank('w1');
const w2 = rank('w2');
const r1 = requestId('r1');
const r2 = requestId('r2');
const newIndex = (maxBlocks = 1_000): PredictedIndex => new PredictedIndex({ ttlMs: 100, maxBlocks });

describe('the predicted index', () => {
  it('promises what was placed until it expires', () => {
    const index = newIndex();
    index.predict(r1, w1, chain(1, 2), 0);
    expect(sorted(index.overlaps(chain(1, 2, 3), 99))).toEqual([['w1/0', 2]]);
    expect(index.overlaps(chain(1, 2, 3), 100).size).toBe(0);
    expect([index.size, index.blocks]).toEqual([0, 0]);
  });

  it('a later placement of the same blocks keeps them alive', () => {
    const index = newIndex();
    index.predict(r1, w1, chain(1, 2), 0);
    index.predict(r2, w1, chain(1), 60);
    expect(sorted(index.overlaps(chain(1, 2), 120))).toEqual([['w1/0', 1]]);
  });

  it('takes back what a failed request promised, and nothing that another still does', () => {
    const index = newIndex();
    index.predict(r1, w1, chain(1, 2), 0);
    index.predict(r2, w1, chain(1), 0);
    index.withdraw(r1);
    expect(sorted(index.overlaps(chain(1, 2), 1))).toEqual([['w1/0', 1]]);
    index.withdraw(r1);
    index.withdraw(requestId('unknown'));
    expect(sorted(index.overlaps(chain(1, 2), 1))).toEqual([['w1/0', 1]]);
  });

  it('a request that was placed again promises only its last rank', () => {
    const index = newIndex();
    index.predict(r1, w1, chain(1), 0);
    index.predict(r1, w2, chain(1), 0);
    expect(sorted(index.overlaps(chain(1), 1))).toEqual([['w2/0', 1]]);
  });

  it('blocks that an engine confirmed outlive a withdrawal, and expire as any', () => {
    const index = newIndex();
    index.predict(r1, w1, chain(1, 2, 3), 0);
    index.confirm(w1, chain(1, 2));
    index.confirm(w2, chain(1, 2, 3));
    index.withdraw(r1);
    expect(sorted(index.overlaps(chain(1, 2, 3), 99))).toEqual([['w1/0', 2]]);
    expect(index.overlaps(chain(1), 100).size).toBe(0);
    expect(index.blocks).toBe(0);
  });

  it('E27: a removed rank is promised nothing, and other ranks keep theirs', () => {
    const index = newIndex();
    index.predict(r1, w1, chain(1), 0);
    index.predict(r2, w2, chain(1), 0);
    index.removeRank(w1);
    expect(sorted(index.overlaps(chain(1), 1))).toEqual([['w2/0', 1]]);
    index.withdraw(r1);
    expect(index.blocks).toBe(1);
  });

  it('forgets the oldest above its bound, and counts what it forgot', () => {
    const index = newIndex(5);
    index.predict(r1, w1, chain(1, 2, 3), 0);
    index.predict(r2, w1, chain(7, 8, 9), 0);
    expect(index.overlaps(chain(1, 2, 3), 1).size).toBe(0);
    expect(sorted(index.overlaps(chain(7, 8, 9), 1))).toEqual([['w1/0', 3]]);
    expect([index.blocks, index.droppedBlocks]).toEqual([3, 3]);
  });

  it('keeps the leading blocks of a prompt that is longer than its bound', () => {
    const index = newIndex(2);
    index.predict(r1, w1, chain(1, 2, 3), 0);
    expect(sorted(index.overlaps(chain(1, 2, 3), 1))).toEqual([['w1/0', 2]]);
    expect(index.droppedBlocks).toBe(1);
  });

  it('a prompt without a complete block promises nothing', () => {
    const index = newIndex();
    index.predict(r1, w1, chain(), 0);
    expect([index.size, index.overlaps(chain(), 0).size]).toEqual([0, 0]);
  });
});

interface Promised {
  readonly request: RequestId;
  readonly key: RankKey;
  readonly expiresAtMs: number;
  names: string[];
}

/** A list of predictions, each with the names of its blocks. */
class ReferencePredictions {
  readonly #maxBlocks: number;
  #all: Promised[] = [];
  readonly #confirmed = new Set<string>();

  constructor(maxBlocks: number) {
    this.#maxBlocks = maxBlocks;
  }

  predict(request: RequestId, id: RankId, hashes: SequenceHashes, nowMs: number): void {
    this.expire(nowMs);
    this.withdraw(request);
    this.#all.push({ request, key: rankKey(id), expiresAtMs: nowMs + 100, names: names(hashes).slice(0, this.#maxBlocks) });
    while (this.blocks > this.#maxBlocks) this.#all.shift();
    this.#tidy();
  }

  withdraw(request: RequestId): void {
    // What was withdrawn once has only confirmed blocks left, so that doing it again is no change.
    for (const each of this.#all) if (each.request === request) each.names = each.names.filter((name) => this.#withdrawn.has(each) || this.#confirmed.has(`${each.key} ${name}`));
    for (const each of this.#all) if (each.request === request) this.#withdrawn.add(each);
    this.#tidy();
  }

  confirm(id: RankId, hashes: SequenceHashes): void {
    for (const name of names(hashes)) if (this.#holds(rankKey(id), name)) this.#confirmed.add(`${rankKey(id)} ${name}`);
  }

  removeRank(id: RankId): void {
    this.#all = this.#all.filter((each) => each.key !== rankKey(id));
    this.#tidy();
  }

  expire(nowMs: number): void {
    this.#all = this.#all.filter((each) => each.expiresAtMs > nowMs);
    this.#tidy();
  }

  get blocks(): number {
    return this.#all.reduce((sum, each) => sum + each.names.length, 0);
  }

  overlaps(hashes: SequenceHashes, nowMs: number): ReadonlyMap<RankKey, number> {
    this.expire(nowMs);
    const all = names(hashes);
    const found = new Map<RankKey, number>();
    for (const { key } of this.#all) {
      const missing = all.findIndex((name) => !this.#holds(key, name));
      const depth = missing === -1 ? all.length : missing;
      if (depth > 0) found.set(key, depth);
    }
    return found;
  }

  readonly #withdrawn = new Set<Promised>();

  #holds(key: RankKey, name: string): boolean {
    return this.#all.some((each) => each.key === key && each.names.includes(name));
  }

  #tidy(): void {
    for (const mark of this.#confirmed) {
      const [key = '', name = ''] = mark.split(' ');
      if (!this.#all.some((each) => each.key === key && each.names.includes(name))) this.#confirmed.delete(mark);
    }
  }
}

const ranks = [w1, w2, rank('w3', 1)];
const prompts = fc.array(fc.nat(2), { maxLength: 6 });
const action = fc.record({
  kind: fc.constantFrom('predict', 'predict', 'predict', 'predict', 'withdraw', 'confirm', 'remove-rank', 'look'),
  request: fc.nat(8),
  at: fc.nat(2),
  prompt: prompts,
  afterMs: fc.constantFrom(0, 0, 1, 30, 70),
});

describe('the predicted index, against a list of predictions', () => {
  it('promises exactly the blocks of predictions that have not expired, been withdrawn or made room', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), prompts, fc.constantFrom(4, 12, 1_000), (actions, asked, maxBlocks) => {
        const index = newIndex(maxBlocks);
        const reference = new ReferencePredictions(maxBlocks);
        let nowMs = 0;
        for (const { kind, request, at, prompt, afterMs } of actions) {
          nowMs += afterMs;
          const id = ranks[at] ?? w1;
          for (const each of [index, reference]) {
            if (kind === 'predict') each.predict(requestId(`r${request}`), id, chain(...prompt), nowMs);
            if (kind === 'withdraw') each.withdraw(requestId(`r${request}`));
            if (kind === 'confirm') each.confirm(id, prompt.length === 0 ? chain() : lastOf(...prompt));
            if (kind === 'remove-rank') each.removeRank(id);
          }
          expect(sorted(index.overlaps(chain(...asked), nowMs))).toEqual(sorted(reference.overlaps(chain(...asked), nowMs)));
          expect(index.blocks).toBe(reference.blocks);
        }
        expect(index.overlaps(chain(...asked), nowMs + 100).size).toBe(0);
        expect([index.size, index.blocks]).toEqual([0, 0]);
      }),
      { numRuns: 300 },
    );
  });
});
