// Reads and checks the date-times and dates of requests (RFC 3339; docs/behaviour.md, "Date-times").
import type { Formats, ValidationError } from './validation.ts';

const dateTimePattern =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:[Zz]|([+-])(\d\d):?(\d\d))?$/;

export const dateTimeHint = 'must be a date-time such as 2026-01-31T09:00:00.000Z (in a URL, + is written %2B)';

export interface Instant {
  readonly date: Date;
  /** The digits beyond milliseconds, without zeros at the end. */
  readonly moreDigits: string;
}

export function parseInstant(text: string): Instant | undefined {
  const match = dateTimePattern.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second = '00', fraction = '', sign, offsetHour, offsetMinute] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined;
  if (Number(offsetHour ?? 0) > 23 || Number(offsetMinute ?? 0) > 59) return undefined;
  const local = new Date(`${year}-${month}-${day}T${hour}:${minute}:00.${fraction.slice(0, 3).padEnd(3, '0')}Z`);
  // Date turns 30 February into a day in March.
  if (Number.isNaN(local.getTime()) || local.getUTCDate() !== Number(day)) return undefined;
  const offset = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * (sign === '-' ? -60_000 : 60_000);
  // A leap second, 60, is the first second of the next minute.
  const date = new Date(local.getTime() + Number(second) * 1_000 - offset);
  const yearInUtc = date.getUTCFullYear();
  if (yearInUtc < 1 || yearInUtc > 9999) return undefined;
  return { date, moreDigits: fraction.slice(3).replace(/0+$/, '') };
}

/** Returns undefined for a day or time that does not exist, and for a year in UTC that is not between 1 and 9999. */
export const parseDateTime = (text: string): Date | undefined => parseInstant(text)?.date;

export const isDateTime = (text: string): boolean => parseDateTime(text) !== undefined;

/** The date-time as PostgreSQL reads it and responses show it. Null if it was left out. */
export const isoTimeOf = (text: string | undefined): string | null =>
  (text === undefined ? undefined : parseDateTime(text))?.toISOString() ?? null;

/** A date is undefined if it is missing or invalid. */
export interface Dates {
  readonly start: Date | undefined;
  readonly end: Date | undefined;
  /** Whether the end is before the start, compared with all digits that were sent. */
  readonly isReversed: boolean;
}

export function parseDates({
  startDate,
  endDate,
}: {
  readonly startDate?: string | undefined;
  readonly endDate?: string | undefined;
}): Dates {
  const [start, end] = [startDate, endDate].map((text) => (text ? parseInstant(text) : undefined));
  return {
    start: start?.date,
    end: end?.date,
    isReversed: start !== undefined && end !== undefined && isBefore(end, start),
  };
}

function isBefore(a: Instant, b: Instant): boolean {
  const difference = a.date.getTime() - b.date.getTime();
  return difference === 0 ? a.moreDigits < b.moreDigits : difference < 0;
}

/** A search may have only one of the two dates. */
export function findReversedIntervalErrors({ isReversed }: Dates): readonly ValidationError[] {
  return isReversed ? [{ field: 'endDate', kind: 'invalid', hint: 'must not be before startDate' }] : [];
}

/** `where` says which requests have the limit. */
export function findLengthErrors({ start, end }: Dates, maxDays: number, where = ''): readonly ValidationError[] {
  const lengthMs = start && end ? end.getTime() - start.getTime() : 0;
  const hint = `must be at most ${maxDays} days after startDate${where}`;
  return lengthMs > maxDays * 24 * 3_600_000 ? [{ field: 'endDate', kind: 'invalid', hint }] : [];
}

/** PostgreSQL has no year 0000. */
const date = /^(?!0000)\d{4}-\d\d-\d\d$/;

export const formats: Formats = {
  'date-time': { test: isDateTime, hint: dateTimeHint },
  date: { test: isDate, hint: 'must be a date such as 2026-01-31' },
  'time-zone': { test: isTimeZone, hint: 'must be an IANA time zone such as Europe/Copenhagen' },
  uri: { test: (text) => URL.canParse(text), hint: 'must be an https address' },
};

function isDate(text: string): boolean {
  if (!date.test(text)) return false;
  const parsed = new Date(`${text}T00:00:00.000Z`);
  // Date turns 30 February into a day in March.
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text);
}

/** `minLength` reports an empty name. */
function isTimeZone(name: string): boolean {
  if (name === '') return true;
  // Intl also accepts offsets such as +01:00, which have no daylight saving time, and europe/oslo, which not every
  // program can read.
  if (!/^[A-Z][^/]*(?:\/[A-Z][^/]*)*$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
