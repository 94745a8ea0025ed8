// Builds the SQL that sums up the counts of bookings (see reader.ts).
import {
  type Bind,
  bindInstant,
  type Criteria,
  inProgressAt,
  isSelective,
  oneOf,
} from '../../bookings/search/where.ts';

const hourMs = 3_600_000;

// The lengths of bins (`span`) in hours, from long to short. A bin contains the number of bookings that start in a
// period. 768 hours are 32 days.
const longestSpan = 768;
const facilitySpans = [longestSpan, 24, 1] as const;
export const locationSpans = [longestSpan, 24] as const;

export const spansOf = ({ locationIds }: Criteria): readonly number[] => (locationIds ? locationSpans : facilitySpans);
/** The length in milliseconds. */
export const spanLength = (span: number): number => span * hourMs;

/** The SQL expression for the beginning of the bin that is `span` hours long and contains the time in `column`. */
export const binOf = (column: string, span: number | string): string =>
  `date_bin(make_interval(hours => ${span}), ${column}, timestamptz '1970-01-01 00:00Z')`;

/** The column `flag` says whether every booking has been counted. */
export const completeFlagQuery = 'select complete as flag from booking_count_state where id = 1';

/**
 * The lists whose bookings can be counted with the bins of the table booking_count (see reader.ts):
 * - `all`: all bookings
 * - `until`: bookings that start before the end of an interval
 * - `from`: bookings that are in progress at an instant or start later
 * - `ended`: bookings that have ended
 */
export type ListKind = 'all' | 'until' | 'from' | 'ended';

/** Returns which list the criteria select. Undefined if the list cannot be counted with the table booking_count. */
export function kindOf(criteria: Criteria): ListKind | undefined {
  const { isActive, time, upcoming } = criteria;
  // These searches find few rows. Counting the rows with an index is faster than reading booking_count.
  if (isSelective(criteria) || upcoming) return undefined;
  if (!time && isActive === undefined) return 'all';
  if (!time) return isActive ? 'from' : 'ended';
  // booking_count counts bookings by their start only, so it cannot count a search that combines two conditions on
  // dates.
  if (time.kind === 'within' || isActive !== undefined || (time.start && time.end)) return undefined;
  return time.start ? 'from' : 'until';
}

export interface CountStatement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

export function countStatement(criteria: Criteria, kind: ListKind): CountStatement {
  const { now, isActive, time } = criteria;
  return build((bind) => {
    const scope = scopeOf(criteria, bind);
    const instant = time?.start ?? now;
    switch (kind) {
      case 'all':
        return sumOf([
          `select facility_id, n from booking_count where ${scope.bins} and span = ${longestSpan}`,
          `select facility_id, n from booking_change where ${scope.bookings}`,
        ]);
      case 'until':
        return sumOf(startsBeforeOrFrom('before', time?.end ?? now, scope, bind));
      case 'from': {
        const inProgress = selectInProgress(instant, isActive !== undefined, 1, scope, bind);
        return sumOf([...startsBeforeOrFrom('from', justAfter(instant), scope, bind), ...inProgress]);
      }
      case 'ended': {
        const inProgress = selectInProgress(instant, true, -1, scope, bind);
        return sumOf([...startsBeforeOrFrom('before', justAfter(instant), scope, bind), ...inProgress]);
      }
    }
  });
}

/** Counts the bookings that start at or before an instant. */
export function startedStatement(criteria: Criteria, instant: Date): CountStatement {
  return build((bind) => sumOf(startsBeforeOrFrom('before', justAfter(instant), scopeOf(criteria, bind), bind)));
}

/** Counts the bookings in progress at `instant`. With `before`, counts only those that start before that time. */
export function inProgressStatement(criteria: Criteria, instant: Date, before: Date | undefined): CountStatement {
  return build((bind) => {
    const scope = scopeOf(criteria, bind);
    const bound = before ? ` and start_date < ${bindInstant(before, bind)}` : '';
    const selects = selectInProgress(instant, criteria.isActive !== undefined, 1, scope, bind);
    return sumOf(selects.map((select) => `${select}${bound}`));
  });
}

/**
 * Reads the bins that are `span` hours long and begin at `from` or later, and before `to`. A bin is a period, and `n`
 * is the number of bookings that start in it. The bins are sorted by their beginning.
 */
