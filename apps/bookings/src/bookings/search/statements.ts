// Builds the SQL that reads a page of bookings and counts the bookings of a search. Each shape is built once.
//
// The bindings of the query builder are the names of parameters. The compiled statement lists these names in the order
// of its placeholders.
import type { Knex } from 'knex';
import { type Side, startCounts } from '../../changes/totals/totals.ts';
import { oneOf } from '../../database/sql.ts';
import { publicFields, selectList } from '../storage/columns.ts';
import { isSelective, type Shape, splitInstant, usedFilters } from './criteria.ts';
import { type Condition, conditionsOf, inProgressAt } from './where.ts';

export interface Statement {
  readonly sql: string;
  readonly parameters: readonly string[];
}

export interface SearchStatements {
  readonly page: Statement;
  readonly count: Statement;
  /** Set if the statement `count` reads bins. It then has the parameters of `startCounts`. */
  readonly bins: BinnedCount | undefined;
}

/** The bookings on one side of an instant, plus or minus (`inProgress`) the bookings in progress at this instant. */
interface BinnedCount {
  readonly at: 'now' | 'start' | 'end' | undefined;
  readonly side?: Side;
  readonly inProgress?: 1 | -1;
}

/** Conditions for one part of the bookings that a search finds. Each of these bookings is in exactly one part. */
interface Part {
  readonly conditions: readonly Condition[];
  readonly hasFewRows?: boolean;
}

const fields = selectList(publicFields);
const maxShapes = 500;

/** Returns the function that builds the statements of a shape and caches them. */
export function createStatements(db: Knex): (shape: Shape) => SearchStatements {
  const cache = new Map<string, SearchStatements>();
  return (shape) => {
    const key = JSON.stringify(shape);
    const cached = cache.get(key);
    if (cached) return cached;
    const bins = binnedCount(shape);
    const count = bins ? countWithBins(db, shape, bins) : countRows(db, shape);
    const statements = { page: compile(pageQuery(db, shape)), count: compile(count), bins };
    if (cache.size >= maxShapes) cache.clear();
    cache.set(key, statements);
    return statements;
  };
}

function compile(builder: Knex.QueryBuilder): Statement {
  const { sql, bindings } = builder.toSQL().toNative();
  return { sql, parameters: bindings as string[] };
}

function selectBookings(db: Knex, columns: string, conditions: readonly Condition[]): Knex.QueryBuilder {
  return where(db.queryBuilder().select(db.raw(columns)).from('booking'), conditions);
}

function where(query: Knex.QueryBuilder, conditions: readonly Condition[]): Knex.QueryBuilder {
  for (const [sql, parameters = []] of conditions) query.whereRaw(sql, parameters);
  return query;
}

const ofFacilities = ({ facilities }: Shape): Condition => [`facility_id ${oneOf(facilities)}`, ['facilities']];

const pageInOrder = (query: Knex.QueryBuilder, columns: string): Knex.QueryBuilder =>
  query.orderByRaw(`${columns} limit ?::bigint offset ?::bigint`, ['limit', 'offset']);

function pageQuery(db: Knex, shape: Shape): Knex.QueryBuilder {
  const conditions = conditionsOf(isReadByBay(shape) ? { ...shape, filters: {} } : shape);
  const parts = partsOf(shape);

  // A part returns only its first rows, which limits how many rows PostgreSQL must sort. A part with few rows returns
  // all of them: with `order by start_date`, PostgreSQL would scan an index of the starts of all bookings, instead of
  // the small index booking_long.
  const firstRows = (columns: string, owner: Condition): Knex.QueryBuilder =>
    db.queryBuilder().unionAll(
      parts.map((part) => {
        const query = selectBookings(db, columns, [owner, ...conditions, ...part.conditions]);
        if (part.hasFewRows) return query;
        return query.orderByRaw('start_date, id limit ?::bigint + ?::bigint', ['limit', 'offset']);
      }),
      true,
    );

  // For several facilities or bays, the first rows of each are read and then sorted. Sorting all rows took hundreds of
  // times as long. Only the keys are sorted, so that PostgreSQL reads them from an index alone.
  const pageOfEach = (table: string, owner: Condition, selected: readonly Condition[]): Knex.QueryBuilder => {
    const rows = db.raw('?? cross join lateral ? page', [table, firstRows('facility_id, id, start_date', owner)]);
    const keys = pageInOrder(
      where(db.queryBuilder().select('page.*').from(rows), selected),
      'page.start_date, page.id',
    );
    return db
      .queryBuilder()
      .select(db.raw(fields))
      .from(keys.as('page'))
      .joinRaw('join booking on booking.facility_id = page.facility_id and booking.id = page.id')
      .orderByRaw('booking.start_date, booking.id');
  };
  if (isReadByBay(shape)) {
    const ofBay: Condition = ['facility_id = bay.facility_id and bay_id = bay.id'];
    return pageOfEach('bay', ofBay, [
      [`bay.facility_id ${oneOf(shape.facilities)}`, ['facilities']],
      ['bay.id = any(?)', ['bayIds']],
    ]);
  }
  if (shape.facilities === 'several' && !isSelective(shape))
    return pageOfEach('facility', ['facility_id = facility.id'], [['facility.id = any(?)', ['facilities']]]);
  const owner = ofFacilities(shape);
  if (parts.length === 1) {
    // PostgreSQL cannot estimate how many rows match metadata. The expression prevents it from reading all bookings in
    // the order of their starts until the page is full.
    const start = shape.filters.metadata ? "booking.start_date + interval '0'" : 'booking.start_date';
    return pageInOrder(selectBookings(db, fields, [owner, ...conditions]), `${start}, booking.id`);
  }
  const rows = db.raw('? page', [firstRows(fields, owner)]);
  return pageInOrder(db.queryBuilder().select('page.*').from(rows), 'page."startDate", page.id');
}

