// Counts bookings and booked, open and cancelled time by the keys of a division.
import type { Schedule } from '../opening-hours/schedule.ts';
import type { Interval } from '../time/interval.ts';
import { type Division, divide, keysOf, type Part, type ScheduledPart, schedule } from './timeline.ts';

export interface UsedBay {
  readonly id: string;
  readonly schedule: Schedule;
  /** When the bay was removed, in milliseconds since 1970. Undefined if it exists. */
  readonly removedAt: number | undefined;
}

/** What was booked in a bay, or by a client. Times are in milliseconds since 1970. */
export interface UsedRow {
  /** The client is null if the log of changes does not know it any more. */
  readonly key: string | null;
  readonly starts: readonly number[];
  /** In the same order. */
  readonly ends: readonly number[];
  /** When these bookings began, or would have begun. */
  readonly noShows: readonly number[];
  readonly cancellations: readonly number[];
}

export interface UsageItem {
  readonly key: string | null;
  readonly bookings: number;
  readonly bookedMinutes: number;
  readonly openMinutes: number | null;
  readonly occupancy: number | null;
  readonly cancelled: number;
  readonly noShows: number;
}

interface Usage {
  readonly by: Division;
  readonly interval: Interval;
  readonly timeZone: string;
  /** The bays in the order of their items. */
  readonly bays: readonly UsedBay[];
  readonly rows: readonly UsedRow[];
}

interface Sums {
  bookings: number;
  bookedMs: number;
  bookedOpenMs: number;
  openMs: number;
  cancelled: number;
  noShows: number;
}

export function countUsage({ by, interval, timeZone, bays, rows }: Usage): readonly UsageItem[] {
  const parts = divide(by, interval, timeZone);
  const found = new Map<string | null, Sums>(keysOf(by, parts).map((key) => [key, noUsage()]));
  const sumsOf = (key: string | null): Sums => {
    const sums = found.get(key) ?? noUsage();
    found.set(key, sums);
    return sums;
  };
  // Most bays share a schedule.
  const timelines = new Map<Schedule, readonly ScheduledPart[]>();
  const timelineOf = (bay: UsedBay | undefined): readonly ScheduledPart[] => {
    if (!bay || by === 'client') return parts.map((part) => ({ ...part, isOpen: false }));
    const timeline = timelines.get(bay.schedule) ?? schedule(parts, bay.schedule.openDuring(interval));
    timelines.set(bay.schedule, timeline);
    return timeline;
  };

  for (const bay of by === 'client' ? [] : bays) {
    const { removedAt = Number.POSITIVE_INFINITY } = bay;
    if (by === 'bay' && removedAt > interval.start) sumsOf(bay.id);
    for (const { start, end, key = bay.id, isOpen } of timelineOf(bay))
      if (isOpen && start < removedAt) sumsOf(key).openMs += Math.min(end, removedAt) - start;
  }
  const bayOf = new Map(bays.map((bay) => [bay.id, bay]));
  for (const { key: ownKey, starts, ends, noShows, cancellations } of rows) {
    const timeline = timelineOf(bayOf.get(ownKey ?? ''));
    const count = (name: 'bookings' | 'noShows' | 'cancelled', instants: readonly number[]): void => {
      for (const instant of instants) {
        const part = timeline[indexOf(timeline, instant)];
        if (part && part.start <= instant) sumsOf(part.key ?? ownKey)[name] += 1;
      }
    };
    count('bookings', starts);
    count('noShows', noShows);
    count('cancelled', cancellations);
    starts.forEach((start, position) => {
      const end = ends[position] as number;
      for (let index = indexOf(timeline, start); index < timeline.length; index += 1) {
        const part = timeline[index] as ScheduledPart;
        if (part.start >= end) break;
        const ms = Math.min(end, part.end) - Math.max(start, part.start);
        const sums = sumsOf(part.key ?? ownKey);
        sums.bookedMs += ms;
        if (part.isOpen) sums.bookedOpenMs += ms;
      }
    });
  }
  return [...found].map(([key, sums]) => itemOf(key, sums, by));
}

const noUsage = (): Sums => ({ bookings: 0, bookedMs: 0, bookedOpenMs: 0, openMs: 0, cancelled: 0, noShows: 0 });

/** The first part that ends after the instant. */
function indexOf(parts: readonly Part[], instant: number): number {
  let [low, high] = [0, parts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((parts[middle] as Part).end > instant) high = middle;
    else low = middle + 1;
  }
  return low;
}

const minuteMs = 60_000;
const minutesOf = (ms: number): number => round(ms / minuteMs, 2);
const round = (value: number, digits: number): number => Math.round(value * 10 ** digits) / 10 ** digits;

function itemOf(key: string | null, sums: Sums, by: Division): UsageItem {
  const { bookings, bookedMs, bookedOpenMs, openMs, cancelled, noShows } = sums;
  return {
    key,
    bookings,
    bookedMinutes: minutesOf(bookedMs),
    openMinutes: by === 'client' ? null : minutesOf(openMs),
    occupancy: openMs === 0 ? null : round(bookedOpenMs / openMs, 4),
    cancelled,
    noShows,
  };
}