export function binsStatement(criteria: Criteria, span: number, from: Date, to: Date): CountStatement {
  return build((bind) => {
    const { bins, bookings } = scopeOf(criteria, bind);
    const [first, end] = [bindInstant(from, bind), bindInstant(to, bind)];
    return `select begins, sum(n)::int as n from (
select facility_id, begins, n from booking_count
where ${bins} and span = ${span} and begins >= ${first} and begins < ${end}
union all select facility_id, ${binOf('hour', span)}, n from booking_change
where ${bookings} and hour >= ${first} and hour < ${end}
) counted group by begins having sum(n) <> 0 order by begins`;
  });
}

/**
 * The SQL conditions that select the facilities or locations of a search: `bins` for booking_count, and `bookings` for
 * the other tables. In booking_count, the rows of a whole facility have an empty location id.
 */
interface Scope {
  readonly spans: readonly number[];
  readonly bins: string;
  readonly bookings: string;
}

function scopeOf(criteria: Criteria, bind: Bind): Scope {
  const spans = spansOf(criteria);
  const facilities = `facility_id ${oneOf(criteria.facilities, bind)}`;
  if (!criteria.locationIds) return { spans, bins: `${facilities} and location_id = ''`, bookings: facilities };
  const locations = `${facilities} and location_id ${oneOf(criteria.locationIds, bind)}`;
  return { spans, bins: locations, bookings: locations };
}

/**
 * Returns `select` statements whose rows add up to a number of bookings: those that start before an instant (`before`),
 * or those that start at this instant or later (`from`). Long bins cover most of the time, and shorter bins the time
 * near the instant. In the shortest bin that contains the instant, the bookings themselves are counted.
 */
function startsBeforeOrFrom(side: 'before' | 'from', instant: Date, scope: Scope, bind: Bind): string[] {
  /** The operators that compare a time with a boundary: `inside` selects the times to count, `outside` the others. */
  const [inside, outside] = side === 'before' ? ['<', '>='] : ['>=', '<'];
  /**
   * Returns the beginning (`before`) or the end (`from`) of the bin that is `span` hours long and contains the instant.
   */
  const boundaryOf = (span: number): string => {
    const length = spanLength(span);
    const bin = Math.floor(instant.getTime() / length) + (side === 'before' ? 0 : 1);
    return bindInstant(new Date(bin * length), bind);
  };
  const selects: string[] = [];
  let boundary: string | undefined;
  for (const span of scope.spans) {
    const next = boundaryOf(span);
    const notInLongerBin = boundary ? ` and begins ${outside} ${boundary}` : '';
    selects.push(`select facility_id, n from booking_count
where ${scope.bins} and span = ${span} and begins ${inside} ${next}${notInLongerBin}`);
    boundary = next;
  }
  selects.push(`select facility_id, n from booking_change where ${scope.bookings} and hour ${inside} ${boundary}`);
  selects.push(`select facility_id, 1 from booking where ${scope.bookings}
and start_date ${outside} ${boundary} and start_date ${inside} ${bindInstant(instant, bind)}`);
  return selects;
}

/**
 * Returns `select` statements. They return one row with the count `n` for each booking in progress. With `n` -1, a sum
 * of the rows subtracts these bookings. `inProgressAt` documents `isActive`.
 */
function selectInProgress(instant: Date, isActive: boolean, n: 1 | -1, { bookings }: Scope, bind: Bind): string[] {
  return inProgressAt(instant, isActive, bind).map(
    (conditions) => `select facility_id, ${n} as n from booking where ${[bookings, ...conditions].join(' and ')}`,
  );
}

/** Returns the next instant. Dates have a precision of one millisecond. */
function justAfter(instant: Date): Date {
  return new Date(instant.getTime() + 1);
}

/** Adds up the column `n` of all rows. The first of the `select` statements must name this column. */
function sumOf(selects: readonly string[]): string {
  return `select coalesce(sum(n), 0)::int as total from (
${selects.join('\nunion all ')}
) counted`;
}

/** Builds a statement. `bind` adds a value to its parameters and returns the placeholder of the value, such as `$3`. */
function build(sqlOf: (bind: Bind) => string): CountStatement {
  const values: unknown[] = [];
  const sql = sqlOf((value) => `$${values.push(value)}`);
  return { sql, values };
}