/**
 * A search that is split has three parts: short bookings in progress at the instant, long bookings in progress, and
 * bookings that start later.
 */
function partsOf(shape: Shape): readonly Part[] {
  const split = splitInstant(shape);
  if (!split) return [{ conditions: [] }];
  // If a search for active bookings is split at the start of an interval, `conditionsOf` already contains the condition
  // for active bookings.
  const [short, long] = inProgressAt(split, shape.isActive === true && split === 'now');
  const later: Condition = ['start_date > ?::timestamptz', [split]];
  return [{ conditions: short }, { conditions: long, hasFewRows: true }, { conditions: [later] }];
}

/**
 * Whether the search is for several bays, and the index booking_by_bay contains every column of the conditions. If so,
 * this index is read once for each bay and returns the bookings of the bay in the order of the list. The index does
 * not help with conditions that compare ranges of times, such as those of `isActive` and of an interval with a start.
 */
function isReadByBay(shape: Shape): boolean {
  const { filters, time, isActive, upcoming } = shape;
  if (filters.bayIds !== 'several' || Object.keys(filters).length > 1) return false;
  return isActive !== true && !upcoming && (!time || time === 'until');
}

function countRows(db: Knex, shape: Shape): Knex.QueryBuilder {
  const conditions = [ofFacilities(shape), ...conditionsOf(shape)];
  const parts = partsOf(shape).map((part) => selectBookings(db, '1', [...conditions, ...part.conditions]));
  return sumOf(db, 'count(*)', parts);
}

/**
 * Returns how the bins count a search. Undefined if they cannot: bins count bookings by location and start only, so
 * they cannot count a search that has other filters or several conditions on dates.
 */
function binnedCount(shape: Shape): BinnedCount | undefined {
  const { isActive, time, upcoming } = shape;
  if (usedFilters(shape).some(([name]) => name !== 'locationIds')) return undefined;
  if (upcoming || (time && isActive !== undefined)) return undefined;
  // Whether a booking is `within` an interval depends on its end too.
  if (time === 'within' || time === 'between' || time === 'instant') return undefined;
  if (time === 'until') return { at: 'end', side: 'before' };
  if (time === 'from') return { at: 'start', side: 'from', inProgress: 1 };
  if (isActive === undefined) return { at: undefined };
  return isActive ? { at: 'now', side: 'from', inProgress: 1 } : { at: 'now', side: 'before', inProgress: -1 };
}

function countWithBins(db: Knex, shape: Shape, { at, side, inProgress }: BinnedCount): Knex.QueryBuilder {
  const counts = startCounts(db, shape, side);
  if (at && inProgress) {
    const scope = [ofFacilities(shape), ...conditionsOf({ ...shape, isActive: undefined, time: undefined })];
    for (const conditions of inProgressAt(at, shape.isActive !== undefined))
      counts.push(selectBookings(db, `facility_id, ${inProgress}`, [...scope, ...conditions]));
  }
  return sumOf(db, 'coalesce(sum(n), 0)', counts);
}

function sumOf(db: Knex, total: string, queries: readonly Knex.QueryBuilder[]): Knex.QueryBuilder {
  const rows = db.queryBuilder().unionAll([...queries], true);
  return db
    .queryBuilder()
    .select(db.raw(`${total}::int as total`))
    .from(rows.as('counted'));
}
