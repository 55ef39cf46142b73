import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/core/evidence/seeded-random.ts';
import type { RankId, RankKey } from '../../../src/core/identity/ids.ts';
import { parseRouterId, rankKey, requestId } from '../../../src/core/identity/ids.ts';
import type { SequenceHashes } from '../../../src/core/identity/sequence-hash.ts';
import { concatHashes, noHashes } from '../../../src/core/identity/sequence-hash.ts';
import { nothingClaimed } from '../../../src/core/load/claim.ts';
import { ClaimLedger } from '../../../src/core/load/claim-ledger.ts';
import type { LivePolicy, PlacementMode, SessionRef } from '../../../src/core/placement/placement.ts';
import { place } from '../../../src/core/placement/place.ts';
import { claimOf } from '../../../src/core/placement/placement-claim.ts';
import { SessionTable } from '../../../src/core/sessions/session-table.ts';
import type { RankChanges } from './placement-builders.ts';
import { blocksOf, poolView, rank, rankView, ranks, request, session } from './placement-builders.ts';

const router = parseRouterId('r1');
const weighing = ['event', 'predicted', 'affinity', 'least-loaded'] as const satisfies readonly PlacementMode[];

interface Prompt {
  readonly hashes: SequenceHashes;
  readonly session?: SessionRef;
}

/** A router's knowledge put together as the router does: claims at placement, predictions, sessions, a fixed engine's report. */
class SmallPool {
  readonly ledger = new ClaimLedger();
  readonly sessions = new SessionTable({ idleMs: 60_000, maxSessions: 1000 });
  readonly #ids: readonly RankId[];
  readonly #policy: Partial<LivePolicy>;
  readonly #told: Readonly<Record<string, RankChanges>>;
  readonly #random = seededRandom('small-pool');
  readonly #placed = new Map<RankKey, SequenceHashes[]>();
  #requests = 0;

  constructor(ids: readonly RankId[], policy: Partial<LivePolicy>, told: Readonly<Record<string, RankChanges>> = {}) {
    this.#ids = ids;
    this.#policy = policy;
    this.#told = told;
  }

