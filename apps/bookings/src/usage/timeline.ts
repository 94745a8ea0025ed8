// Divides an interval by days, weekdays or hours of a time zone, and each of these parts by opening hours.
import { Temporal } from 'temporal-polyfill';
import { type Weekday, weekdays } from '../opening-hours/hours.ts';
import type { Interval } from '../time/interval.ts';
import { instantOf } from '../time/wall-clock.ts';

export const divisions = ['day', 'weekday', 'hour', 'bay', 'client'] as const;
export type Division = (typeof divisions)[number];

/** A part of the interval, with the key of the item that counts it. Bays and clients have keys of their own. */
export interface Part extends Interval {
  readonly key: string | undefined;
}

export interface ScheduledPart extends Part {
  readonly isOpen: boolean;
}

const hoursOfDay = Array.from({ length: 24 }, (_, hour) => hour);
const dayMs = 24 * 3_600_000;

/** The keys that are items even if nothing has them. */
export function keysOf(by: Division, parts: readonly Part[]): readonly string[] {
  if (by === 'weekday') return weekdays;
  if (by === 'hour') return hoursOfDay.map(String);
  return by === 'day' ? parts.flatMap(({ key }) => key ?? []) : [];
}

/** The parts are in order and without gaps. */
export function divide(by: Division, interval: Interval, timeZone: string): readonly Part[] {
  if (by === 'bay' || by === 'client') return clip([{ ...interval, key: undefined }], interval);
  const parts: Part[] = [];
  let date = Temporal.Instant.fromEpochMilliseconds(interval.start).toZonedDateTimeISO(timeZone).toPlainDate();
  let start = startOf(date, timeZone);
  while (start < interval.end) {
    const next = date.add({ days: 1 });
    const end = startOf(next, timeZone);
    if (by === 'hour') parts.push(...hoursOf(date, { start, end }, timeZone));
    else parts.push({ start, end, key: by === 'day' ? date.toString() : (weekdays[date.dayOfWeek - 1] as Weekday) });
    date = next;
    start = end;
  }
  return clip(parts, interval);
}

const startOf = (date: Temporal.PlainDate, timeZone: string, hour = 0): number =>
  instantOf(date.toPlainDateTime({ hour }), timeZone, 'earlier');

/** An hour that occurs twice is one part of two hours. A skipped hour is empty. */
function hoursOf(date: Temporal.PlainDate, day: Interval, timeZone: string): readonly Part[] {
  // On other days, the clocks change. Time zones are slow to look up.
  const isRegular = day.end - day.start === dayMs;
  const starts = hoursOfDay.map((hour) =>
    isRegular ? day.start + (hour * dayMs) / 24 : startOf(date, timeZone, hour),
  );
  return starts.map((start, hour) => ({ start, end: starts[hour + 1] ?? day.end, key: String(hour) }));
}

const clip = (parts: readonly Part[], { start, end }: Interval): readonly Part[] =>
  parts
    .map((part) => ({ ...part, start: Math.max(part.start, start), end: Math.min(part.end, end) }))
    .filter((part) => part.start < part.end);

/** Divides the parts further, so that the place is open or closed during each of the results. */
export function schedule(parts: readonly Part[], openings: readonly Interval[]): readonly ScheduledPart[] {
  const result: ScheduledPart[] = [];
  let next = 0;
  for (const { start, end, key } of parts) {
    let from = start;
    for (let opening = openings[next]; opening && opening.start < end; opening = openings[++next]) {
      const [opens, closes] = [Math.max(opening.start, from), Math.min(opening.end, end)];
      if (from < opens) result.push({ start: from, end: opens, key, isOpen: false });
      if (opens < closes) result.push({ start: opens, end: closes, key, isOpen: true });
      from = Math.max(from, closes);
      // The opening lasts into the next part.
      if (opening.end > end) break;
    }
    if (from < end) result.push({ start: from, end, key, isOpen: false });
  }
  return result;
}
