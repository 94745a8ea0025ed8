// Converts between instants and the wall clock of the facility, also on days when the clocks change. Every time that
// somebody types or sees goes through this file.
import { Temporal } from 'temporal-polyfill';
import type { Interval } from '../../src/time/interval.ts';
import { instantOf } from '../../src/time/wall-clock.ts';

export const halfHour = 1_800_000;
export const fiveMinutes = 300_000;

/** A day of a time zone. It lasts 24 hours, unless the clocks change. */
export interface DayTimes {
  /** `YYYY-MM-DD` */
  readonly date: string;
  readonly timeZone: string;
  readonly start: number;
  readonly end: number;
}

/** A wall-clock time. If the time occurs twice, `occurrence` selects one. */
export interface WallTime {
  /** `YYYY-MM-DDTHH:MM`, with seconds if they are not 0. */
  readonly local: string;
  readonly occurrence: number;
}

export function dayOf(date: string, timeZone: string): DayTimes {
  const plainDate = Temporal.PlainDate.from(date);
  const startOf = (day: Temporal.PlainDate) => day.toZonedDateTime(timeZone).epochMilliseconds;
  return { date, timeZone, start: startOf(plainDate), end: startOf(plainDate.add({ days: 1 })) };
}

/** The first date that the page shows. */
export const firstDate = '2000-01-01';

/** Returns undefined if the text is not a date that the page shows. */
export function readDate(text: string | null): string | undefined {
  try {
    const isInRange = text && /^\d{4}-/.test(text) && text >= firstDate && text < '9999';
    return isInRange ? Temporal.PlainDate.from(text).toString() : undefined;
  } catch {
    return undefined;
  }
}

const zonedAt = (instant: number, timeZone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone);
const plainAt = (instant: number, timeZone: string): Temporal.PlainDateTime =>
  zonedAt(instant, timeZone).toPlainDateTime();

/** Two instants if the time occurs twice. If the clocks skip the time, the first instant after the gap. */
const occurrencesOf = (local: Temporal.PlainDateTime, timeZone: string): number[] => [
  ...new Set([instantOf(local, timeZone, 'earlier'), instantOf(local, timeZone, 'later')]),
];

function selectOccurrence(local: Temporal.PlainDateTime, timeZone: string, occurrence: number): number {
  const instants = occurrencesOf(local, timeZone);
  return instants[Math.min(Math.max(occurrence, 0), instants.length - 1)] as number;
}

const occurrenceAt = (instant: number, timeZone: string): number =>
  Math.max(occurrencesOf(plainAt(instant, timeZone), timeZone).indexOf(instant), 0);

export const dateAt = (instant: number, timeZone: string): string => localAt(instant, timeZone).slice(0, 10);
export const addDays = (date: string, days: number): string => Temporal.PlainDate.from(date).add({ days }).toString();

/** Returns the wall-clock time as an `<input type=datetime-local>` has it: `YYYY-MM-DDTHH:MM`. */
export const localAt = (instant: number, timeZone: string): string =>
  plainAt(instant, timeZone).toString().slice(0, 16);

export const wallTimeAt = (instant: number, timeZone: string): WallTime => ({
  local: plainAt(instant, timeZone).toString(),
  occurrence: occurrenceAt(instant, timeZone),
});

/** @throws {RangeError} if the text is not a wall-clock time */
export const instantAt = ({ local, occurrence }: WallTime, timeZone: string, weeksLater = 0): number =>
  selectOccurrence(Temporal.PlainDateTime.from(local).add({ weeks: weeksLater }), timeZone, occurrence);

/** Returns the texts of all instants that a typed time can mean. */
export const meaningsOf = (local: string, timeZone: string): readonly string[] =>
  occurrencesOf(Temporal.PlainDateTime.from(local), timeZone).map((instant) => clockAt(instant, timeZone));

