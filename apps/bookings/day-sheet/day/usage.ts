// Calculates what the page about usage shows: the dates of a week or a month, sums, and rows with the period before.
import type { BookingBay, BookingUsageItem, FacilityPeople } from '@bay-booking/client';
import { Temporal } from 'temporal-polyfill';
import { describeActor } from './people.ts';

export type UsageUnit = 'week' | 'month';
/** What each row counts, with its word on the page. */
export const usageDivisions = { day: 'Day', weekday: 'Weekday', hour: 'Hour', bay: 'Bay', client: 'Program' } as const;
export type UsageDivision = keyof typeof usageDivisions;

/** What the page shows, with the names that these parameters have in its URL. */
export interface UsageChoice {
  readonly usage: UsageUnit;
  readonly by: UsageDivision;
}

export function readUsageChoice(query: URLSearchParams): UsageChoice | undefined {
  const [usage, by] = [query.get('usage'), query.get('by') ?? ''];
  if (usage === null) return undefined;
  return {
    usage: usage === 'month' ? usage : 'week',
    by: Object.hasOwn(usageDivisions, by) ? (by as UsageDivision) : 'day',
  };
}

/** Dates, `YYYY-MM-DD`. The last one is excluded. */
export interface UsageDates {
  readonly from: string;
  readonly to: string;
}

/** Returns the week, which begins on Monday, or the month of a date, or the one that is `offset` later. */
export function usageDates(unit: UsageUnit, date: string, offset = 0): UsageDates {
  const day = Temporal.PlainDate.from(date);
  const first = unit === 'week' ? day.subtract({ days: day.dayOfWeek - 1 }) : day.with({ day: 1 });
  const [from, to] = [offset, offset + 1].map((count) => first.add({ [`${unit}s`]: count }).toString());
  return { from: from as string, to: to as string };
}

/** Returns a text such as `23–29 Nov 2026` or `November 2026`. */
export function describeDates(unit: UsageUnit, { from, to }: UsageDates): string {
  const options = { day: 'numeric', month: 'short', year: 'numeric' } as const;
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: 'UTC',
    ...(unit === 'week' ? options : { month: 'long', year: 'numeric' }),
  });
  return format.formatRange(Date.parse(from), Date.parse(to) - 1).replace(/\s*–\s*/, '–');
}

export type UsageSum = Omit<BookingUsageItem, 'key'>;

interface UsageRow {
  readonly key: string | null;
  readonly now: UsageSum;
  /** Undefined if the period before has no such day. */
  readonly before: UsageSum | undefined;
}

/** Puts beside each item the one of the period before: the day at the same place, or what has the same key. */
export function compareUsage(
  by: UsageDivision,
  items: readonly BookingUsageItem[],
  before: readonly BookingUsageItem[],
): readonly UsageRow[] {
  if (by === 'day') return items.map((item, index) => ({ key: item.key, now: item, before: before[index] }));
  const find = (among: readonly BookingUsageItem[], key: string | null) =>
    among.find((item) => item.key === key) ?? sumUsage([]);
  const keys = [...new Set([...items, ...before].map(({ key }) => key))];
  const rows = keys.map((key) => ({ key, now: find(items, key), before: find(before, key) }));
  return by === 'client' ? rows.toSorted((a, b) => b.now.bookedMinutes - a.now.bookedMinutes) : rows;
}

/** `bays` and `people` have the names of ids. */
export function labelOfUsage(
  by: UsageDivision,
  key: string | null,
  bays: readonly Pick<BookingBay, 'id' | 'name'>[],
  people: FacilityPeople | undefined,
): string {
  if (key === null) return 'Not known any more';
  if (by === 'weekday') return key.charAt(0).toUpperCase() + key.slice(1);
  if (by === 'hour') return [Number(key), Number(key) + 1].map((hour) => `${`${hour}`.padStart(2, '0')}:00`).join('–');
  if (by === 'bay') return bays.find(({ id }) => id === key)?.name ?? 'A removed bay';
  if (by === 'client') {
    const [name = key, account] = describeActor({ clientId: key, subject: null }, people);
    return account ? `${name} (${account})` : name;
  }
  const format = { timeZone: 'UTC', weekday: 'short', day: 'numeric', month: 'short' } as const;
  return new Intl.DateTimeFormat('en-GB', format).format(Date.parse(key)).replace(',', '');
}

const oneDigit = { maximumFractionDigits: 1 };
export const hoursText = (minutes: number): string => `${(minutes / 60).toLocaleString('en-GB', oneDigit)} h`;
export const percentText = (part: number | null): string =>
  part === null ? 'closed' : part.toLocaleString('en-GB', { style: 'percent', ...oneDigit });

/** Adds a column with names to the CSV of the service, whose keys are ids. `names` has one for each item. */
export function addNames(csv: string, names: readonly string[]): string {
  // A spreadsheet would run a cell that begins with = as a formula.
  const cells = names.map((name) => `"${name.replace(/^(?=[=+\-@\t\r])/, "'").replaceAll('"', '""')}"`);
  const lines = csv.split('\r\n');
  return lines.map((line, index) => (line ? `${line},${['name', ...cells][index] ?? ''}` : line)).join('\r\n');
}

export function sumUsage(items: readonly UsageSum[]): UsageSum {
  const sumOf = (numberOf: (item: UsageSum) => number | null) =>
    items.reduce((sum, item) => sum + (numberOf(item) ?? 0), 0);
  const openMinutes = sumOf((item) => item.openMinutes);
  // Minutes outside the opening hours are booked, but do not count for the occupancy.
  const occupiedMinutes = sumOf(({ occupancy, openMinutes: open }) => (occupancy ?? 0) * (open ?? 0));
  return {
    bookings: sumOf(({ bookings }) => bookings),
    bookedMinutes: sumOf(({ bookedMinutes }) => bookedMinutes),
    openMinutes,
    occupancy: openMinutes === 0 ? null : occupiedMinutes / openMinutes,
    cancelled: sumOf(({ cancelled }) => cancelled),
    noShows: sumOf(({ noShows }) => noShows),
  };
}
