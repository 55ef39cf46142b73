import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rankKey } from '../../../src/core/identity/ids.ts';
import { noHashes } from '../../../src/core/identity/sequence-hash.ts';
import type { ExplicitTarget, Placement, PlacementRequest } from '../../../src/core/placement/placement.ts';
import { parentAffinities, placementModes } from '../../../src/core/placement/placement.ts';
import { place } from '../../../src/core/placement/place.ts';
import type { PoolView } from '../../../src/core/placement/pool-view.ts';
import { blocksOf, first, noRandom, poolView, rank, rankView, ranks, request, session } from './placement-builders.ts';

const [w1, w2, w3] = [rank('w1'), rank('w2'), rank('w3')];

function placed(placement: Placement): Extract<Placement, { kind: 'placed' }> {
  if (placement.kind === 'placed') return placement;
  throw new Error(`rejected: ${placement.reason}`);
}

const whereOf = (asked: PlacementRequest, view: PoolView, random: () => number = noRandom): string => rankKey(placed(place(asked, view, random)).id);

describe('event and predicted mode', () => {
  it('takes the rank whose events say it holds most, at equal load', () => {
    const view = poolView([rankView(w1), rankView(w2, { eventBlocks: 9 }), rankView(w3, { eventBlocks: 4 })]);
    expect(placed(place(request(), view, noRandom))).toMatchObject({ id: w2, reason: 'lowest-cost', overlapBlocks: 9, overlapSource: 'events' });
  });

  it('knows nothing of events in predicted mode, nor of predictions in event mode', () => {
    const views = [rankView(w1, { eventBlocks: 9 }), rankView(w2, { predictedBlocks: 5 })];
    expect(placed(place(request(), poolView(views, { mode: 'event' }), noRandom))).toMatchObject({ id: w1, overlapBlocks: 9 });
    expect(placed(place(request(), poolView(views, { mode: 'predicted' }), noRandom))).toMatchObject({ id: w2, overlapBlocks: 5, overlapSource: 'predicted' });
  });

  it('counts no event overlap of a rank whose events are not whole', () => {
    const view = poolView([rankView(w1, { eventBlocks: 12, trusted: false }), rankView(w2, { eventBlocks: 1 })]);
    expect(placed(place(request(), view, noRandom))).toMatchObject({ id: w2, overlapBlocks: 1 });
  });

  it('goes by prediction for a rank whose events do not tell, and says so', () => {
    const view = poolView([rankView(w1, { eventBlocks: 12, trusted: false, predictedBlocks: 5 }), rankView(w2, { eventBlocks: 1, predictedBlocks: 9 })]);
    expect(placed(place(request(), view, noRandom))).toMatchObject({ id: w1, overlapBlocks: 5, overlapSource: 'predicted' });
  });

  it('charges each candidate its prefill in flight, its active blocks and what the request would add', () => {
    const load = { prefillTokens: 128, activeBlocks: 20, sharedActiveBlocks: 6 };
    const { candidates } = place(request(), poolView([rankView(w1, { eventBlocks: 5, load })]), noRandom);
    expect(candidates[0]).toMatchObject({ cost: 2 + 16 - 5 + 20 + 10, terms: { prefill: 2, prompt: 16, overlap: -5, active: 20, added: 10 } });
  });

  it('E36: an exact repeat of a prompt of four blocks overlaps by three', () => {
    const asked = request({ hashes: blocksOf(1, 4), promptTokens: 256 });
    for (const mode of placementModes) {
      const answer = placed(place(asked, poolView([rankView(w1, { eventBlocks: 4, predictedBlocks: 4 })], { mode }), first));
      expect(answer.overlapBlocks).toBe(3);
      expect(answer.candidates[0]).toMatchObject({ eventBlocks: 3, predictedBlocks: 3 });
    }
    const oneMore = request({ hashes: blocksOf(1, 4), promptTokens: 257 });
    expect(placed(place(oneMore, poolView([rankView(w1, { eventBlocks: 4 })]), noRandom)).overlapBlocks).toBe(4);
  });

  it('E36, E21: only whole pages count where a page is several blocks, by what each rank itself has', () => {
    const asked = request({ hashes: blocksOf(1, 24), promptTokens: 24 * 64 });
    const overlapsOn = (pageSize: number, blocks: number): number[] =>
      placementModes.map((mode) => placed(place(asked, poolView([rankView(w1, { pageSize, eventBlocks: blocks, predictedBlocks: blocks })], { mode }), first)).overlapBlocks);
    // Two pages of 768 tokens: of the repeat the first is reused, and so it is of a prompt that turns off in the second.
    expect(new Set(overlapsOn(768, 24))).toEqual(new Set([12]));
    expect(new Set(overlapsOn(768, 15))).toEqual(new Set([12]));
    expect(new Set(overlapsOn(768, 11))).toEqual(new Set([0]));
    expect(new Set(overlapsOn(16, 24))).toEqual(new Set([23]));
    const { candidates } = place(asked, poolView([rankView(w1, { pageSize: 768, eventBlocks: 15 }), rankView(w2, { pageSize: 16, eventBlocks: 15 })]), first);
    expect(candidates.map(({ eventBlocks }) => eventBlocks)).toEqual([12, 15]);
  });

  it('shares exact ties among all, by the number drawn', () => {
    const view = poolView(ranks(3).map((id) => rankView(id)));
    expect([0, 0.4, 0.99].map((drawn) => whereOf(request(), view, () => drawn))).toEqual(['w1/0', 'w2/0', 'w3/0']);
  });

  it('goes by load alone where the tokens are unknown, whatever an index says', () => {
    const asked = request({ promptTokens: null, hashes: noHashes });
    const view = poolView([rankView(w1, { eventBlocks: 9, load: { requests: 1 } }), rankView(w2)]);
    expect(placed(place(asked, view, noRandom))).toMatchObject({ id: w2, reason: 'least-loaded', overlapBlocks: 0, overlapSource: 'none' });
  });
});

