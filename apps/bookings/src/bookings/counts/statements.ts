// Which SQL tells how many bookings of facilities, or of locations, start before or after a moment? Whole months of 32 days, days and
// hours from booking_count, what is not folded in yet from booking_change, and the rest of an hour from the bookings themselves.
import { type Bind, bindInstant, type Criteria, goingOnAt, isSelective, oneOf } from '../search/where.ts';

const hour = 3_600_000;
/** In hours, from long to short. Locations are counted by the day, which is short enough to be walked. */
const spansOfFacility = [768, 24, 1] as const;
const spansOfLocation = [768, 24] as const;

/** Bins are counted from 1970, in hours of UTC: no calendar, no time zone. */
export const binOf = (column: string, span: number | string): string =>
  `date_bin(make_interval(hours => ${span}), ${column}, timestamptz '1970-01-01 00:00Z')`;

export const spansOf = ({ locationIds }: Criteria): readonly number[] =>
  locationIds ? spansOfLocation : spansOfFacility;

export const lengthOf = (span: number): number => span * hour;
const floorTo = (span: number, moment: Date): Date =>
  new Date(Math.floor(moment.getTime() / lengthOf(span)) * lengthOf(span));
const endOf = (span: number, moment: Date): Date => new Date(floorTo(span, moment).getTime() + lengthOf(span));

interface Scope {
  readonly spans: readonly number[];
  readonly counts: string;
  readonly bookings: string;
}

function scopeOf(criteria: Criteria, bind: Bind): Scope {
  const bookings = oneOf('facility_id', criteria.facilities, bind);
  if (!criteria.locationIds) {
    return { spans: spansOfFacility, counts: `${bookings} and location_id = ''`, bookings };
  }
  const located = `${bookings} and ${oneOf('location_id', criteria.locationIds, bind)}`;
  return { spans: spansOfLocation, counts: located, bookings: located };
}

/** Rows that add up to the number of bookings that start before `moment`, or from it on. */
function startsBy(side: 'before' | 'from', moment: Date, scope: Scope, bind: Bind): string[] {
  const { spans, counts, bookings } = scope;
  const edgeOf = (span: number) => bindInstant(side === 'before' ? floorTo(span, moment) : endOf(span, moment), bind);
  const [inner, outer] = side === 'before' ? ['<', '>='] : ['>=', '<'];
  const rows: string[] = [];
  let edge: string | undefined;
  for (const span of spans) {
    const next = edgeOf(span);
    const rest = edge ? ` and begins ${outer} ${edge}` : '';
    rows.push(
      `select facility_id, n from booking_count where ${counts} and span = ${span} and begins ${inner} ${next}${rest}`,
    );
    edge = next;
  }
  rows.push(`select facility_id, n from booking_change where ${bookings} and hour ${inner} ${edge}`);
  const within =
    side === 'before' ? `start_date >= ${edge} and start_date <` : `start_date < ${edge} and start_date >=`;
  rows.push(`select facility_id, 1 from booking where ${bookings} and ${within} ${bindInstant(moment, bind)}`);
  return rows;
}

export interface CountStatement {
  readonly sql: string;
  readonly bindings: readonly unknown[];
}

function statement(build: (bind: Bind) => string): CountStatement {
  const bindings: unknown[] = [];
  const sql = build((value) => `$${bindings.push(value)}`);
  return { sql, bindings };
}

const sumOf = (rows: readonly string[]): string =>
  `select coalesce(sum(n), 0)::int as total from (
${rows.join('\nunion all ')}
) counted`;

/** start_date is kept to the millisecond. */
const justAfter = (moment: Date): Date => new Date(moment.getTime() + 1);

/** How many bookings the criteria find; undefined where counts do not tell. */
export function totalStatement(criteria: Criteria): CountStatement | undefined {
  const { now, isActive, time } = criteria;
  const kind = countedKind(criteria);
  if (!kind) return undefined;
  return statement((bind) => {
    const scope = scopeOf(criteria, bind);
    if (kind === 'all') {
      return sumOf([
        `select facility_id, n from booking_count where ${scope.counts} and span = 768`,
        `select facility_id, n from booking_change where ${scope.bookings}`,
      ]);
    }
    if (kind === 'until' && time?.end) return sumOf(startsBy('before', time.end, scope, bind));
    const moment = time?.start ?? now;
    const goingOn = goingOnAt(moment, isActive !== undefined, bind).map(
      (part) =>
        `select facility_id, ${isActive === false ? -1 : 1} from booking where ${[scope.bookings, ...part].join(' and ')}`,
    );
    return sumOf([...startsBy(isActive === false ? 'before' : 'from', justAfter(moment), scope, bind), ...goingOn]);
  });
}

/** `all`, started `until` a moment, `over` by now, or `open` towards the future. */
export function countedKind(criteria: Criteria): 'all' | 'until' | 'over' | 'open' | undefined {
  const { isActive, time, upcoming } = criteria;
  if (isSelective(criteria) || upcoming) return undefined;
  if (!time) return isActive === undefined ? 'all' : isActive ? 'open' : 'over';
  if (time.kind === 'within' || isActive !== undefined || (time.start && time.end)) return undefined;
  return time.start ? 'open' : 'until';
}

export function startedBeforeStatement(criteria: Criteria, moment: Date): CountStatement {
  return statement((bind) => sumOf(startsBy('before', justAfter(moment), scopeOf(criteria, bind), bind)));
}

/** What is going on at a moment; `before`: and started before that. */
export function goingOnStatement(criteria: Criteria, moment: Date, before: Date | undefined): CountStatement {
  return statement((bind) => {
    const { bookings } = scopeOf(criteria, bind);
    const bound = before ? [`start_date < ${bindInstant(before, bind)}`] : [];
    const parts = goingOnAt(moment, criteria.isActive !== undefined, bind);
    return sumOf(
      parts.map(
        (part) => `select facility_id, 1 as n from booking where ${[bookings, ...part, ...bound].join(' and ')}`,
      ),
    );
  });
}

/** The bins of one length that hold bookings, in order. */
export function binsStatement(criteria: Criteria, span: number, from: Date, to: Date): CountStatement {
  return statement((bind) => {
    const { counts, bookings } = scopeOf(criteria, bind);
    const [first, end] = [bindInstant(from, bind), bindInstant(to, bind)];
    return `select begins, sum(n)::int as n from (
select facility_id, begins, n from booking_count where ${counts} and span = ${span} and begins >= ${first} and begins < ${end}
union all select facility_id, ${binOf('hour', span)}, n from booking_change where ${bookings} and hour >= ${first} and hour < ${end}
) counted group by begins having sum(n) <> 0 order by begins`;
  });
}
