// Builds the SQL that reads a page of bookings and counts the bookings of a search.
//
// PostgreSQL reads the bookings of a page in the order of an index. It also uses an index to find the bookings of a
// period. The cost of a page therefore depends on its size and offset, not on the number of bookings.
import { publicFields, selectList } from '../storage/columns.ts';
import {
  type Bind,
  bindInstant,
  type Criteria,
  conditionsOf,
  inProgressAt,
  isSelective,
  oneOf,
  splitInstant,
} from './where.ts';

const keys = 'facility_id, id, start_date';
const allFields = selectList(publicFields);

/** The parameters of `firstPage` and `laterPage` are the `values`, the page size and the offset, in this order. */
export interface SearchStatements {
  /** Reads the first page, which has the offset 0. */
  readonly firstPage: string;
  /** Reads a page at any offset. To skip the rows before the page, it reads only the index and not the table. */
  readonly laterPage: string;
  readonly count: string;
  readonly values: readonly unknown[];
}

/**
 * A part of a list: the bookings that start at `from` or later, and before `to`. Without `to`, the part extends to the
 * end of the list. The page begins after the first `offset` bookings of this part.
 */
export interface Segment {
  readonly from: Date;
  readonly to: Date | undefined;
  readonly offset: number;
}

/** With `segment`, the statements read only that part of the list. */
export function searchStatements(criteria: Criteria, segment?: Segment): SearchStatements {
  const values: unknown[] = [];
  // `push` returns the new length of the array, which is the number of the parameter.
  const bind: Bind = (value) => `$${values.push(value)}`;
  const { facilities, bayIds } = criteria;
  // For example `= $1::text`, or `= any($1)` for several ids.
  const inFacilities = oneOf(facilities, bind);
  const inBays = bayIds && oneOf(bayIds, bind);
  const conditions = conditionsOf(criteria, inBays, bind);
  const ofFacilities = `facility_id ${inFacilities}`;
  const parts = partsOf(criteria, segment, bind);
  // All values are bound now. The page size and the offset are the next two parameters.
  const [limit, offset] = [`$${values.length + 1}::bigint`, `$${values.length + 2}::bigint`];
  const pageInOrderOf = (columns: string): string => `order by ${columns} limit ${limit} offset ${offset}`;
  const pageInOrder = pageInOrderOf('start_date, id');

  /** `ownerCondition` is SQL that selects the bookings of a bay, of a facility, or of several facilities. */
  const rowsOf = (columns: string, ownerCondition: string, part: Part): string =>
    `select ${columns} from booking where ${[ownerCondition, ...conditions, ...part.conditions].join(' and ')}`;

  // A part returns only its first rows, which limits how many rows PostgreSQL must sort. A part with few rows returns
  // all of them: with `order by start_date`, PostgreSQL would scan an index of the starts of all bookings, instead of
  // the small index booking_long.
  const firstRowsOfParts = (ownerCondition: string): string =>
    parts
      .map((part) => {
        const order = part.hasFewRows ? '' : ` order by start_date, id limit ${limit} + ${offset}`;
        return `(${rowsOf(keys, ownerCondition, part)}${order})`;
      })
      .join('\nunion all ');

  // For several facilities or bays, the first rows of each facility or bay are read and then sorted. Sorting all rows
  // took hundreds of times as long. `ownerTable` is `bay` or `facility`, and `isSelected` is the condition on its rows.
  const pageOfEach = (ownerTable: string, ownerCondition: string, isSelected: string): string =>
    `select page.* from ${ownerTable} cross join lateral (
${firstRowsOfParts(ownerCondition)}
) page where ${isSelected} ${pageInOrderOf('page.start_date, page.id')}`;

  // The array prevents PostgreSQL from using the index of the constraint booking_no_overlap, which contains the bay but
  // returns rows in no order.
  const pageOfBays = (): string =>
    pageOfEach(
      'bay',
      'facility_id = bay.facility_id and bay_id = any(array[bay.id])',
      `bay.facility_id ${inFacilities} and bay.id ${inBays}`,
    );

  const pageOfFacilities = (): string =>
    pageOfEach('facility', 'facility_id = facility.id', `facility.id ${inFacilities}`);

  const singlePart = parts.length === 1 ? parts[0] : undefined;
  const pageOfAll = (columns: string): string =>
    singlePart
      ? `${rowsOf(columns, ofFacilities, singlePart)} ${pageInOrder}`
      : `select * from (${firstRowsOfParts(ofFacilities)}) parts ${pageInOrder}`;

  // A selective search finds so few rows that PostgreSQL can sort all of them.
  let pageOfOwners: string | undefined;
  if (isReadByBay(criteria)) pageOfOwners = pageOfBays();
  else if (facilities.length > 1 && !isSelective(criteria)) pageOfOwners = pageOfFacilities();

  const laterPage = withAllFields(pageOfOwners ?? pageOfAll(keys));
  // The rows are only counted, so they have no columns.
  const matching = parts.map((part) => rowsOf('', ofFacilities, part)).join(' union all ');
  return {
    // Other pages first find the keys of their rows, so that only the keys of skipped rows are read. The first page
    // skips no rows. If it needs only one scan, this scan reads all fields.
    firstPage: !pageOfOwners && singlePart ? pageOfAll(allFields) : laterPage,
    laterPage,
    count: `select count(*)::int as total from (${matching}) matching`,
    values,
  };
}

