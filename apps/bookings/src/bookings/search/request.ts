// Combines the query and the body of GET /api/bookings into one filter (docs/behaviour.md, "Searching bookings").
//
// The specification describes two uses of this endpoint: a list by location and a search. If `locationIds` is set, the
// dates select bookings that start and end within the interval. Otherwise they select bookings that overlap it.
//
// Both dates can be in the query or in the body. The query takes precedence. Other fields of the body are not read.
import { findLengthErrors, findReversedIntervalErrors, parseDates } from '@bay-booking/common/date-times';
import type { PageRequest } from '@bay-booking/common/page';
import type { ValidationError } from '@bay-booking/common/validation';
import type { FromSchema } from 'json-schema-to-ts';
import { isUuid } from '../../database/tagged-id.ts';
import { defaultPageSizes, pageRequest } from '../../http/pagination.ts';
import type { searchBodySchema } from '../booking.ts';
import {
  type BookingFilter,
  type FilterValues,
  maxDaysOfText,
  type searchQuerySchema,
  type TimeFilter,
} from './filters.ts';

type Parameters = FromSchema<typeof searchQuerySchema>;
/** The parameters of the schema, without the index signature for unknown ones. */
export type SearchQuery = { [Name in keyof Parameters as string extends Name ? never : Name]?: Parameters[Name] };
export type SearchBody = Partial<FromSchema<typeof searchBodySchema>>;

export interface Search {
  readonly filter: BookingFilter;
  readonly page: PageRequest;
  /** The dates of the query, or else of the body, as they were sent. */
  readonly dates: { readonly startDate: string | undefined; readonly endDate: string | undefined };
  readonly validationErrors: readonly ValidationError[];
}

/** `routerErrors` are the validation errors that the router has found. They are included in the result. */
export function mergeSearch(query: SearchQuery, body: SearchBody, routerErrors: readonly ValidationError[]): Search {
  const { isActive, page: _page, pageSize: _pageSize, ...filters } = query;
  const { startDate = body.startDate, endDate = body.endDate, ...values } = filters;
  const parsed = parseDates({ startDate, endDate });
  const { start, end } = parsed;
  const hasLocations = values.locationIds !== undefined;
  const hasText = values.text !== undefined;

  const validationErrors = [...routerErrors];
  // If `text` is set, a request must have both dates; if `locationIds` is set, both or none.
  const requireDate = (field: string, date: Date | undefined, otherDate: Date | undefined): void => {
    // A date that is not valid is undefined here, and the router has already reported it.
    const isReported = routerErrors.some((error) => error.field === field);
    const isNeeded = hasText || (hasLocations && otherDate);
    if (isNeeded && !date && !isReported) validationErrors.push({ field, kind: 'missing', hint: '' });
  };
  requireDate('startDate', start, end);
  requireDate('endDate', end, start);
  validationErrors.push(...findReversedIntervalErrors(parsed));
  if (hasText) validationErrors.push(...findLengthErrors(parsed, maxDaysOfText, ' in a search for a text'));

  // A request with `locationIds` and only one date has an error, so it needs no filter.
  let time: TimeFilter | undefined;
  if (hasLocations && start && end) time = { kind: 'within', start, end };
  else if (start || end) time = { kind: 'overlapping', start, end };

  return {
    filter: {
      ...onlyFilters(values),
      isActive,
      text: values.text && lowerCase(values.text),
      textPattern: values.text && textPattern(values.text),
      jsonPattern: values.text && textPattern(JSON.stringify(values.text).slice(1, -1)),
      // Ids that are not UUIDs are removed: they belong to no booking, and PostgreSQL would reject the query. If no id
      // is left, the array is empty, and the search finds no booking.
      ids: values.ids?.filter(isUuid),
      groupIds: values.groupIds?.filter(isUuid),
      time,
    },
    page: pageRequest(query, defaultPageSizes[hasLocations ? 'bookingsOfLocations' : 'bookings']),
    dates: { startDate, endDate },
    validationErrors,
  };
}

/** Does not compile if a parameter of the schema is neither in the table of filters nor read above. */
const onlyFilters = <Values extends FilterValues>(
  values: Values & Record<Exclude<keyof Values, keyof FilterValues>, never>,
): FilterValues => values;

/** Equal for all cases of a letter, also for two lower cases: σ and ς give Σ, ß and ẞ give SS. */
const fold = (text: string): string => text.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC');

/** No letter above this code point has a case. */
const lastCode = 0x1e943;
const letters = Array.from({ length: lastCode + 1 }, (_, code) => String.fromCodePoint(code)).filter(
  (letter) => letter !== letter.toLowerCase() || letter !== letter.toUpperCase(),
);
const lettersByFold = Map.groupBy(letters, fold);
/** The number of code points that some letter folds to, such as 3 for ﬃ. */
const maxFoldLength = Math.max(...[...lettersByFold.keys()].map((folded) => [...folded].length));

/** Equals the lower case of every spelling in ASCII. */
const lowerCase = (text: string): string => fold(text).toLowerCase();

/**
 * Builds a regular expression of PostgreSQL that finds a text in upper or lower case, whatever the collation of the
 * database is. Letters may be stored composed or decomposed (é, or e and an accent).
 */
export function textPattern(text: string): string {
  const characters = [...fold(text)];
  let pattern = '';
  for (let index = 0; index < characters.length; ) {
    const length = longestFoldAt(characters, index);
    const found = characters.slice(index, index + length);
    const joined = length > 1 ? (lettersByFold.get(found.join('')) ?? []) : [];
    pattern += anyOf([found.map(patternOf).join(''), ...joined.map(escapeText)]);
    index += length;
  }
  return pattern;
}

function longestFoldAt(characters: readonly string[], index: number): number {
  let length = Math.min(maxFoldLength, characters.length - index);
  while (length > 1 && !lettersByFold.has(characters.slice(index, index + length).join(''))) length -= 1;
  return length;
}

function patternOf(character: string): string {
  const cases = lettersByFold.get(character) ?? [character];
  return anyOf(
    [...new Set(cases.flatMap((letter) => [letter, letter.toLowerCase(), letter.normalize('NFD')]))].map(escapeText),
  );
}

/** PostgreSQL finds one of several characters faster than one of several strings. */
function anyOf(patterns: readonly string[]): string {
  const [characters, others] = [patterns.filter(isCharacter), patterns.filter((pattern) => !isCharacter(pattern))];
  const all = characters.length > 1 ? [`[${characters.join('')}]`, ...others] : patterns;
  return all.length === 1 ? all.join('') : `(?:${all.join('|')})`;
}

const isCharacter = (pattern: string): boolean => [...pattern].length === 1;

/** A numeric escape is never an operator. */
const escapeText = (text: string): string =>
  text.replace(/[^\p{L}\p{N}\p{M}]/gu, (character) => {
    const code = character.codePointAt(0) as number;
    return `\\U${code.toString(16).padStart(8, '0')}`;
  });
