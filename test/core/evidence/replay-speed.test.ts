import { describe, expect, it } from 'vitest';
import { replaySpeed } from '../../../src/core/evidence/replay-speed.ts';
import type { Trace } from '../../../src/core/evidence/trace.ts';

const trace = (lastMs: number, promptTokens: number, outputTokens: number): Trace => {
  const request = { atMs: 0, session: null, parent: null, promptTokens, outputTokens, blockIds: [] };
  return { format: 'mooncake', name: 't', blockTokens: 64, requests: [request, { ...request, atMs: lastMs }] };
};

describe('the speed of a replay that names none', () => {
  it('makes a light trace a minute long', () => {
    expect(replaySpeed(trace(600_000, 1_000, 10), 1_024)).toBe(10);
  });

  it('is less where prompts or answers are more than a machine carries in a minute', () => {
    expect(replaySpeed(trace(600_000, 9_000_000, 10), 1_024)).toBe(5);
    expect(replaySpeed(trace(600_000, 1_000, 180_000), 1_000_000)).toBe(5);
  });

  it('counts answers only as far as they are asked for', () => {
    expect(replaySpeed(trace(600_000, 1_000, 180_000), 100)).toBe(10);
  });

  it('never slows a trace down', () => {
    expect(replaySpeed(trace(5_000, 9_000_000, 10), 1_024)).toBe(1);
  });
});
