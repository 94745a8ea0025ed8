// Converts between opening hours and the texts that the form keeps, such as `07:00-12:00, 13:00-22:00`.
import type { OpeningHours, SetOpeningHours } from '@bay-booking/client';
import { type Weekday, weekdays } from '../../src/opening-hours/hours.ts';
import { SentenceError } from './sentences.ts';

/** A time that is not typed yet is an empty text. */
export type Range = OpeningHours['exceptions'][number]['hours'][number];

export interface ExceptionText {
  readonly date: string;
  readonly ranges: string;
}

export const writeRanges = (ranges: readonly Range[] = []): string =>
  ranges
    .filter(({ opens, closes }) => opens || closes)
    .map(({ opens, closes }) => `${opens}-${closes}`)
    .join(', ');

export const splitRanges = (text: string): Range[] =>
  text
    .split(', ')
    .filter(Boolean)
    .map((range) => {
      const [opens = '', closes = ''] = range.split('-');
      return { opens, closes };
    });

/** Lines such as `2026-12-24 ` (closed) and `2026-12-31 10:00-16:00`. */
export const writeExceptions = (exceptions: readonly ExceptionText[]): string =>
  exceptions.map(({ date, ranges }) => `${date} ${ranges}`).join('\n');

export const splitExceptions = (text: string): ExceptionText[] =>
  text
    .split(/\r?\n/)
    .filter(Boolean)
    .map((line) => {
      const space = line.indexOf(' ');
      return { date: line.slice(0, space), ranges: line.slice(space + 1) };
    });

export const exceptionsOf = ({ exceptions }: OpeningHours): ExceptionText[] =>
  exceptions
    .map(({ date, hours }) => ({ date, ranges: writeRanges(hours) }))
    .sort((a, b) => a.date.localeCompare(b.date));

/** What closes at or before it opens, closes on the next day. */
export function noteOf({ opens, closes }: Range): string {
  if (!opens || !closes || closes > opens) return '';
  return opens === closes ? 'for 24 hours' : 'on the next day';
}

function readRanges(text: string, field: string): Range[] {
  const ranges = splitRanges(text);
  const incomplete = ranges.find(({ opens, closes }) => !opens || !closes);
  if (incomplete)
    throw new SentenceError(
      `Please enter the ${incomplete.opens ? 'closing' : 'opening'} time too, or remove these hours.`,
      field,
    );
  return ranges;
}

/**
 * `textOf` returns the text of a weekday or of all exceptions.
 * @throws {SentenceError} whose field is a weekday or the position of an exception, such as `exceptions-0`
 */
export function readHours(textOf: (field: string) => string): SetOpeningHours {
  const weekly = weekdays
    .map((weekday): [Weekday, Range[]] => [weekday, readRanges(textOf(weekday), weekday)])
    .filter(([, ranges]) => ranges.length > 0);
  const dates = new Set<string>();
  const exceptions = splitExceptions(textOf('exceptions')).map(({ date, ranges }, index) => {
    const field = `exceptions-${index}`;
    if (!date) throw new SentenceError('Please enter the date, or remove the exception.', field);
    if (dates.has(date)) throw new SentenceError('This date is in the list already.', field);
    dates.add(date);
    return { date, hours: readRanges(ranges, field) };
  });
  return { weekly: Object.fromEntries(weekly), exceptions };
}
