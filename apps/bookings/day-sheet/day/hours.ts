// Reads opening hours from the form and writes them in words. The form keeps the hours of a day as JSON.
import type { OpeningHours, SetOpeningHours } from '@bay-booking/client';
import { type Weekday, weekdays } from '../../src/opening-hours/hours.ts';
import { SentenceError } from './sentences.ts';

export type Exception = OpeningHours['exceptions'][number];
/** A time that is not typed yet is an empty text. */
export type Range = Exception['hours'][number];

/** Returns a text such as `07:00-12:00, 13:00-22:00`. */
export const describeRanges = (ranges: readonly Range[] = []): string =>
  ranges.map(({ opens, closes }) => `${opens}-${closes}`).join(', ');

export const byDate = (exceptions: readonly Exception[]): Exception[] =>
  exceptions.toSorted((a, b) => a.date.localeCompare(b.date));

/** What closes at or before it opens, closes on the next day. */
export function noteOf({ opens, closes }: Range): string {
  if (!opens || !closes || closes > opens) return '';
  return opens === closes ? 'for 24 hours' : 'on the next day';
}

function expectComplete(ranges: readonly Range[], field: string): Range[] {
  const incomplete = ranges.find(({ opens, closes }) => !opens || !closes);
  if (!incomplete) return [...ranges];
  const missing = incomplete.opens ? 'closing' : 'opening';
  throw new SentenceError(`Please enter the ${missing} time too, or remove these hours.`, field);
}

/**
 * `textOf` returns the JSON of a weekday or of all exceptions.
 * @throws {SentenceError} whose field is a weekday or the position of an exception, such as `exceptions-0`
 */
export function readHours(textOf: (field: string) => string): SetOpeningHours {
  const weekly = weekdays
    .map((weekday): [Weekday, Range[]] => [weekday, expectComplete(JSON.parse(textOf(weekday)), weekday)])
    .filter(([, ranges]) => ranges.length > 0);
  const exceptions: Exception[] = JSON.parse(textOf('exceptions'));
  for (const [index, { date, hours }] of exceptions.entries()) {
    const field = `exceptions-${index}`;
    if (!date) throw new SentenceError('Please enter the date, or remove the exception.', field);
    if (exceptions.findIndex((other) => other.date === date) < index)
      throw new SentenceError('This date is in the list already.', field);
    expectComplete(hours, field);
  }
  return { weekly: Object.fromEntries(weekly), exceptions };
}
