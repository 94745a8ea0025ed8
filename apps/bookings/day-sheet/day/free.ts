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
  readonly kind: 'free' | 'booked' | 'closed' | 'held' | 'not bookable';
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

/** Marks the bays that only a hold keeps from being free: the sheet has no holds, but `gaps` leave their times out. */
export const withHolds = (statuses: readonly BayStatus[], gaps: readonly BayGaps[], interval: Interval): BayStatus[] =>
  statuses.map((status) => {
    const free = gaps.find(({ bayId }) => bayId === status.bay.id)?.free;
    const isHeld = status.kind === 'free' && free && !free.some((gap) => contains(gap, interval));
    return isHeld ? { ...status, kind: 'held', until: undefined } : status;
  });

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

/** Returns the nearest bay that is free, apart from those in `taken`. */
function nearestBay(gaps: readonly BayGaps[], bayId: string, taken: readonly string[], interval: Interval) {
  const own = gaps.findIndex((one) => one.bayId === bayId);
  return gaps
    .map((one, index) => ({ ...one, distance: Math.abs(index - own) }))
    .filter((one) => !taken.includes(one.bayId) && one.free.some((gap) => contains(gap, interval)))
    .toSorted((a, b) => a.distance - b.distance)[0]?.bayId;
}

/** Returns the start nearest to that of the interval for which a gap has room. It is not before `now`. */
function nearestStart(free: readonly Interval[], { start, end }: Interval, now: number): number | undefined {
  return free
    .map((gap) => ({ first: Math.max(gap.start, now), last: gap.end - (end - start) }))
    .filter(({ first, last }) => first <= last)
    .map(({ first, last }) => Math.min(Math.max(start, first), last))
    .toSorted((a, b) => Math.abs(a - start) - Math.abs(b - start))[0];
}

/**
 * Returns what bookings can have instead, if some of their bays are `rejected`: other bays at the same time, and the
 * same bays at another time, not before `now`.
 */
export function offersFor(
  gaps: readonly BayGaps[],
  { bayIds, start, end }: TimeChoice,
  rejected: readonly string[],
  now: number,
): TimeChoice[] {
  let chosen = bayIds;
  for (const bayId of rejected) {
    const other = nearestBay(gaps, bayId, chosen, { start, end });
    chosen = chosen.flatMap((id) => (id === bayId ? (other ?? []) : id));
  }
  const free = bayIds.map((bayId) => gaps.find((one) => one.bayId === bayId)?.free ?? []);
  const common = free.reduce((shared, other) => subtract(shared, subtract(shared, other)));
  const moved = nearestStart(common, { start, end }, Math.ceil(now / fiveMinutes) * fiveMinutes);
  return [
    ...(chosen.length === bayIds.length ? [{ bayIds: chosen, start, end }] : []),
    ...(moved === undefined ? [] : [{ bayIds, start: moved, end: moved + end - start }]),
  ];
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
