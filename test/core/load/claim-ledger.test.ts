import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RankId, RouterId } from '../../../src/core/identity/ids.ts';
import { parseRouterId, requestId } from '../../../src/core/identity/ids.ts';
import type { SequenceHashes } from '../../../src/core/identity/sequence-hash.ts';
import { concatHashes, noHashes, sliceHashes } from '../../../src/core/identity/sequence-hash.ts';
import type { Claim } from '../../../src/core/load/claim.ts';
import { nothingClaimed } from '../../../src/core/load/claim.ts';
import { ClaimLedger } from '../../../src/core/load/claim-ledger.ts';
import { blocksOf, rank } from '../placement/placement-builders.ts';

const [w1, w1b, w2] = [rank('w1'), rank('w1', 1), rank('w2')];
const [r1, r2] = [parseRouterId('r1'), parseRouterId('r2')];

const claim = (id: string, at: RankId, changes: Partial<Claim> = {}): Claim => ({
  ...{ requestId: requestId(id), owner: r1, id: at, prefillTokens: 640, promptTokens: 1024, hashes: blocksOf(1, 16), blocks: 16 },
  ...changes,
});

const withOwnEnd = (shared: SequenceHashes, seed: number): SequenceHashes => concatHashes([shared, blocksOf(seed, 2)]);

describe('ClaimLedger', () => {
  it('charges the uncached prompt at placement and moves the whole prompt to decode at the first token', () => {
    const ledger = new ClaimLedger();
    ledger.take(claim('q1', w1));
    expect(ledger.loadOf(w1, noHashes)).toMatchObject({ requests: 1, prefillTokens: 640, decodeTokens: 0, activeBlocks: 16 });
    ledger.firstToken(requestId('q1'));
    ledger.firstToken(requestId('q1'));
    expect(ledger.loadOf(w1, noHashes)).toMatchObject({ requests: 1, prefillTokens: 0, decodeTokens: 1024, activeBlocks: 16 });
    ledger.addDecodeTokens(requestId('q1'), 5);
    expect(ledger.loadOf(w1, noHashes).decodeTokens).toBe(1029);
  });

  it('counts answer tokens that were heard of before the first token from the first token on', () => {
    const ledger = new ClaimLedger();
    ledger.take(claim('q1', w1));
    ledger.addDecodeTokens(requestId('q1'), 3);
    expect(ledger.loadOf(w1, noHashes).decodeTokens).toBe(0);
    ledger.firstToken(requestId('q1'));
    expect(ledger.loadOf(w1, noHashes).decodeTokens).toBe(1027);
  });

  it('releases a claim once, and says so the second time', () => {
    const ledger = new ClaimLedger();
    ledger.take(claim('q1', w1));
    expect(ledger.release(requestId('q1'))).toBe(true);
    expect(ledger.release(requestId('q1'))).toBe(false);
    expect(ledger.release(requestId('never'))).toBe(false);
    expect(ledger.loadOf(w1, noHashes)).toEqual(nothingClaimed);
  });

  it('moves a claim that is taken again on another rank', () => {
    const ledger = new ClaimLedger();
    ledger.take(claim('q1', w1));
    ledger.take(claim('q1', w2));
    expect(ledger.size).toBe(1);
    expect(ledger.loadOf(w1, noHashes)).toEqual(nothingClaimed);
    expect(ledger.loadOf(w2, noHashes).requests).toBe(1);
  });

  it('counts shared blocks once, and says how many leading blocks of a prompt are active', () => {
    const ledger = new ClaimLedger();
    const shared = blocksOf(7, 14);
    ledger.take(claim('q1', w1, { hashes: withOwnEnd(shared, 1) }));
    ledger.take(claim('q2', w1, { hashes: withOwnEnd(shared, 2) }));
    expect(ledger.loadOf(w1, withOwnEnd(shared, 3))).toMatchObject({ activeBlocks: 18, sharedActiveBlocks: 14 });
    expect(ledger.loadOf(w1, sliceHashes(shared, 0, 3)).sharedActiveBlocks).toBe(3);
    expect(ledger.loadOf(w2, shared).sharedActiveBlocks).toBe(0);
    ledger.release(requestId('q1'));
    expect(ledger.loadOf(w1, shared)).toMatchObject({ activeBlocks: 16, sharedActiveBlocks: 14 });
  });

  it('takes the blocks of a claim without hashes to be its own alone', () => {
    const ledger = new ClaimLedger();
    ledger.take(claim('q1', w1, { hashes: null, blocks: 10, owner: r2 }));
    ledger.take(claim('q2', w1, { hashes: null, blocks: 10, owner: r2 }));
    expect(ledger.loadOf(w1, blocksOf(1, 10))).toMatchObject({ activeBlocks: 20, sharedActiveBlocks: 0 });
  });

  it('gives published active blocks and tokens for three requests that come and go', () => {
    const ledger = new ClaimLedger();
    const all = blocksOf(1, 3);
    const take = (id: string, hashes: SequenceHashes, prefillTokens: number): void => ledger.take(claim(id, w1, { hashes, prefillTokens }));
    const now = (): readonly number[] => [ledger.loadOf(w1, noHashes).activeBlocks, ledger.loadOf(w1, noHashes).prefillTokens];
    take('r1', all, 12);
    expect(now()).toEqual([3, 12]);
    take('r2', blocksOf(4, 1), 4);
    expect(now()).toEqual([4, 16]);
    take('r3', concatHashes([all, blocksOf(4, 1)]), 0);
    expect(now()).toEqual([4, 16]);
    ledger.release(requestId('r2'));
    expect(now()).toEqual([4, 12]);
    ledger.release(requestId('r3'));
    expect(now()).toEqual([3, 12]);
    ledger.release(requestId('r1'));
    expect(now()).toEqual([0, 0]);
  });

  it('L8: a claim for a worker that nobody has heard of is booked', () => {
    const ledger = new ClaimLedger();
    ledger.take(claim('q1', rank('not-yet-here', 3)));
    expect(ledger.loadOf(rank('not-yet-here', 3), noHashes).requests).toBe(1);
  });

  it('releases what a router had, and nothing of the others', () => {
    const ledger = new ClaimLedger();
    ledger.take(claim('q1', w1));
    ledger.take(claim('q2', w1, { owner: r2 }));
    ledger.take(claim('q3', w2, { owner: r2 }));
    expect(ledger.releaseOwner(r2)).toBe(2);
    expect([ledger.loadOf(w1, noHashes).requests, ledger.loadOf(w2, noHashes).requests]).toEqual([1, 0]);
  });

  it('releases what all ranks of a worker had, and nothing of another worker', () => {
    const ledger = new ClaimLedger();
    ledger.take(claim('q1', w1));
    ledger.take(claim('q2', w1b));
    ledger.take(claim('q3', w2));
    expect(ledger.releaseWorker(w1.worker)).toBe(2);
    expect([w1, w1b, w2].map((id) => ledger.loadOf(id, noHashes).requests)).toEqual([0, 0, 1]);
  });

  it('L7: every sum is that of the open claims, and exactly zero once all are released', () => {
    fc.assert(fc.property(fc.array(step, { maxLength: 60, size: 'max' }), holdsAsModel), { numRuns: 200 });
  });
});

