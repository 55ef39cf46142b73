import { describe, expect, it } from 'vitest';
import { max, mean, quantile } from '../../../src/core/evidence/quantiles.ts';

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => count - at);

describe('quantile', () => {
  it('is the measured value at the nearest rank', () => {
    const hundred = upTo(100);
    expect([0, 0.01, 0.5, 0.95, 0.99, 1].map((q) => quantile(hundred, q))).toEqual([1, 1, 50, 95, 99, 100]);
    expect([0.5, 0.95].map((q) => quantile([30, 10], q))).toEqual([10, 30]);
    expect(quantile([7], 0.5)).toBe(7);
  });

  it('is not pushed a rank up by rounding', () => {
    for (let percent = 1; percent <= 100; percent++) expect(quantile(upTo(100), percent / 100)).toBe(percent);
  });

  it('leaves the list as it was', () => {
    const values = Object.freeze([3, 1, 2]);
    expect(quantile(values, 1)).toBe(3);
    expect(values).toEqual([3, 1, 2]);
  });
});

describe('figures of a list', () => {
  it('are its mean and its largest, of lists longer than a call may have arguments too', () => {
    expect([mean([1, 2, 6]), max([1, 6, 2])]).toEqual([3, 6]);
    expect(max(upTo(300_000))).toBe(300_000);
  });

  it('are not a number where nothing was measured', () => {
    expect([mean([]), max([]), quantile([], 0.5)]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
  });
});
