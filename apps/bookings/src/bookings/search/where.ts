// Translates the shape of a search to SQL conditions. A condition names its parameters (see statements.ts).
import { hashOfBay } from '../../database/sql.ts';
import { bookedRange } from '../storage/columns.ts';
import { type Shape, splitInstant, usedFilters } from './criteria.ts';
import { filterCondition } from './filters.ts';

/** SQL with a question mark for each parameter. */
export type Condition = readonly [sql: string, parameters?: readonly string[]];

/** Must equal the condition of the partial index booking_long. */
const isLong = "end_date - start_date > interval '4 hours'";

/**
 * Returns two lists of conditions for the bookings in progress at an instant: for bookings of up to four hours, and for
 * longer bookings, which the partial index booking_long finds. A booking whose start and end both equal the instant is
 * in progress but not active. It is found unless `isActive` is true.
 */
export function inProgressAt(at: string, isActive: boolean): readonly [short: Condition[], long: Condition[]] {
  const hasStarted: Condition = ['start_date <= ?::timestamptz', [at]];
  const hasNotEnded: Condition = ['end_date > ?::timestamptz', [at]];
  const shortHasNotEnded: Condition = isActive
    ? hasNotEnded
    : ['(end_date > ?::timestamptz or start_date = ?::timestamptz)', [at, at]];
  const startedRecently: Condition = ["start_date >= ?::timestamptz - interval '4 hours'", [at]];
  return [
    [hasStarted, shortHasNotEnded, startedRecently, [`not (${isLong})`]],
    [hasStarted, hasNotEnded, [isLong]],
  ];
}

/**
 * Returns the conditions of the search, apart from the condition for its facilities. If the search is split (see
 * `splitInstant`), the conditions in which its parts differ are left out too.
 */
export function conditionsOf(shape: Shape): readonly Condition[] {
  const conditions = usedFilters(shape).map(([name, size]): Condition => filterCondition(name, size));
  conditions.push(...timeConditions(shape), ...activeConditions(shape));
  const { bayIds } = shape.filters;
  if (bayIds && conditions.some(([sql]) => sql.startsWith(bookedRange)))
    conditions.push([hashOfBay(bayIds, '?'), ['bayIds']]);
  if (shape.upcoming === 'today') conditions.push(...startsBeforeTomorrow);
  return conditions;
}

/** If the search is split at the start of its interval, only the comparison with the end is returned. */
function timeConditions(shape: Shape): readonly Condition[] {
  const { time } = shape;
  const isSplit = splitInstant(shape) === 'start';
  switch (time) {
    case undefined:
      return [];
    case 'within':
      // The second condition follows from the third, but limits the range of the index.
      return [
        ['start_date >= ?::timestamptz', ['start']],
        ['start_date <= ?::timestamptz', ['end']],
        ['end_date <= ?::timestamptz', ['end']],
      ];
    case 'until':
      return [['start_date < ?::timestamptz', ['end']]];
    case 'from':
      return isSplit ? [] : [[`${bookedRange} && tstzrange(?::timestamptz, null)`, ['start']]];
    case 'between':
      return isSplit
        ? [['start_date < ?::timestamptz', ['end']]]
        : [[`${bookedRange} && tstzrange(?::timestamptz, ?::timestamptz)`, ['start', 'end']]];
    case 'instant':
      return isSplit
        ? [['start_date <= ?::timestamptz', ['end']]]
        : [[`${bookedRange} && tstzrange(?::timestamptz, ?::timestamptz, '[]')`, ['start', 'end']]];
  }
}

function activeConditions(shape: Shape): readonly Condition[] {
  const { isActive } = shape;
  // If the search is split at `now`, the conditions of its parts already select only active bookings.
  if (isActive === undefined || splitInstant(shape) === 'now') return [];
  if (!isActive) return [['end_date <= ?::timestamptz', ['now']]];
  const isActiveNow: Condition = ['end_date > ?::timestamptz', ['now']];
  // The range excludes no further bookings. It lets PostgreSQL use the index of the constraint booking_no_overlap,
  // which contains the bay.
  return shape.filters.bayIds
    ? [isActiveNow, [`${bookedRange} && tstzrange(?::timestamptz, null)`, ['now']]]
    : [isActiveNow];
}

/** A search for upcoming bookings has one facility. Its time zone is not cached, because an import can change it. */
const timeZone = '(select time_zone from facility where id = ?::text)';

/**
 * The comparison with midnight limits the range of the index. The comparison of the dates is needed when the clocks go
 * back from 01:00 to midnight: midnight then occurs twice, and PostgreSQL takes the second one.
 */
const startsBeforeTomorrow: readonly Condition[] = [
  [
    `start_date < (date_trunc('day', ?::timestamptz at time zone ${timeZone}) + interval '1 day') at time zone ${timeZone}`,
    ['now', 'facilities', 'facilities'],
  ],
  [
    `(start_date at time zone ${timeZone})::date <= (?::timestamptz at time zone ${timeZone})::date`,
    ['facilities', 'now', 'facilities'],
  ],
];