  /** Places one request and leaves it running; returns its id and its rank. */
  begin({ hashes, session: ref = undefined }: Prompt): { readonly id: ReturnType<typeof requestId>; readonly at: RankId } {
    const asked = request({ id: requestId(`q${this.#requests++}`), hashes, session: ref ?? null });
    const views = this.#ids.map((id) => this.#viewOf(id, hashes));
    const view = poolView(views, this.#policy, { bindings: this.sessions.bindingsFor(asked.session, 0) });
    const placement = place(asked, view, this.#random);
    if (placement.kind === 'rejected') throw new Error(placement.reason);
    this.sessions.begin(asked.session, 0).propose(placement.id);
    this.ledger.take(claimOf(router, asked, placement, 64));
    const key = rankKey(placement.id);
    this.#placed.set(key, [...(this.#placed.get(key) ?? []), hashes]);
    return { id: asked.id, at: placement.id };
  }

  end(id: ReturnType<typeof requestId>): void {
    this.ledger.firstToken(id);
    this.ledger.release(id);
  }

  #viewOf(id: RankId, hashes: SequenceHashes): ReturnType<typeof rankView> {
    const told = this.#told[id.worker] ?? {};
    const predictedBlocks = Math.max(0, ...(this.#placed.get(rankKey(id)) ?? []).map((held) => sharedBlocks(held, hashes)));
    return rankView(id, { predictedBlocks, ...told, load: { ...told.load, ...this.ledger.loadOf(id, hashes) } });
  }
}

function sharedBlocks(a: SequenceHashes, b: SequenceHashes): number {
  const differs = a.findIndex((word, at) => word !== b[at]);
  return (differs === -1 ? Math.min(a.length, b.length) : differs) >> 1;
}

const unrelated = (count: number, blocks: number): Prompt[] => Array.from({ length: count }, (_, at) => ({ hashes: blocksOf(at + 1, blocks), session: session(`s${at}`) }));
const tally = (placed: readonly { readonly at: RankId }[]): number[] => {
  const counts = new Map<string, number>();
  for (const { at } of placed) counts.set(rankKey(at), (counts.get(rankKey(at)) ?? 0) + 1);
  return [...counts.values()].sort((a, b) => a - b);
};

describe('placement under load', () => {
  it('L1: with no match the empty queue wins, whatever else is held where', () => {
    const told = { w1: { load: { reportedWaiting: 50 } }, w2: { load: { reportedWaiting: 0 } } };
    for (const mode of weighing) {
      const pool = new SmallPool(ranks(2), { mode }, told);
      expect(rankKey(pool.begin({ hashes: blocksOf(1, 8) }).at)).toBe('w2/0');
    }
  });

  it('L2: 8 unrelated prompts one after another use all 4 idle workers', () => {
    for (const mode of weighing) {
      const pool = new SmallPool(ranks(4), { mode });
      const placed = unrelated(8, 16).map((prompt) => {
        const one = pool.begin(prompt);
        pool.end(one.id);
        return one;
      });
      expect(tally(placed)).toHaveLength(4);
    }
  });

  it('L3: 8 concurrent prompts of 32k tokens at 8 idle workers go one to each, before any report', () => {
    for (const mode of weighing) {
      const pool = new SmallPool(ranks(8), { mode });
      expect(tally(unrelated(8, 512).map((prompt) => pool.begin(prompt)))).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
    }
  });

  it('L4: old reports and own claims together spread 8 arrivals', () => {
    const told = { w1: { load: { reportedRunning: 1, reportedWaiting: 2 } } };
    const pool = new SmallPool(ranks(4), { mode: 'least-loaded' }, told);
    const placed = unrelated(8, 16).map((prompt) => pool.begin(prompt));
    expect(placed.filter(({ at }) => at.worker === 'w1')).toHaveLength(1);
    expect(tally(placed)).toEqual([1, 2, 2, 3]);
    for (const mode of ['event', 'predicted'] as const) {
      const weighed = new SmallPool(ranks(4), { mode }, told);
      expect(tally(unrelated(8, 16).map((prompt) => weighed.begin(prompt)))).toEqual([2, 2, 2, 2]);
    }
  });

  it('L5: a first block that all share pins nobody', () => {
    for (const mode of ['event', 'predicted'] as const) {
      const pool = new SmallPool(ranks(4), { mode }, { w1: { eventBlocks: 1 } });
      const prompts = unrelated(8, 16).map(({ hashes }) => ({ hashes: concatHashes([blocksOf(999, 1), hashes]) }));
      expect(tally(prompts.map((prompt) => pool.begin(prompt)))).toEqual([2, 2, 2, 2]);
    }
  });

  it('L6: of loads 10, 0 and 1 the third is taken where it holds the whole prefix', () => {
    const held = { eventBlocks: 32, predictedBlocks: 32 };
    for (const mode of ['event', 'predicted'] as const) {
      const pool = new SmallPool(ranks(3), { mode }, { w3: held });
      const busy = (id: RankId, times: number): void => {
        for (let at = 0; at < times; at++) {
          const hashes = blocksOf(100 + at, 4);
          pool.ledger.take({ requestId: requestId(`${id.worker}-${at}`), owner: router, id, prefillTokens: 0, promptTokens: 256, hashes, blocks: 4 });
        }
      };
      busy(rank('w1'), 10);
      busy(rank('w3'), 1);
      expect(rankKey(pool.begin({ hashes: blocksOf(1, 32) }).at)).toBe('w3/0');
    }
  });

  it('L7: nothing is claimed once everything is done', () => {
    const pool = new SmallPool(ranks(4), { mode: 'predicted' });
    for (const { id } of unrelated(30, 16).map((prompt) => pool.begin(prompt))) pool.end(id);
    expect(ranks(4).map((id) => pool.ledger.loadOf(id, noHashes))).toEqual(ranks(4).map(() => nothingClaimed));
  });

  it('L11: 100 unrelated prompts, one at a time, are about 25 on each of 4 idle workers', () => {
    for (const mode of weighing) {
      const pool = new SmallPool(ranks(4), { mode });
      const placed = unrelated(100, 16).map((prompt) => {
        const one = pool.begin(prompt);
        pool.end(one.id);
        return one;
      });
      const counts = tally(placed);
      expect(counts).toHaveLength(4);
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(13);
      expect(Math.max(...counts)).toBeLessThanOrEqual(38);
    }
  });
});

/** `fanOut` children at once with one shared prefix, each with 64 tokens of its own. */
function fanOut(pool: SmallPool, children: number, prefixTokens: number): string[] {
  const prefix = blocksOf(7, prefixTokens / 64);
  return Array.from({ length: children }, (_, at) => {
    const hashes = concatHashes([prefix, blocksOf(500 + at, 1)]);
    return rankKey(pool.begin({ hashes, session: session(`child-${at}`, 'mother') }).at);
  });
}

describe.each([2, 4, 8])('a fan-out of %i cold siblings on as many idle workers', (children) => {
  it.each([16_384, 32_768])('B2: is spread over all of them by event and predicted, with a prefix of %i tokens', (prefixTokens) => {
    for (const mode of ['event', 'predicted'] as const) {
      expect(new Set(fanOut(new SmallPool(ranks(children), { mode }), children, prefixTokens)).size).toBe(children);
    }
  });

  it.each([16_384, 32_768])('B1: stays on one by sibling affinity, with a prefix of %i tokens', (prefixTokens) => {
    const pool = new SmallPool(ranks(children), { mode: 'affinity', parentAffinity: 'siblings' });
    expect(new Set(fanOut(pool, children, prefixTokens)).size).toBe(1);
  });
});