describe('affinity mode', () => {
  const views = [rankView(w1), rankView(w2), rankView(w3, { load: { requests: 9, prefillTokens: 90_000 } })];
  const child = request({ session: session('child', 'mother') });
  const bound = { own: null, parent: w2, siblings: w3 };

  it('keeps a bound session on its rank, however loaded', () => {
    const view = poolView(views, { mode: 'affinity' }, { bindings: { own: w3, parent: null, siblings: null } });
    expect(placed(place(request({ session: session('a') }), view, noRandom))).toMatchObject({ id: w3, reason: 'bound-session' });
  });

  it('takes an unbound child to its parent or to its siblings, as the policy says', () => {
    const by = (parentAffinity: 'off' | 'parent' | 'siblings'): Placement => place(child, poolView(views, { mode: 'affinity', parentAffinity }, { bindings: bound }), noRandom);
    expect(by('parent')).toMatchObject({ id: w2, reason: 'parent' });
    expect(by('siblings')).toMatchObject({ id: w3, reason: 'sibling-group' });
    expect(by('off')).toMatchObject({ reason: 'new-session' });
  });

  it('lets a child that is bound itself go its own way', () => {
    const view = poolView(views, { mode: 'affinity', parentAffinity: 'siblings' }, { bindings: { ...bound, own: w1 } });
    expect(place(child, view, noRandom)).toMatchObject({ id: w1, reason: 'bound-session' });
  });

  it('places anew what is bound to a rank that drains, has failed this request or is gone', () => {
    const bindings = { own: w1, parent: null, siblings: null };
    const asked = request({ session: session('a') });
    const draining = poolView([rankView(w1, { draining: true }), rankView(w2)], { mode: 'affinity' }, { bindings });
    expect(place(asked, draining, noRandom)).toMatchObject({ id: w2, reason: 'new-session' });
    const failed = poolView([rankView(w1), rankView(w2)], { mode: 'affinity' }, { bindings });
    expect(place({ ...asked, excluded: [w1] }, failed, noRandom)).toMatchObject({ id: w2, reason: 'new-session' });
    expect(place(asked, poolView([rankView(w2)], { mode: 'affinity' }, { bindings }), noRandom)).toMatchObject({ id: w2 });
  });

  it('names the same first rank for a session whatever the order and small differences of load', () => {
    const asked = request({ session: session('a') });
    const there = whereOf(asked, poolView(ranks(8).map((id) => rankView(id)), { mode: 'affinity' }));
    const reversed = ranks(8).reverse().map((id, at) => rankView(id, { load: { requests: at % 2 } }));
    expect(whereOf(asked, poolView(reversed, { mode: 'affinity' }))).toBe(there);
  });

  it('names siblings that know of no group the same rank, and unrelated sessions all ranks', () => {
    const view = (parentAffinity: 'off' | 'siblings'): PoolView => poolView(ranks(4).map((id) => rankView(id)), { mode: 'affinity', parentAffinity });
    const names = Array.from({ length: 40 }, (_, at) => `child-${at}`);
    const siblings = names.map((name) => whereOf(request({ session: session(name, 'mother') }), view('siblings')));
    expect(new Set(siblings).size).toBe(1);
    const unrelated = names.map((name) => whereOf(request({ session: session(name, 'mother') }), view('off')));
    expect(new Set(unrelated).size).toBe(4);
  });

  it('sends what has no session to where the least work is', () => {
    expect(placed(place(request(), poolView([rankView(w1, { load: { requests: 1 } }), rankView(w2)], { mode: 'affinity' }), noRandom))).toMatchObject({ id: w2, reason: 'least-loaded' });
  });

  it('reports the overlap that is likely there, and who says so', () => {
    const bindings = { own: w1, parent: null, siblings: null };
    const overlapOn = (eventBlocks: number, predictedBlocks: number): Placement =>
      place(request({ session: session('a') }), poolView([rankView(w1, { eventBlocks, predictedBlocks })], { mode: 'affinity' }, { bindings }), noRandom);
    expect(overlapOn(0, 9)).toMatchObject({ overlapBlocks: 9, overlapSource: 'predicted' });
    expect(overlapOn(9, 9)).toMatchObject({ overlapBlocks: 9, overlapSource: 'events' });
  });
});

