// Calculates which bays are free, why and until when the others are not, and which bays and times are free instead.
import type { BookingBay, Closure } from '@bay-booking/client';
import { alwaysOpen, createSchedule, type Schedule } from '../../src/opening-hours/schedule.ts';
import { contains, doOverlap, type Interval, intervalOf, type Period, subtract } from '../../src/time/interval.ts';
import { closesBay, type Occupancy, type SheetBooking } from './day.ts';
import { addDays, type DayTimes, fiveMinutes, halfHour, instantAt, timeOf } from './time.ts';

type Hours = Pick<Occupancy, 'hours' | 'timeZone'>;

const scheduleOf = ({ hours, timeZone }: Hours): Schedule =>
  hours.alwaysOpen ? alwaysOpen : createSchedule(hours, timeZone);

/** Returns the parts of the interval when the location is closed. */
export const closedDuring = (occupancy: Hours, interval: Interval): Interval[] =>
  subtract([interval], scheduleOf(occupancy).openDuring(interval));

export interface BayStatus {
  readonly bay: BookingBay;
  readonly kind: 'free' | 'booked' | 'closed' | 'not bookable';
  /** When a free bay stops being free, or another bay is free again. Undefined if the day does not say when. */
  readonly until?: number | undefined;
  /** What is in the way. Closed hours are not a closure. */
  readonly booking?: SheetBooking | undefined;
  readonly closure?: Closure | undefined;
  /** The first booking afterwards. */
  readonly next?: SheetBooking | undefined;
}

const weekMs = 7 * 86_400_000;

const inTimeOrder = <Entry extends Period>(entries: Iterable<Entry>) =>
  [...entries].map((entry) => ({ ...intervalOf(entry), entry })).sort((a, b) => a.start - b.start);

/** Returns the end of the intervals that follow `first` without a gap. `sorted` are in order of time. */
function endFrom(first: Interval, sorted: readonly Interval[]): number {
  let { end } = first;
  for (const other of sorted) if (other.start >= first.start && other.start <= end) end = Math.max(end, other.end);
  return end;
}

/** Returns the status of each bay, in order. `except` are the ids of bookings that are not in the way. */
export function statusesAt(occupancy: Occupancy, interval: Interval, except: readonly string[] = []): BayStatus[] {
  const ahead = { start: interval.start, end: interval.end + weekMs };
  const closedHours = closedDuring(occupancy, ahead);
  const counted = occupancy.bookings.values().filter(({ id }) => !except.includes(id));
  const bookings = Map.groupBy(inTimeOrder(counted), ({ entry }) => entry.bayId);
  const closures = inTimeOrder(occupancy.closures);
  return occupancy.bays.map((bay): BayStatus => {
    const booked = bookings.get(bay.id) ?? [];
    const closed = [...closures.filter(({ entry }) => closesBay(entry, bay.id)), ...closedHours];
    closed.sort((a, b) => a.start - b.start);
    const booking = booked.find((one) => doOverlap(one, interval));
    const closure = closed.find((one) => doOverlap(one, interval));
    const next = booked.find(({ start }) => start >= (booking?.end ?? interval.end));
    const common = { bay, booking: booking?.entry, next: next?.entry };
    if (!bay.bookable) return { ...common, kind: 'not bookable' };
    if (booking) return { ...common, kind: 'booked', until: endFrom(booking, booked) };
    if (closure) {
      const end = endFrom(closure, closed);
      const entry = 'entry' in closure ? (closure.entry as Closure) : undefined;
      return { ...common, kind: 'closed', until: end < ahead.end ? end : undefined, closure: entry };
    }
    const starts = [...booked, ...closed].map(({ start }) => start).filter((start) => start >= interval.end);
    const until = Math.min(...starts);
    // The bookings after its end are not known.
    return { ...common, kind: 'free', until: until < occupancy.end ? until : undefined };
  });
}

/** Returns a text such as `booked until 19:00`. */
export const describeStatus = ({ kind, until }: BayStatus, day: DayTimes): string =>
  until === undefined || kind === 'free' ? kind : `${kind} until ${timeOf(new Date(until).toISOString(), day)}`;

export const firstFreeBay = (occupancy: Occupancy, interval: Interval): BookingBay | undefined =>
  statusesAt(occupancy, interval).find(({ kind }) => kind === 'free')?.bay;

/** The times when a bay is free. Held times are not free. */
export interface BayGaps {
  readonly bayId: string;
  readonly free: readonly Interval[];
}

export interface TimeChoice extends Interval {
  readonly bayIds: readonly string[];
}

/** A bay and a time. */
export interface Wanted extends Interval {
  readonly bayId: string;
}

/**
 * Returns what is free instead: the nearest bay at the same time, and the nearest time on the same bay, which does not
 * begin before `now`.
 */
