// Defines a search's criteria and its shape: everything that its SQL depends on.
import type { Scope } from '../../changes/totals/totals.ts';
import type { Size } from '../../database/sql.ts';
import type { BookingFilter } from './filter.ts';
import { type FilterName, filterNames, filters } from './filters.ts';

export interface Criteria extends BookingFilter {
  /** The facilities to search. Never empty. */
  readonly facilities: readonly string[];
  readonly now: Date;
  /**
   * Selects bookings that are in progress or in the future. The search then has exactly one facility. `todayOnly`
   * leaves out bookings that start after the current day in the time zone of the facility.
   */
  readonly upcoming?: { readonly todayOnly: boolean } | undefined;
}

export interface Shape extends Scope {
  /** The filters in use, and whether they have one value or several. */
  readonly filters: Readonly<Partial<Record<FilterName, Size>>>;
  readonly isActive: boolean | undefined;
  /**
   * `within`: the bookings that start and end in the interval. The other values select bookings that overlap an
   * interval: with both ends, only with an end (`until`) or a start (`from`), or with equal ends (`instant`).
   */
  readonly time: 'within' | 'between' | 'until' | 'from' | 'instant' | undefined;
  readonly upcoming: 'all' | 'today' | undefined;
}

export function shapeOf(criteria: Criteria): Shape {
  const used = filterNames.filter((name) => criteria[name] !== undefined);
  return {
    facilities: sizeOf(criteria.facilities),
    locations: criteria.locationIds && sizeOf(criteria.locationIds),
    filters: Object.fromEntries(used.map((name) => [name, sizeOf(criteria[name])])),
    isActive: criteria.isActive,
    time: timeOf(criteria),
    upcoming: criteria.upcoming && (criteria.upcoming.todayOnly ? 'today' : 'all'),
  };
}

const sizeOf = (value: unknown): Size => (Array.isArray(value) && value.length !== 1 ? 'several' : 'one');

function timeOf({ time }: Criteria): Shape['time'] {
  if (!time) return undefined;
  const { kind, start, end } = time;
  if (kind === 'within') return 'within';
  if (!start) return 'until';
  if (!end) return 'from';
  return start.getTime() === end.getTime() ? 'instant' : 'between';
}

export const usedFilters = (shape: Shape) => Object.entries(shape.filters) as [FilterName, Size][];

export const isSelective = (shape: Shape): boolean => usedFilters(shape).some(([name]) => filters[name].isSelective);

/**
 * Returns the parameter that splits a search into bookings in progress at this instant and later bookings. A single
 * condition would make PostgreSQL sort every future booking. Undefined if the search is not split.
 */
export function splitInstant(shape: Shape): 'now' | 'start' | undefined {
  const { time, isActive, upcoming } = shape;
  if (upcoming) return 'now';
  if (isSelective(shape) || time === 'within') return undefined;
  if (time && time !== 'until') return 'start';
  return isActive === true ? 'now' : undefined;
}

/**
 * Returns an instant as a parameter. Bookings have dates in the years 1 to 9999 (date-times.ts). PostgreSQL does not
 * read other years as ISO 8601 defines them.
 */
export function instantText(instant: Date): string {
  const year = instant.getUTCFullYear();
  if (year < 1) return '-infinity';
  return year > 9999 ? 'infinity' : instant.toISOString();
}