describe('the baselines', () => {
  it('take ranks in turn by worker and rank number in round-robin', () => {
    const views = [rank('w2'), rank('w1', 10), rank('w1', 9)].map((id) => rankView(id));
    const turns = [0, 1, 2, 3].map((roundRobin) => whereOf(request(), poolView(views, { mode: 'round-robin' }, { roundRobin })));
    expect(turns).toEqual(['w1/9', 'w1/10', 'w2/0', 'w1/9']);
  });

  it('take any rank in random, overlap and load ignored', () => {
    const view = poolView([rankView(w1, { eventBlocks: 9 }), rankView(w2, { load: { requests: 9 } })], { mode: 'random' });
    expect(placed(place(request(), view, () => 0.7))).toMatchObject({ id: w2, reason: 'random' });
    expect(place(request(), view, () => 0.7).candidates[0]).toMatchObject({ cost: null, terms: {} });
  });

  it('take the least work in least-loaded: prefill in flight, then what waits, then who shares the steps', () => {
    const least = (one: Parameters<typeof rankView>[1], other: Parameters<typeof rankView>[1]): string =>
      whereOf(request(), poolView([rankView(w1, one), rankView(w2, other)], { mode: 'least-loaded' }));
    expect(least({ load: { prefillTokens: 32_000, requests: 1 } }, { load: { requests: 3 } })).toBe('w2/0');
    expect(least({ load: { reportedWaiting: 1 } }, { load: { reportedRunning: 9 } })).toBe('w2/0');
    expect(least({ load: { reportedRunning: 2 } }, { load: { requests: 1 } })).toBe('w2/0');
  });
});

