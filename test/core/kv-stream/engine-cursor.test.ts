import { describe, expect, it } from 'vitest';
import { EngineCursor } from '../../../src/core/kv-stream/engine-cursor.ts';

describe('EngineCursor', () => {
  it('E1: seq 1, 2, 5 after 0 is one gap of two, and nothing counts as applied past it', () => {
    const cursor = new EngineCursor();
    for (const seq of [0, 1, 2]) cursor.see(seq, 'live');
    expect(cursor.see(5, 'live')).toEqual({ kind: 'gap', missing: 2 });
    expect(cursor.expected).toBe(3);
    expect(cursor.see(6, 'live')).toEqual({ kind: 'gap', missing: 3 });
  });

  it('E2, E41: a first batch with seq 40 says that 40 are missing, and is not applied before them', () => {
    const cursor = new EngineCursor();
    expect(cursor.see(40, 'live')).toEqual({ kind: 'first', missing: 40 });
    expect(cursor.expected).toBe(0);
  });

  it('goes on at a batch whose past is lost for good', () => {
    const cursor = new EngineCursor();
    cursor.see(40, 'live');
    cursor.resumeAt(40);
    expect(cursor.see(40, 'repair')).toEqual({ kind: 'next' });
    expect(cursor.see(41, 'live')).toEqual({ kind: 'next' });
  });

  it('E37: seq 0 and 1 are the first and the next, and no gap', () => {
    const cursor = new EngineCursor();
    expect(cursor.see(0, 'live')).toEqual({ kind: 'first', missing: 0 });
    expect(cursor.see(1, 'live')).toEqual({ kind: 'next' });
  });

  it('E22: a live number that falls back is a new life of the engine', () => {
    const cursor = new EngineCursor();
    for (const seq of [0, 1, 2]) cursor.see(seq, 'live');
    expect(cursor.see(0, 'live')).toEqual({ kind: 'restart', missing: 0 });
    expect(cursor.see(1, 'live')).toEqual({ kind: 'next' });
  });

  it('takes the same live number again for a new life, since a publisher never repeats one', () => {
    const cursor = new EngineCursor();
    cursor.see(0, 'live');
    expect(cursor.see(0, 'live')).toEqual({ kind: 'restart', missing: 0 });
  });

  it('notices a restart whose first batches were not heard, as a gap from 0', () => {
    const cursor = new EngineCursor();
    for (let seq = 0; seq < 9; seq++) cursor.see(seq, 'live');
    expect(cursor.see(3, 'live')).toEqual({ kind: 'restart', missing: 3 });
    expect(cursor.expected).toBe(0);
  });

  it('a replay fills a gap, and what was held back then follows', () => {
    const cursor = new EngineCursor();
    cursor.see(0, 'live');
    cursor.see(3, 'live');
    expect([1, 2, 3].map((seq) => cursor.see(seq, 'repair').kind)).toEqual(['next', 'next', 'next']);
    expect(cursor.see(4, 'live')).toEqual({ kind: 'next' });
  });

  it('live batches that a replay had brought before are duplicates, not a restart', () => {
    const cursor = new EngineCursor();
    for (let seq = 0; seq < 5; seq++) cursor.see(seq, 'repair');
    expect(cursor.see(3, 'live')).toEqual({ kind: 'duplicate' });
    expect(cursor.see(4, 'live')).toEqual({ kind: 'duplicate' });
    expect(cursor.see(5, 'live')).toEqual({ kind: 'next' });
    expect(cursor.see(4, 'live')).toEqual({ kind: 'restart', missing: 4 });
  });

  it('a replay that begins after what was asked shows as missing', () => {
    const cursor = new EngineCursor();
    expect(cursor.see(6, 'repair')).toEqual({ kind: 'first', missing: 6 });
    cursor.resumeAt(6);
    expect(cursor.see(6, 'repair')).toEqual({ kind: 'next' });
  });
});