/** Moves an instant as far on the wall clock as `from` is from `to`. */
export function moveLike(instant: number, from: number, to: number, timeZone: string): number {
  const distance = plainAt(from, timeZone).until(plainAt(to, timeZone), { largestUnit: 'hours' });
  // Bookings that move within an hour that occurs twice move to the same occurrence.
  const occurrence = occurrenceAt(instant, timeZone) + occurrenceAt(to, timeZone) - occurrenceAt(from, timeZone);
  return selectOccurrence(plainAt(instant, timeZone).add(distance), timeZone, occurrence);
}

/** The times of a booking that a drag moves, or whose end it moves. The drag shortens no booking below half an hour. */
export const dragTimes = ({ start, end }: Interval, distance: number, movesEnd: boolean): Interval => ({
  start: movesEnd ? start : start + distance,
  end: movesEnd ? Math.max(end + distance, Math.min(end, start + halfHour)) : end + distance,
});

/** The next full half hour on the wall clock; on a later day 12:00. */
export function proposedStart({ date, start, timeZone }: DayTimes, now: number): number {
  if (now < start) return instantAt({ local: `${date}T12:00`, occurrence: 0 }, timeZone);
  const { minute, second, millisecond } = zonedAt(now, timeZone);
  const since = ((minute % 30) * 60 + second) * 1_000 + millisecond;
  return since === 0 ? now : now - since + halfHour;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function format(instant: number | string, timeZone: string, options: Intl.DateTimeFormatOptions): string {
  const key = timeZone + JSON.stringify(options);
  const formatter = formats.get(key) ?? new Intl.DateTimeFormat('en-GB', { timeZone, ...options });
  formats.set(key, formatter);
  return formatter.format(new Date(instant));
}

/** A big day has thousands of bookings, but few times. */
const clocks = new Map<string, string>();
const maxClocks = 5_000;

/** Returns a text such as `02:30`, or `02:30 CEST` if the time occurs twice. */
export function clockAt(instant: number | string, timeZone: string): string {
  const at = new Date(instant).getTime();
  const key = `${at} ${timeZone}`;
  const known = clocks.get(key);
  if (known !== undefined) return known;
  const clock = format(at, timeZone, { hour: '2-digit', minute: '2-digit' });
  const occursTwice = occurrencesOf(plainAt(at, timeZone), timeZone).length > 1;
  const zone = occursTwice && format(at, timeZone, { timeZoneName: 'short', hour: '2-digit' }).split(' ').at(-1);
  const text = zone ? `${clock} ${zone}` : clock;
  if (clocks.size >= maxClocks) clocks.clear();
  clocks.set(key, text);
  return text;
}

/** Returns a text such as `Tue 1 Dec 2026`. */
export const shortDateAt = (instant: number | string, timeZone: string): string =>
  format(instant, timeZone, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' }).replace(',', '');
export const longDate = ({ start, timeZone }: DayTimes): string =>
  format(start, timeZone, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });

/** Returns `18:00–19:00`, with dates if the times are not within the day. */
export function rangeOf(times: { readonly startDate: string; readonly endDate: string }, day: DayTimes): string {
  const { timeZone } = day;
  const [start, end] = [Date.parse(times.startDate), Date.parse(times.endDate)];
  const [from, to] = [clockAt(start, timeZone), clockAt(end, timeZone)];
  // Formatting the dates of thousands of bookings too would take half of the time of drawing.
  if (start >= day.start && end <= day.end) return `${from}–${to}`;
  const [first, last] = [shortDateAt(start, timeZone), shortDateAt(end, timeZone)];
  return first === last ? `${first} ${from}–${to}` : `${first} ${from}–${last} ${to}`;
}

/** Returns `18:00`, with the date if the time is not within the day. */
export function timeOf(time: string, day: DayTimes): string {
  const isOfDay = Date.parse(time) >= day.start && Date.parse(time) <= day.end;
  const clock = clockAt(time, day.timeZone);
  return isOfDay ? clock : `${shortDateAt(time, day.timeZone)} ${clock}`;
}