describe('an explicit target', () => {
  const views = [rankView(w1, { load: { requests: 5, activeBlocks: 99 } }), rankView(rank('w1', 1), { load: { activeBlocks: 200 } }), rankView(w2, { eventBlocks: 9 })];
  const ask = (worker: string, dpRank: number | null): PlacementRequest => request({ target: targetOf(worker, dpRank) });
  const targetOf = (worker: string, dpRank: number | null): ExplicitTarget => ({
    worker: rank(worker).worker,
    rank: dpRank === null ? null : rank(worker, dpRank).rank,
  });

  it('goes before the mode and before a binding', () => {
    const bindings = { own: w2, parent: null, siblings: null };
    for (const mode of placementModes) {
      const asked = { ...ask('w1', 1), session: session('a') };
      expect(place(asked, poolView(views, { mode }, { bindings }), first)).toMatchObject({ kind: 'placed', id: rank('w1', 1), reason: 'explicit-target' });
    }
  });

  it('without a rank lets the mode choose among the ranks of the worker', () => {
    const answer = placed(place(ask('w1', null), poolView(views), noRandom));
    expect(answer).toMatchObject({ id: w1, reason: 'explicit-target' });
    expect(answer.candidates[2]).toMatchObject({ eligible: false, why: 'not-targeted', cost: null });
  });

  it('does not hide what the modes would have chosen', () => {
    expect(placed(place(ask('w1', 1), poolView(views), noRandom)).shadow.event).toMatchObject({ id: w2, overlapBlocks: 9 });
  });

  it('is refused where it is unknown or drains, and told apart from one that failed', () => {
    const reason = (asked: PlacementRequest, view: PoolView): unknown => place(asked, view, noRandom);
    expect(reason(ask('w9', null), poolView(views))).toMatchObject({ kind: 'rejected', reason: 'rank-not-allowed' });
    expect(reason(ask('w1', 7), poolView(views))).toMatchObject({ reason: 'rank-not-allowed' });
    expect(reason(ask('w1', 0), poolView([rankView(w1, { draining: true })]))).toMatchObject({ reason: 'rank-not-allowed' });
    expect(reason({ ...ask('w1', 0), excluded: [w1] }, poolView([rankView(w1)]))).toMatchObject({ reason: 'no-worker' });
  });
});

describe('eligibility', () => {
  it('says why each candidate was out', () => {
    const limits = { prefillTokens: 100, requests: null };
    const views = [rankView(w1, { draining: true }), rankView(w2), rankView(w3, { load: { prefillTokens: 101 } })];
    const answer = place(request({ excluded: [w2] }), poolView(views, {}, { limits }), noRandom);
    expect(answer.candidates.map(({ why }) => why)).toEqual(['draining', 'failed-before', 'overloaded']);
    expect(answer).toMatchObject({ kind: 'rejected', reason: 'all-overloaded' });
  });

  it('rejects with no-worker where there is none, or all failed this request or drain', () => {
    expect(place(request(), poolView([]), noRandom)).toMatchObject({ kind: 'rejected', reason: 'no-worker' });
    const views = [rankView(w1), rankView(w2, { draining: true })];
    expect(place(request({ excluded: [w1] }), poolView(views), noRandom)).toMatchObject({ reason: 'no-worker' });
  });

  it('L9: a rank over its limit leaves the other rank of its worker serving', () => {
    const limits = { prefillTokens: null, requests: 4 };
    const views = [rankView(w1, { load: { requests: 4 }, eventBlocks: 9 }), rankView(rank('w1', 1), { load: { requests: 3 } })];
    expect(place(request(), poolView(views, {}, { limits }), noRandom)).toMatchObject({ id: rank('w1', 1) });
  });

  it('L10: a limit smaller than one prompt still lets an idle rank take it', () => {
    const limits = { prefillTokens: 10, requests: null };
    expect(place(request(), poolView([rankView(w1)], {}, { limits }), noRandom)).toMatchObject({ kind: 'placed' });
  });
});

describe('shadows', () => {
  const views = [rankView(w1, { eventBlocks: 9 }), rankView(w2, { predictedBlocks: 9 }), rankView(w3)];
  const bindings = { own: w3, parent: null, siblings: null };
  const asked = request({ session: session('a') });

  it('say for every mode what event, predicted and affinity would have chosen', () => {
    for (const mode of placementModes) {
      const { shadow } = placed(place(asked, poolView(views, { mode }, { bindings }), first));
      expect(shadow).toEqual({
        event: { id: w1, reason: 'lowest-cost', overlapBlocks: 9 },
        predicted: { id: w2, reason: 'lowest-cost', overlapBlocks: 9 },
        affinity: { id: w3, reason: 'bound-session', overlapBlocks: 0 },
      });
    }
  });

  it('are the choice itself for the mode in force, ties included', () => {
    const view = poolView(ranks(4).map((id) => rankView(id)));
    const answer = placed(place(request(), view, () => 0.8));
    expect(answer.shadow.event?.id).toEqual(answer.id);
  });

  it('draw no randomness', () => {
    const view = poolView(ranks(4).map((id) => rankView(id)), { mode: 'round-robin' });
    expect(placed(place(request(), view, noRandom)).shadow.event).not.toBeNull();
  });
});