/** SQL conditions for one part of the bookings that a search finds. Each of these bookings is in exactly one part. */
interface Part {
  readonly conditions: readonly string[];
  readonly hasFewRows?: boolean;
}

/**
 * Returns the parts of a search. A search that is split at an instant (`splitInstant`) has three parts: short bookings
 * in progress at the instant, long bookings in progress, and bookings that start later. If such a search has a
 * `segment`, the bookings in progress are left out, because a segment contains only bookings that start later.
 */
function partsOf(criteria: Criteria, segment: Segment | undefined, bind: Bind): readonly Part[] {
  const split = splitInstant(criteria);
  const startsLater = split ? [`start_date > ${bindInstant(split, bind)}`] : [];
  if (segment) {
    const { from, to } = segment;
    const bounds = [
      `start_date >= ${bindInstant(from, bind)}`,
      ...(to ? [`start_date < ${bindInstant(to, bind)}`] : []),
    ];
    return [{ conditions: [...startsLater, ...bounds] }];
  }
  if (!split) return [{ conditions: [] }];
  // If a search for active bookings has an interval with a start, the search is split at this start, and not at `now`.
  // The result of `conditionsOf` then contains the condition that the bookings are active.
  const selectsActive = criteria.isActive === true && split === criteria.now;
  const [short, long] = inProgressAt(split, selectsActive, bind);
  return [{ conditions: short }, { conditions: long, hasFewRows: true }, { conditions: startsLater }];
}

/**
 * Whether the search is for several bays, and the index booking_by_bay contains every column of the conditions. If so,
 * this index is read once for each bay, and returns the bookings of the bay in the order of the list. The index does
 * not help with conditions that compare ranges of times, such as those of `isActive` and of an interval with a start.
 */
function isReadByBay(criteria: Criteria): boolean {
  const { bayIds, time, isActive, upcoming, ...others } = criteria;
  if (!bayIds || bayIds.length < 2 || isSelective(others) || criteria.locationIds) return false;
  return isActive !== true && !upcoming && (!time || (time.kind === 'overlapping' && !time.start));
}

/** Reads all fields of the bookings whose keys `pageOfKeys` returns. */
function withAllFields(pageOfKeys: string): string {
  return `select ${allFields} from (${pageOfKeys}) page
join booking on booking.facility_id = page.facility_id and booking.id = page.id
order by booking.start_date, booking.id`;
}
