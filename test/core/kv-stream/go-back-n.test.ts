import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GoBackN, type WindowLimits } from '../../../src/core/kv-stream/go-back-n.ts';

const limits = (change: Partial<WindowLimits> = {}): WindowLimits => ({ window: 4, maxItems: 100, maxBytes: 1_000_000, ...change });

function filled(count: number, change: Partial<WindowLimits> = {}): GoBackN<number> {
  const window = new GoBackN<number>(limits(change));
  for (let i = 0; i < count; i++) window.enqueue(i, 10);
  return window;
}

function takeAll(window: GoBackN<number>): number[] {
  const taken: number[] = [];
  for (let next = window.take(); next !== null; next = window.take()) taken.push(next.item);
  return taken;
}

describe('go-back-n', () => {
  it('sends in order up to the window, and one more for each acknowledgement', () => {
    const window = filled(6);
    expect(takeAll(window)).toEqual([0, 1, 2, 3]);
    expect(window.acknowledge(0, 0)).toBe('progress');
    expect(takeAll(window)).toEqual([4]);
    expect([window.pending, window.inFlight]).toEqual([5, 4]);
  });

  it('a later acknowledgement of this round proves a hole, and everything from the hole is sent again', () => {
    const window = filled(4);
    takeAll(window);
    window.acknowledge(0, 0);
    expect(window.acknowledge(2, 0)).toBe('hole');
    expect(window.rewind()).toBe(3);
    expect(takeAll(window)).toEqual([1, 2, 3]);
  });

  it('a later acknowledgement of an earlier round proves nothing', () => {
    const window = filled(4);
    takeAll(window);
    window.rewind();
    takeAll(window);
    expect(window.acknowledge(2, 0)).toBe('stale');
    expect(window.acknowledge(0, 0)).toBe('progress');
    expect(window.acknowledge(0, 1)).toBe('stale');
  });

  it('an acknowledgement of what was never sent is stale', () => {
    const window = filled(4);
    expect(window.acknowledge(0, 0)).toBe('stale');
    expect(window.acknowledge(99, 0)).toBe('stale');
    expect(window.pending).toBe(4);
  });

  it('drops the oldest at the bound of items, and says how many', () => {
    const window = new GoBackN<number>(limits({ maxItems: 3 }));
    expect([1, 2, 3, 4, 5].map((item) => window.enqueue(item, 1))).toEqual([0, 0, 0, 1, 1]);
    expect(takeAll(window)).toEqual([3, 4, 5]);
  });

  it('keeps the order over thousands of items, of which few wait at a time', () => {
    const window = new GoBackN<number>(limits());
    const sent: number[] = [];
    for (let i = 0; i < 3_000; i++) {
      window.enqueue(i, 10);
      sent.push(...takeAll(window));
      if (i >= 2) window.acknowledge(i - 2, 0);
    }
    expect(sent).toEqual(Array.from({ length: 3_000 }, (_, index) => index));
    expect(window.pending).toBe(2);
  });

  it('drops the oldest at the bound of bytes, but keeps the newest however large', () => {
    const window = new GoBackN<number>(limits({ maxBytes: 25 }));
    expect([window.enqueue(1, 10), window.enqueue(2, 10), window.enqueue(3, 10)]).toEqual([0, 0, 1]);
    expect(window.enqueue(4, 1_000)).toBe(2);
    expect(takeAll(window)).toEqual([4]);
  });

  it('an index names the same item when it is sent again', () => {
    const window = filled(3);
    window.take();
    window.rewind();
    expect(window.take()).toEqual({ index: 0, item: 0, round: 1 });
  });

  it('a log that loses, answers late and is restarted still gets each item once and in order', () => {
    const step = fc.constantFrom('send', 'deliver', 'ack', 'lose-message', 'lose-ack', 'crash', 'timeout');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 5 }), (steps, size) => {
        const world = new LossyLog(new GoBackN<number>(limits({ window: size })));
        for (const each of steps) world.step(each);
        world.settle();
        expect(world.stored).toEqual(Array.from({ length: world.sent }, (_, i) => i));
      }),
    );
  });
});

interface Wire {
  readonly index: number;
  readonly round: number;
  readonly item: number;
}

/** A log behind one connection: messages and acknowledgements go in order; a crash loses what is under way in both directions. */
class LossyLog {
  readonly stored: number[] = [];
  sent = 0;
  readonly #window: GoBackN<number>;
  readonly #known = new Set<number>();
  #out: Wire[] = [];
  #acks: Wire[] = [];

  constructor(window: GoBackN<number>) {
    this.#window = window;
  }

  step(kind: 'send' | 'deliver' | 'ack' | 'lose-message' | 'lose-ack' | 'crash' | 'timeout'): void {
    if (kind === 'send' && this.sent < 90) this.#window.enqueue(this.sent++, 1);
    if (kind === 'deliver') this.#deliver();
    if (kind === 'ack') this.#acknowledge();
    // A connection loses messages only from some point on: then it is gone.
    if (kind === 'lose-message') this.#crash(0);
    if (kind === 'lose-ack') this.#acks.shift();
    if (kind === 'crash') this.#crash(this.#out.length >> 1);
    if (kind === 'timeout') this.#window.rewind();
    this.#fill();
  }

  settle(): void {
    this.#crash(0);
    for (let guard = 0; this.#window.pending > 0 && guard < 10_000; guard++) {
      this.#fill();
      this.#deliver();
      this.#acknowledge();
      if (this.#out.length === 0 && this.#acks.length === 0) this.#window.rewind();
    }
  }

  #fill(): void {
    for (let next = this.#window.take(); next !== null; next = this.#window.take()) this.#out.push(next);
  }

  #deliver(): void {
    const message = this.#out.shift();
    if (message === undefined) return;
    if (!this.#known.has(message.index)) this.stored.push(message.item);
    this.#known.add(message.index);
    this.#acks.push(message);
  }

  #acknowledge(): void {
    const ack = this.#acks.shift();
    if (ack !== undefined && this.#window.acknowledge(ack.index, ack.round) === 'hole') this.#window.rewind();
  }

  #crash(delivered: number): void {
    for (let i = 0; i < delivered; i++) this.#deliver();
    this.#out = [];
    this.#acks = [];
    this.#window.rewind();
  }
}