const anyRank = fc.record({
  id: fc.constantFrom(w1, rank('w1', 1), w2, w3),
  ...{ draining: fc.boolean(), trusted: fc.boolean(), pageSize: fc.constantFrom(16, 64, 256), eventBlocks: fc.nat(16), predictedBlocks: fc.nat(16) },
  load: fc.record({
    ...{ requests: fc.nat(3), prefillTokens: fc.nat(2000), decodeTokens: fc.nat(2000), activeBlocks: fc.nat(40), sharedActiveBlocks: fc.nat(16) },
    ...{ reportedRunning: fc.option(fc.nat(3)), reportedWaiting: fc.option(fc.nat(3)) },
  }),
});
const anyId = fc.constantFrom(w1, rank('w1', 1), w2, w3);
const anyBinding = fc.option(anyId);
const anyRequest = fc.record({
  blocks: fc.nat(16),
  known: fc.boolean(),
  session: fc.constantFrom(null, session('a'), session('a', 'mother')),
  target: fc.option(fc.record({ worker: fc.constantFrom(w1.worker, w3.worker, rank('w9').worker), rank: fc.option(fc.constantFrom(w1.rank, rank('w1', 1).rank)) }), { freq: 3 }),
  excluded: fc.uniqueArray(anyId, { maxLength: 2 }),
});
const anyView = fc.record({
  ranks: fc.uniqueArray(anyRank, { selector: ({ id }) => rankKey(id), maxLength: 4 }),
  policy: fc.record({ mode: fc.constantFrom(...placementModes), parentAffinity: fc.constantFrom(...parentAffinities) }),
  bindings: fc.record({ own: anyBinding, parent: anyBinding, siblings: anyBinding }),
  roundRobin: fc.nat(9),
  limits: fc.record({ prefillTokens: fc.option(fc.nat(2000)), requests: fc.option(fc.nat(4)) }),
});

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}

const drawing = (drawn: number) => (): number => drawn;

describe('place', () => {
  it('changes nothing, answers the same again, and never takes a rank that is out, in any mode', () => {
    fc.assert(
      fc.property(anyRequest, anyView, fc.double({ min: 0, max: 0.999, noNaN: true }), ({ blocks, known, ...rest }, view, drawn) => {
        const hashes = known ? blocksOf(3, blocks) : noHashes;
        const asked = frozen(request({ ...rest, hashes, promptTokens: known ? blocks * 64 + 5 : null }));
        const whole = frozen(poolView(view.ranks, view.policy, view));
        const answer = place(asked, whole, drawing(drawn));
        expect(place(asked, whole, drawing(drawn))).toEqual(answer);
        expect(answer.candidates.map(({ id }) => id)).toEqual(view.ranks.map(({ id }) => id));
        const eligible = answer.candidates.filter((candidate) => candidate.eligible);
        expect(answer.kind === 'placed').toBe(eligible.length > 0);
        if (answer.kind === 'rejected') return;
        const chosen = eligible.find(({ id }) => rankKey(id) === rankKey(answer.id));
        expect(chosen).toBeDefined();
        expect(view.ranks.find(({ id }) => rankKey(id) === rankKey(answer.id))?.draining).toBe(false);
        expect(asked.excluded.map(rankKey)).not.toContain(rankKey(answer.id));
        const pageSize = Math.max(64, view.ranks.find(({ id }) => rankKey(id) === rankKey(answer.id))?.pageSize ?? 0);
        expect((answer.overlapBlocks * 64) % pageSize).toBe(0);
        expect(answer.overlapBlocks * 64).toBeLessThan(asked.promptTokens ?? 1);
        if (asked.target !== null) expect(answer.id.worker).toBe(asked.target.worker);
        if (answer.reason === 'lowest-cost') expect(chosen?.cost).toBe(Math.min(...eligible.map(({ cost }) => cost ?? Number.NaN)));
        for (const { cost, terms } of eligible) expect(Object.values(terms).reduce((sum, term) => sum + term, 0)).toBeCloseTo(cost ?? 0, 6);
        for (const shadow of Object.values(answer.shadow)) expect(shadow).not.toBeNull();
      }),
      { numRuns: 500 },
    );
  });
});
