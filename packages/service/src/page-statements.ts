// Reads one page of what a static statement finds, and the total. Builds the conditions of filters.
import { type PageRequest, readPage } from '@bay-booking/common/page';
import { type Queryable, query, queryOne } from './database/database.ts';

export interface PagedStatement {
  readonly columns: string;
  /** From `from` to the conditions. */
  readonly from: string;
  readonly orderBy: string;
}

/** `filter` contains the values of all parameters in the statement. */
export function queryPage<Row extends object>(
  db: Queryable,
  { columns, from, orderBy }: PagedStatement,
  filter: readonly unknown[],
  page: PageRequest,
) {
  const [limit, offset] = [filter.length + 1, filter.length + 2];
  const rows = `select ${columns} ${from} order by ${orderBy} limit $${limit} offset $${offset}`;
  return readPage(
    page,
    (...limits) => query<Row>(db, rows, [...filter, ...limits]),
    async () => (await queryOne<{ total: number }>(db, `select count(*)::int as total ${from}`, filter))?.total ?? 0,
  );
}

type Filter = Readonly<Record<string, unknown>>;

/**
 * Returns the conditions of a list by the name of its filter. `{name}` is the value. A filter that is left out selects
 * every row.
 */
export function filterRows(conditions: Readonly<Record<string, string>>) {
  const names = Object.keys(conditions);
  const numbered = (sql: string) => sql.replace(/\{(\w+)\}/g, (_match, name) => `$${names.indexOf(name) + 1}`);
  return {
    sql: names.map((name) => ` and (${numbered(`{${name}}::text is null or ${conditions[name]}`)})`).join(''),
    values: (filter: Filter): readonly unknown[] => names.map((name) => filter[name] ?? null),
  };
}

export interface FilteredStatement extends PagedStatement {
  readonly conditions: Readonly<Record<string, string>>;
}

/** `from` must end with a condition. */
export function createFilteredList<Row extends object>({ columns, from, orderBy, conditions }: FilteredStatement) {
  const { sql, values } = filterRows(conditions);
  const statement = { columns, from: from + sql, orderBy };
  return (on: Queryable, filter: Filter, page: PageRequest) => queryPage<Row>(on, statement, values(filter), page);
}