export function nearestFree(
  gaps: readonly BayGaps[],
  { bayId, start, end }: Wanted,
  now: number,
): { readonly bay?: Wanted; readonly time?: Wanted } {
  const own = gaps.findIndex((one) => one.bayId === bayId);
  const nearest = <Item>(items: readonly Item[], distanceOf: (item: Item) => number): Item | undefined =>
    items.toSorted((a, b) => distanceOf(a) - distanceOf(b))[0];
  const others = gaps.keys().filter((index) => gaps[index]?.free.some((gap) => contains(gap, { start, end })));
  const other = nearest([...others], (index) => Math.abs(index - own));
  const length = end - start;
  const starts = (gaps[own]?.free ?? [])
    .map((gap) => ({ first: Math.max(gap.start, now), last: gap.end - length }))
    .filter(({ first, last }) => first <= last)
    .map(({ first, last }) => Math.min(Math.max(start, first), last));
  const moved = nearest(starts, (at) => Math.abs(at - start));
  return {
    ...(other !== undefined && { bay: { bayId: gaps[other]?.bayId ?? bayId, start, end } }),
    ...(moved !== undefined && { time: { bayId, start: moved, end: moved + length } }),
  };
}

export interface TimeWish {
  /** How many bays. */
  readonly bays: number;
  /** Whether the bays are next to each other. */
  readonly together: boolean;
  readonly minutes: number;
  /** `YYYY-MM-DD` */
  readonly dates: readonly string[];
  /** `HH:MM`, between which the time lies. If `to` is not after `from`, it is a time on the next day. */
  readonly from: string;
  readonly to: string;
}

/**
 * Returns what bookings can have instead, if some of their bays are `refused`: other bays at the same time, and the
 * same bays at another time. `gaps` do not begin before `now`.
 */
export function offersFor(
  gaps: readonly BayGaps[],
  { bayIds, start, end }: TimeChoice,
  refused: readonly string[],
  now: number,
): TimeChoice[] {
  const freeOf = (bayId?: string) => gaps.find((one) => one.bayId === bayId)?.free ?? [];
  const offers: TimeChoice[] = [];
  let chosen = bayIds;
  for (const bayId of refused) {
    const others = gaps.map((one) => (chosen.includes(one.bayId) ? { ...one, free: [] } : one));
    const { bay } = nearestFree(others, { bayId, start: Math.max(start, now), end }, now);
    chosen = chosen.flatMap((id) => (id === bayId ? (bay?.bayId ?? []) : id));
  }
  if (chosen.length === bayIds.length) offers.push({ bayIds: chosen, start, end });
  const [first = '', ...rest] = bayIds;
  const common = rest.reduce((free, bayId) => subtract(free, subtract(free, freeOf(bayId))), freeOf(first));
  const soon = Math.ceil(now / fiveMinutes) * fiveMinutes;
  const { time } = nearestFree([{ bayId: first, free: common }], { bayId: first, start, end }, soon);
  if (time) offers.push({ bayIds, start: time.start, end: time.end });
  return offers;
}

/** Finds the times of a wish, one for each half hour, `limit` at most. `gaps` has the bays in natural order. */
export function findTimes(
  gaps: readonly BayGaps[],
  { bays, together, minutes, dates, from, to }: TimeWish,
  { timeZone, now, limit = 50 }: { readonly timeZone: string; readonly now: number; readonly limit?: number },
): TimeChoice[] {
  const choices: TimeChoice[] = [];
  for (const date of dates) {
    const [first, last] = [
      instantAt({ local: `${date}T${from}`, occurrence: 0 }, timeZone),
      instantAt({ local: `${to > from ? date : addDays(date, 1)}T${to}`, occurrence: 1 }, timeZone),
    ];
    for (let start = first; start + minutes * 60_000 <= last; start += halfHour) {
      if (start < now) continue;
      const interval = { start, end: start + minutes * 60_000 };
      const free = gaps.map((bay) => bay.free.some((gap) => contains(gap, interval)));
      const chosen = together ? firstRun(free, bays) : [...free.keys()].filter((index) => free[index]).slice(0, bays);
      if (chosen.length < bays) continue;
      choices.push({ ...interval, bayIds: chosen.map((index) => gaps[index]?.bayId ?? '') });
      if (choices.length === limit) return choices;
    }
  }
  return choices;
}

/** Returns the positions of the first `length` bays next to each other that are free, or nothing. */
function firstRun(free: readonly boolean[], length: number): number[] {
  const starts = free.keys().filter((start) => free.slice(start, start + length).every(Boolean));
  const start = starts.find((index) => index + length <= free.length);
  return start === undefined ? [] : Array.from({ length }, (_, offset) => start + offset);
}
