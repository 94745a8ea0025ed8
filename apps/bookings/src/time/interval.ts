// Defines intervals of time and operations on them.

/** In milliseconds since 1970. The end is excluded, unless it equals the start: an instant includes this moment. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** The start and end of an interval as strings. */
export interface Period {
  readonly startDate: string;
  readonly endDate: string;
}

export function intervalOf({ startDate, endDate }: Period): Interval {
  return { start: Date.parse(startDate), end: Date.parse(endDate) };
}

export function timesOf({ start, end }: Interval): Period {
  return { startDate: new Date(start).toISOString(), endDate: new Date(end).toISOString() };
}

export const isInstant = ({ start, end }: Interval): boolean => start === end;

export const doOverlap = (a: Interval, b: Interval): boolean => includesStartOf(a, b) || includesStartOf(b, a);

export function contains(outer: Interval, inner: Interval): boolean {
  return includesStartOf(outer, inner) && inner.end <= outer.end;
}

function includesStartOf(interval: Interval, { start }: Interval): boolean {
  return interval.start <= start && (start < interval.end || (isInstant(interval) && start === interval.start));
}

export function join(intervals: readonly Interval[]): Interval[] {
  const joined: { start: number; end: number }[] = [];
  for (const { start, end } of intervals.toSorted((a, b) => a.start - b.start)) {
    const last = joined.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else joined.push({ start, end });
  }
  return joined;
}

/**
 * Returns the parts of `intervals` that belong to none of `others`. `intervals` are in order and do not overlap. After
 * an instant, a part begins 1 ms later.
 */
export function subtract(intervals: readonly Interval[], others: readonly Interval[]): Interval[] {
  const sorted = others.toSorted((a, b) => a.start - b.start);
  const parts: Interval[] = [];
  let next = 0;
  let free = Number.NEGATIVE_INFINITY;
  for (const interval of intervals) {
    let start = Math.max(interval.start, free);
    for (let other = sorted[next]; other && other.start < interval.end; other = sorted[++next]) {
      if (other.start > start) parts.push({ start, end: other.start });
      free = Math.max(free, isInstant(other) ? other.end + 1 : other.end);
      start = Math.max(start, free);
    }
    if (start < interval.end) parts.push({ start, end: interval.end });
  }
  return parts;
}
