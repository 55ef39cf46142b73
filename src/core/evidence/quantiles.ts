/*
 * Figures of a list of numbers, in any order; the list is not changed. Of an empty list there is none: NaN, which
 * JSON writes as null, so that "nothing measured" never reads as zero.
 */

export const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Not by spreading: a trace has more requests than a call may have arguments. */
export const max = (values: readonly number[]): number =>
  values.length === 0 ? Number.NaN : values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);

/** The value at rank `ceil(q * n)` of the sorted list (nearest rank): always one that was measured. `q` from 0 to 1. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  // 0.07 * 100 is 7.000000000000001: without the small step back its rank would be 8.
  const rank = Math.max(1, Math.ceil(q * sorted.length - 1e-9));
  return sorted[rank - 1] ?? Number.NaN;
}
