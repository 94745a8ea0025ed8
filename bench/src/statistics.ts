// Computes the median, percentiles and the spread of measured values. The median and percentiles of an empty list are
// NaN.

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Returns the value below which this share of the values lies. `share` is from 0 to 1. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** The median, the smallest and the largest value. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/**
 * Formats a number with three significant digits, but with at most three decimals. All digits before the decimal point
 * are shown, also if there are more than three.
 */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  // For a number from 1 to 9.99, floor(log10) is 0, so it has two decimals. A number that is ten times larger has one
  // decimal less.
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(decimals, 3));
}

/** Formats the median, followed by the smallest and the largest value. */
export function formatSpread({ median: middle, min, max }: Spread): string {
  return Number.isFinite(middle) ? `${formatNumber(middle)} (${formatNumber(min)}–${formatNumber(max)})` : '–';
}
