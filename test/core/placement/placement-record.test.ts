import { describe, expect, it } from 'vitest';
import { parsePoolId, parseRouterId, requestId } from '../../../src/core/identity/ids.ts';
import { place } from '../../../src/core/placement/place.ts';
import { claimOf, claimOfEvent } from '../../../src/core/placement/placement-claim.ts';
import type { PlacedPlacement } from '../../../src/core/placement/placement-record.ts';
import {
  toFailedEvent,
  toFinishedEvent,
  toFirstTokenEvent,
  toModeChangedEvent,
  toPlacedEvent,
  toRejectedEvent,
  toReroutedEvent,
} from '../../../src/core/placement/placement-record.ts';
import { blocksOf, noRandom, poolView, rank, rankView, request, session } from './placement-builders.ts';

const origin = { at: '2026-01-01T00:00:00.000Z', router: parseRouterId('r1'), pool: parsePoolId('llama') };
const common = { v: 1, ...origin };
const subject = { requestId: requestId('q1'), id: rank('w1', 2) };

function placement(asked: ReturnType<typeof request>): PlacedPlacement {
  const load = { requests: 3, prefillTokens: 128, decodeTokens: 9000, activeBlocks: 300, sharedActiveBlocks: 256, reportedRunning: 2, reportedWaiting: 0 };
  const views = [rankView(rank('w1'), { predictedBlocks: 256, load }), rankView(rank('w2'), { draining: true })];
  const answer = place(asked, poolView(views, { mode: 'affinity', parentAffinity: 'siblings' }, { bindings: { own: null, parent: null, siblings: rank('w1') } }), noRandom);
  if (answer.kind === 'rejected') throw new Error(answer.reason);
  return answer;
}

const asked = request({ hashes: blocksOf(1, 257), promptTokens: 16_484, session: session('child', 'mother') });

describe('toPlacedEvent', () => {
  const answer = placement(asked);
  const claim = claimOf(origin.router, asked, answer, 64);
  const event = toPlacedEvent(origin, asked, { placement: answer, claim });

  it('holds all that the decision was made from', () => {
    expect(event).toEqual({
      ...common,
      event: 'placed',
      requestId: 'q1',
      mode: 'affinity',
      worker: 'w1',
      rank: 0,
      reason: 'sibling-group',
      session: 'child',
      parent: 'mother',
      promptTokens: 16_484,
      requestBlocks: 257,
      overlapBlocks: 256,
      overlapSource: 'predicted',
      claim: { prefillTokens: 100, blocks: 257 },
      candidates: [
        {
          ...{ worker: 'w1', rank: 0, eligible: true, why: null, trusted: true, overlapBlocks: 0, predictedBlocks: 256, cost: 7 },
          load: { requests: 3, prefillTokens: 128, decodeTokens: 9000, reportedRunning: 2, reportedWaiting: 0 },
          terms: { prefill: 2, waiting: 0, sharing: 5 },
        },
        {
          ...{ worker: 'w2', rank: 0, eligible: false, why: 'draining', trusted: true, overlapBlocks: 0, predictedBlocks: 0, cost: null },
          load: { requests: 0, prefillTokens: 0, decodeTokens: 0, reportedRunning: null, reportedWaiting: null },
          terms: {},
        },
      ],
      shadow: {
        event: { worker: 'w1', rank: 0, overlapBlocks: 0, reason: 'lowest-cost' },
        predicted: { worker: 'w1', rank: 0, overlapBlocks: 256, reason: 'lowest-cost' },
        affinity: { worker: 'w1', rank: 0, overlapBlocks: 256, reason: 'sibling-group' },
      },
    });
  });

  it('survives JSON unchanged', () => {
    expect(JSON.parse(JSON.stringify(event))).toEqual(event);
  });

  it('lets another router claim what it claims, without its hashes', () => {
    expect(claimOfEvent(event)).toEqual({ ...claim, hashes: null });
  });

  it('claims no tokens where they are unknown', () => {
    const unknown = { ...asked, promptTokens: null, hashes: blocksOf(1, 0) };
    expect(claimOf(origin.router, unknown, placement(unknown), 64)).toMatchObject({ prefillTokens: 0, promptTokens: 0, blocks: 0 });
  });
});

describe('the other placement events', () => {
  const onRank = { requestId: 'q1', worker: 'w1', rank: 2 };

  it('name the request, its rank and what happened', () => {
    expect(toFirstTokenEvent(origin, subject, 12.5)).toEqual({ ...common, event: 'first_token', ...onRank, ttftMs: 12.5 });
    const figures = { status: 200, ttftMs: 12.5, durationMs: 99, promptTokens: 300, cachedTokens: 256, completionTokens: 7, overlapBlocks: 4 };
    expect(toFinishedEvent(origin, subject, figures)).toEqual({ ...common, event: 'finished', ...onRank, ...figures });
    const failure = { code: 'worker-silent', message: 'no frame for 30 s', durationMs: 30_000 };
    expect(toFailedEvent(origin, subject, failure)).toEqual({ ...common, event: 'failed', ...onRank, ...failure });
    expect(toReroutedEvent(origin, subject, 'no-responder')).toEqual({ ...common, event: 'rerouted', ...onRank, code: 'no-responder' });
  });

  it('name no rank where there is none', () => {
    const rejection = { code: 'no-worker', message: 'pool llama has no worker' };
    expect(toRejectedEvent(origin, subject.requestId, rejection)).toEqual({ ...common, event: 'rejected', requestId: 'q1', ...rejection });
    const policy = { mode: 'event', parentAffinity: 'off' } as const;
    expect(toModeChangedEvent(origin, policy)).toEqual({ ...common, event: 'mode_changed', ...policy });
  });
});
