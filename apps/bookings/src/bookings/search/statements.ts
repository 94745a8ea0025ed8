// Which SQL finds a page of bookings, and counts what a filter finds? Each list is walked in the order of an index, and its time
// conditions are bounded by one, however many bookings there are.
import { beginOf, bindInstant, type Criteria, conditionsOf, goingOnAt, isSelective, oneOf } from './where.ts';

const listedColumns =
  'id, external_booking_id, correlation_id, bay_id, user_alias, start_date, end_date, created_at, last_updated_at';
const keys = 'facility_id, id, start_date';

export interface SearchStatements {
  readonly firstPage: string;
  /** Walks past the rows before it in the index alone, as far as the filter's columns are there. */
  readonly laterPage: string;
  readonly count: string;
  readonly bindings: readonly unknown[];
}

/** Between which starts a page lies, and how many rows of the list lie there before it. */
export interface Place {
  readonly from: Date;
  readonly to: Date | undefined;
  readonly offset: number;
}

/** The texts are few, since arrays are one parameter each: every one of them is prepared once per connection. */
export function searchStatements(criteria: Criteria, place?: Place): SearchStatements {
  const bindings: unknown[] = [];
  const bind = (value: unknown): string => `$${bindings.push(value)}`;
  const { facilities, bayIds } = criteria;
  const ofFacilities = oneOf('facility_id', facilities, bind);
  const conditions = conditionsOf(criteria, bind);
  const parts = partsOf(criteria, place, bind);
  const [limit, offset] = [`$${bindings.length + 1}::bigint`, `$${bindings.length + 2}::bigint`];
  const inOrder = 'order by start_date, id limit';
  const rowsOf = (columns: string, of: string, part: readonly string[]): string =>
    `select ${columns} from booking where ${[of, ...conditions, ...part].join(' and ')}`;
  // Each part gives its first rows, so that no more than a page and what lies before it is sorted. Of the few that are found by their
  // ends no order is asked, which would make the planner look through all starts.
  const firstOf = (columns: string, of: string): string =>
    parts
      .map(({ where, few }) => `(${rowsOf(columns, of, where)}${few ? '' : ` ${inOrder} ${limit} + ${offset}`})`)
      .join('\nunion all ');
  // Of many facilities or bays, each gives its first rows: hundreds of times cheaper than sorting them all.
  const firstOfEach = (from: string, of: string, where: string): string =>
    `select first.* from ${from} cross join lateral (
${firstOf(keys, of)}
) first where ${where} order by first.start_date, first.id limit ${limit} offset ${offset}`;
  const [part, ...more] = parts;
  const ofOne = (columns: string): string | undefined =>
    part && more.length === 0
      ? `${rowsOf(columns, ofFacilities, part.where)} ${inOrder} ${limit} offset ${offset}`
      : undefined;
  const ofParts = `select * from (${firstOf(keys, ofFacilities)}) first ${inOrder} ${limit} offset ${offset}`;
  const each = (): string | undefined => {
    if (bayIds && isWalkedByBay(criteria)) {
      const ofBays = ofFacilities.replace('facility_id', 'bay.facility_id');
      // An array, which the constraint's index cannot be searched by: it has the bay's bookings, but in no order.
      const ofBay = 'facility_id = bay.facility_id and bay_id = any(array[bay.id])';
      return firstOfEach('bay', ofBay, `${ofBays} and ${conditions[0]?.replace('bay_id', 'bay.id')}`);
    }
    if (facilities.length === 1 || isSelective(criteria)) return undefined;
    return firstOfEach('facility', 'facility_id = facility.id', 'facility.id = any($1)');
  };
  const eachPage = each();
  const laterPage = fetched(eachPage ?? ofOne(keys) ?? ofParts);
  const found = parts.map(({ where }) => rowsOf('', ofFacilities, where)).join(' union all ');
  return {
    firstPage: (eachPage ? undefined : ofOne(listedColumns)) ?? laterPage,
    laterPage,
    count: `select count(*)::int as total from (${found}) found`,
    bindings,
  };
}

interface Part {
  readonly where: readonly string[];
  readonly few?: boolean;
}

function partsOf(criteria: Criteria, place: Place | undefined, bind: (value: unknown) => string): readonly Part[] {
  const begin = beginOf(criteria);
  const later = begin ? [`start_date > ${bindInstant(begin, bind)}`] : [];
  if (place) {
    const bounds = [`start_date >= ${bindInstant(place.from, bind)}`];
    return [{ where: [...later, ...bounds, ...(place.to ? [`start_date < ${bindInstant(place.to, bind)}`] : [])] }];
  }
  if (!begin) return [{ where: [] }];
  const [recent, long] = goingOnAt(begin, criteria.isActive === true && begin === criteria.now, bind);
  return [{ where: recent }, { where: long, few: true }, { where: later }];
}

/** Bays alone, and no more of time than the ends that stand in booking_by_bay. */
function isWalkedByBay(criteria: Criteria): boolean {
  const { bayIds, time, isActive, upcoming, ...others } = criteria;
  if (!bayIds || bayIds.length < 2 || isSelective(others) || criteria.locationIds) return false;
  return isActive !== true && !upcoming && (!time || (time.kind === 'overlapping' && !time.start));
}

function fetched(page: string): string {
  return `select ${listedColumns.replace(/\w+/g, 'booking.$&')} from (${page}) page
join booking on booking.facility_id = page.facility_id and booking.id = page.id order by booking.start_date, booking.id`;
}
