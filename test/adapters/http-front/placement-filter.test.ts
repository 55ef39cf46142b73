import { describe, expect, it } from 'vitest';
import { PlacementFilter } from '../../../src/adapters/http-front/placement-filter.ts';
import type { PlacementEvent } from '../../../src/core/placement/placement-event.ts';

const event = (name: PlacementEvent['event'], fields: object): PlacementEvent => ({ v: 1, event: name, pool: 'p', router: 'r', ...fields }) as unknown as PlacementEvent;
const filter = (query: string): PlacementFilter => new PlacementFilter(new URLSearchParams(query));

describe('the filter of placement events', () => {
  it('takes all where nothing is asked', () => {
    expect(filter('').takes(event('mode_changed', {}))).toBe(true);
  });

  it('goes by pool, worker and kind', () => {
    const placed = event('placed', { worker: 'w1', requestId: 'a', session: null });
    expect(['pool=p', 'pool=q', 'worker=w1', 'worker=w2', 'event=placed,failed', 'event=failed'].map((query) => filter(query).takes(placed))).toEqual([true, false, true, false, true, false]);
  });

  it('by session takes the placement and all that follows of its request', () => {
    const mine = filter('session=s');
    const taken = [
      event('placed', { requestId: 'a', session: 's' }),
      event('placed', { requestId: 'b', session: 't' }),
      event('first_token', { requestId: 'a' }),
      event('first_token', { requestId: 'b' }),
      event('finished', { requestId: 'a' }),
      event('finished', { requestId: 'a' }),
    ].map((each) => mine.takes(each));
    expect(taken).toEqual([true, false, true, false, true, false]);
  });
});
