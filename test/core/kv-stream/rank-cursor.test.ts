import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { epoch, parseDpRank, parseWorkerId } from '../../../src/core/identity/ids.ts';
import type { KvBatch, KvSnapshot } from '../../../src/core/kv-stream/kv-event.ts';
import { RankCursor } from '../../../src/core/kv-stream/rank-cursor.ts';

const batch = (seq: number, life = 'a'): KvBatch => ({ epoch: epoch(life), seq, events: [] });
const snapshot = (seq: number, life = 'a'): KvSnapshot => ({
  id: { worker: parseWorkerId('w1'), rank: parseDpRank(0) },
  epoch: epoch(life),
  seq,
  partial: false,
  runs: [],
});
const newCursor = (maxBuffered = 100): RankCursor => new RankCursor({ maxBuffered });

describe('the cursor of a rank', () => {
  it('applies batches in order from the first', () => {
    const cursor = newCursor();
    expect([0, 1, 2].map((seq) => cursor.accept(batch(seq)).kind)).toEqual(['apply', 'apply', 'apply']);
    expect(cursor.state).toBe('live');
  });

  it('E1: batches 0, 1, 2, 5 are one gap of two, and nothing behind it is applied', () => {
    const cursor = newCursor();
    [0, 1, 2].forEach((seq) => cursor.accept(batch(seq)));
    expect(cursor.accept(batch(5))).toEqual({ kind: 'gap', missingBatches: 2 });
    expect(cursor.accept(batch(6))).toEqual({ kind: 'buffered', droppedBatches: 0 });
    expect(cursor.state).toBe('waiting');
  });

  it('E2: a first batch of 40 waits for a snapshot, and is no gap: whoever joins late has lost nothing', () => {
    const cursor = newCursor();
    expect(cursor.accept(batch(40))).toEqual({ kind: 'joined' });
    expect(cursor.state).toBe('waiting');
    expect(cursor.acceptSnapshot(snapshot(39))).toEqual({ kind: 'apply', batches: [batch(40)], missingBatches: 0 });
  });

  it('E37: a lone first batch and the one after it are no gap', () => {
    const cursor = newCursor();
    expect(cursor.accept(batch(0))).toEqual({ kind: 'apply' });
    expect(cursor.accept(batch(1))).toEqual({ kind: 'apply' });
  });

  it('a batch that was applied already is a duplicate, also while waiting', () => {
    const cursor = newCursor();
    [0, 1].forEach((seq) => cursor.accept(batch(seq)));
    expect(cursor.accept(batch(1)).kind).toBe('duplicate');
    cursor.accept(batch(5));
    expect(cursor.accept(batch(0)).kind).toBe('duplicate');
  });

  it('a snapshot lets the batches behind it through, once each', () => {
    const cursor = newCursor();
    [0, 5, 6, 7, 6].forEach((seq) => cursor.accept(batch(seq)));
    expect(cursor.acceptSnapshot(snapshot(5))).toEqual({ kind: 'apply', batches: [batch(6), batch(7)], missingBatches: 0 });
    expect(cursor.state).toBe('live');
    expect(cursor.accept(batch(8)).kind).toBe('apply');
  });

  it('a hole behind the snapshot needs another, and keeps what is behind the hole', () => {
    const cursor = newCursor();
    [0, 5, 6, 9].forEach((seq) => cursor.accept(batch(seq)));
    expect(cursor.acceptSnapshot(snapshot(4))).toEqual({ kind: 'apply', batches: [batch(5), batch(6)], missingBatches: 2 });
    expect(cursor.state).toBe('waiting');
    expect(cursor.acceptSnapshot(snapshot(8))).toEqual({ kind: 'apply', batches: [batch(9)], missingBatches: 0 });
  });

  it('a snapshot of before the first batch makes an idle rank live', () => {
    const cursor = newCursor();
    expect(cursor.acceptSnapshot(snapshot(-1)).kind).toBe('apply');
    expect(cursor.accept(batch(0)).kind).toBe('apply');
  });

  it('a snapshot that comes when batches have caught up is not needed', () => {
    const cursor = newCursor();
    cursor.accept(batch(0));
    expect(cursor.acceptSnapshot(snapshot(0)).kind).toBe('not-needed');
  });

  it('E22: a new epoch from its first batch is live at once, and late batches of the old one are stale', () => {
    const cursor = newCursor();
    [0, 1].forEach((seq) => cursor.accept(batch(seq)));
    expect(cursor.accept(batch(0, 'b'))).toEqual({ kind: 'new-epoch', missingBatches: 0 });
    expect(cursor.accept(batch(2, 'a')).kind).toBe('stale-epoch');
    expect(cursor.accept(batch(1, 'b')).kind).toBe('apply');
  });

  it('a new epoch that began without us needs a snapshot, and not one of the old epoch', () => {
    const cursor = newCursor();
    cursor.accept(batch(0));
    expect(cursor.accept(batch(3, 'b'))).toEqual({ kind: 'new-epoch', missingBatches: 3 });
    expect(cursor.acceptSnapshot(snapshot(9, 'a')).kind).toBe('stale-epoch');
    expect(cursor.acceptSnapshot(snapshot(2, 'b'))).toEqual({ kind: 'apply', batches: [batch(3, 'b')], missingBatches: 0 });
  });

  it('a snapshot of an epoch not yet seen ends the one before', () => {
    const cursor = newCursor();
    [0, 4].forEach((seq) => cursor.accept(batch(seq)));
    expect(cursor.acceptSnapshot(snapshot(7, 'b'))).toEqual({ kind: 'apply', batches: [], missingBatches: 0 });
    expect(cursor.accept(batch(5, 'a')).kind).toBe('stale-epoch');
    expect(cursor.accept(batch(8, 'b')).kind).toBe('apply');
  });

  it('keeps no more batches than it may, the newest, and counts the others', () => {
    const cursor = newCursor(2);
    [0, 5, 6].forEach((seq) => cursor.accept(batch(seq)));
    expect(cursor.accept(batch(7))).toEqual({ kind: 'buffered', droppedBatches: 1 });
    expect(cursor.bufferedBatches).toBe(2);
    expect(cursor.acceptSnapshot(snapshot(4))).toEqual({ kind: 'apply', batches: [], missingBatches: 1 });
  });

  it('a restart waits for a snapshot, and does not end an epoch whose first batches came before the news', () => {
    const cursor = newCursor();
    cursor.accept(batch(0, 'b'));
    cursor.restart();
    expect(cursor.accept(batch(1, 'b')).kind).toBe('buffered');
    expect(cursor.acceptSnapshot(snapshot(0, 'b'))).toEqual({ kind: 'apply', batches: [batch(1, 'b')], missingBatches: 0 });
  });

  it('ends at the last batch, each applied at most once and in order, however batches were lost, doubled and repaired', () => {
    const delivery = fc.array(fc.record({ seq: fc.nat(30), lost: fc.boolean() }), { maxLength: 60 });
    fc.assert(
      fc.property(delivery, fc.integer({ min: 1, max: 8 }), (extra, maxBuffered) => {
        const cursor = newCursor(maxBuffered);
        const stream = Array.from({ length: 31 }, (_, seq) => seq).filter((seq) => !extra.some((each) => each.lost && each.seq === seq));
        extra.filter((each) => !each.lost).forEach((each, at) => stream.splice(stream.indexOf(each.seq) + 1, 0, ...(stream.includes(each.seq) && at % 2 === 0 ? [each.seq] : [])));
        let at = -1;
        const applied = (seq: number): void => {
          expect(seq).toBe(at + 1);
          at = seq;
        };
        for (const seq of stream) if (cursor.accept(batch(seq)).kind === 'apply') applied(seq);
        while (cursor.state !== 'live') {
          at = Math.min(30, at + 3);
          const verdict = cursor.acceptSnapshot(snapshot(at));
          if (verdict.kind === 'apply') verdict.batches.forEach((each) => applied(each.seq));
        }
        expect(at).toBe(stream.length === 0 ? at : Math.max(at, stream.at(-1) ?? -1));
      }),
    );
  });
});
