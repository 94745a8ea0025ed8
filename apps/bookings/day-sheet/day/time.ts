// Converts between instants and the wall clock of the facility, also on days when the clocks change.
import { Temporal } from 'temporal-polyfill';

export const halfHour = 1_800_000;

/** A day of a time zone: `end` is 23, 24 or 25 hours after `start`. */
export interface DayTimes {
  /** `YYYY-MM-DD` */
  readonly date: string;
  readonly timeZone: string;
  readonly start: number;
  readonly end: number;
}

export function dayOf(date: string, timeZone: string): DayTimes {
  const plainDate = Temporal.PlainDate.from(date);
  const startOf = (day: Temporal.PlainDate) => day.toZonedDateTime(timeZone).epochMilliseconds;
  return { date, timeZone, start: startOf(plainDate), end: startOf(plainDate.add({ days: 1 })) };
}

/** Returns undefined if the text is not a date. */
export function readDate(text: string | null): string | undefined {
  try {
    return text ? Temporal.PlainDate.from(text).toString() : undefined;
  } catch {
    return undefined;
  }
}

export const dateAt = (instant: number, timeZone: string): string => localAt(instant, timeZone).slice(0, 10);
export const addDays = (date: string, days: number): string => Temporal.PlainDate.from(date).add({ days }).toString();

/** Returns the wall-clock time as an `<input type=datetime-local>` has it: `YYYY-MM-DDTHH:MM`. */
export const localAt = (instant: number, timeZone: string): string =>
  Temporal.Instant.fromEpochMilliseconds(instant)
    .toZonedDateTimeISO(timeZone)
    .toPlainDateTime()
    .toString()
    .slice(0, 16);

/** A time that occurs twice is the first one. A time that the clocks skip is the same time after the gap. */
export const instantOf = (local: string, timeZone: string): string =>
  new Date(Temporal.PlainDateTime.from(local).toZonedDateTime(timeZone).epochMilliseconds).toISOString();

const formats = new Map<string, Intl.DateTimeFormat>();

function format(instant: number | string, timeZone: string, options: Intl.DateTimeFormatOptions): string {
  const key = timeZone + JSON.stringify(options);
  const formatter = formats.get(key) ?? new Intl.DateTimeFormat('en-GB', { timeZone, ...options });
  formats.set(key, formatter);
  return formatter.format(new Date(instant));
}

export const clockAt = (instant: number | string, timeZone: string): string =>
  format(instant, timeZone, { hour: '2-digit', minute: '2-digit' });
/** Returns a text such as `Tue 1 Dec 2026`. */
export const shortDateAt = (instant: number | string, timeZone: string): string =>
  format(instant, timeZone, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' }).replace(',', '');
export const longDate = ({ start, timeZone }: DayTimes): string =>
  format(start, timeZone, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });

/** The start and end of a row, with the abbreviation of the zone if the day has a time twice or not at all. */
export function rowsOf({ start, end, timeZone }: DayTimes): readonly { readonly at: number; readonly label: string }[] {
  const hasChange = end - start !== 48 * halfHour;
  return Array.from({ length: Math.ceil((end - start) / halfHour) }, (_, row) => {
    const at = start + row * halfHour;
    const zone = format(at, timeZone, { timeZoneName: 'short', hour: '2-digit' }).split(' ').at(-1);
    return { at, label: hasChange ? `${clockAt(at, timeZone)} ${zone}` : clockAt(at, timeZone) };
  });
}