const request = fc.integer({ min: 0, max: 7 });
const step = fc.oneof(
  fc.record({
    ...{ do: fc.constant('take' as const), request, at: fc.constantFrom(w1, w1b, w2), owner: fc.constantFrom(r1, r2) },
    ...{ prefillTokens: fc.nat(100), promptTokens: fc.nat(100), blocks: fc.nat(6), hashed: fc.boolean() },
  }),
  fc.record({ do: fc.constantFrom('first' as const, 'release' as const), request }),
  fc.record({ do: fc.constant('answer' as const), request, tokens: fc.nat(9) }),
  fc.record({ do: fc.constant('owner' as const), owner: fc.constantFrom(r1, r2) }),
  fc.record({ do: fc.constant('worker' as const), at: fc.constantFrom(w1, w2) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface ModelClaim {
  readonly claim: Claim;
  decoding: boolean;
  answer: number;
}
type Model = Map<string, ModelClaim>;

const forget = (model: Model, matches: (claim: Claim) => boolean): void => {
  for (const [id, open] of model) if (matches(open.claim)) model.delete(id);
};

function apply(ledger: ClaimLedger, model: Model, move: Step): void {
  if (move.do === 'owner') {
    ledger.releaseOwner(move.owner);
    return forget(model, ({ owner }) => owner === move.owner);
  }
  if (move.do === 'worker') {
    ledger.releaseWorker(move.at.worker);
    return forget(model, ({ id }) => id.worker === move.at.worker);
  }
  const id = requestId(`q${move.request}`);
  const open = model.get(id);
  switch (move.do) {
    case 'take': {
      const { at, owner, prefillTokens, promptTokens, blocks, hashed } = move;
      const taken = claim(id, at, { owner, prefillTokens, promptTokens, blocks, hashes: hashed ? blocksOf(5, blocks) : null });
      ledger.take(taken);
      model.set(id, { claim: taken, decoding: false, answer: 0 });
      return;
    }
    case 'first':
      ledger.firstToken(id);
      if (open !== undefined) open.decoding = true;
      return;
    case 'answer':
      ledger.addDecodeTokens(id, move.tokens);
      if (open !== undefined) open.answer += move.tokens;
      return;
    case 'release':
      expect(ledger.release(id)).toBe(model.delete(id));
  }
}

function expected(model: Model, id: RankId): object {
  const here = [...model.values()].filter(({ claim: { id: at } }) => at.worker === id.worker && at.rank === id.rank);
  const sum = (of: (open: ModelClaim) => number): number => here.reduce((total, open) => total + of(open), 0);
  const longest = here.reduce((most, { claim: { hashes } }) => Math.max(most, (hashes?.length ?? 0) / 2), 0);
  return {
    requests: here.length,
    prefillTokens: sum((open) => (open.decoding ? 0 : open.claim.prefillTokens)),
    decodeTokens: sum((open) => (open.decoding ? open.claim.promptTokens + open.answer : 0)),
    activeBlocks: longest + sum(({ claim: { hashes, blocks } }) => (hashes === null ? blocks : 0)),
    sharedActiveBlocks: Math.min(longest, 4),
  };
}

function holdsAsModel(moves: readonly Step[]): void {
  const ledger = new ClaimLedger();
  const model: Model = new Map();
  for (const move of moves) {
    apply(ledger, model, move);
    expect(ledger.size).toBe(model.size);
    for (const id of [w1, w1b, w2]) expect(ledger.loadOf(id, blocksOf(5, 4))).toEqual(expected(model, id));
  }
  for (const owner of [r1, r2] satisfies RouterId[]) ledger.releaseOwner(owner);
  expect(ledger.size).toBe(0);
  for (const id of [w1, w1b, w2]) expect(ledger.loadOf(id, blocksOf(5, 4))).toEqual(nothingClaimed);
}
