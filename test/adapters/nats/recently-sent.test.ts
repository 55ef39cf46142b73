import { describe, expect, it } from 'vitest';
import { RecentlySent } from '../../../src/adapters/nats/recently-sent.ts';

describe('messages that may have been lost with a connection', () => {
  it('are those of the last moments, in order, and once', () => {
    const sent = new RecentlySent<string>({ doubtfulMs: 100, most: 10 });
    for (const [message, atMs] of [['a', 0], ['b', 50], ['c', 120]] as const) sent.add(message, atMs);
    expect([sent.take(150), sent.take(150)]).toEqual([['b', 'c'], []]);
  });

  it('are bounded: the newest stay', () => {
    const sent = new RecentlySent<number>({ doubtfulMs: 100, most: 3 });
    for (let message = 0; message < 20; message++) sent.add(message, 0);
    expect(sent.take(0)).toEqual([17, 18, 19]);
  });
});
