// Reads records and other lists that are rows of one statement.
import type { PageRequest } from '@bay-booking/common/page';
import { type Queryable, query } from '@bay-booking/service/database/database';
import { queryPage } from '@bay-booking/service/database/page-statements';
import type { Entry, Stored } from './record.ts';

/**
 * Returns the conditions of a list by the name of its filter. `{name}` is the value. A filter that is left out selects
 * every row.
 */
export function filterRows(conditions: Readonly<Record<string, string>>) {
  const names = Object.keys(conditions);
  const numbered = (sql: string) => sql.replace(/\{(\w+)\}/g, (_match, name) => `$${names.indexOf(name) + 1}`);
  return {
    sql: names.map((name) => ` and (${numbered(`{${name}}::text is null or ${conditions[name]}`)})`).join(''),
    values: (filter: Entry): readonly unknown[] => names.map((name) => filter[name] ?? null),
  };
}

interface Rows {
  readonly columns: string;
  /** Ends with a condition. */
  readonly from: string;
  readonly orderBy: string;
  readonly conditions: Readonly<Record<string, string>>;
}

export function createList<Row extends object>({ columns, from, orderBy, conditions }: Rows) {
  const { sql, values } = filterRows(conditions);
  const statement = { columns, from: from + sql, orderBy };
  return (on: Queryable, filter: Entry, page: PageRequest) => queryPage<Row>(on, statement, values(filter), page);
}

/** The reading functions of a kind. `byKey` is a condition on $1. */
export function createReads<Row extends object, R>(
  rows: Rows & { readonly byKey: string },
  read: (row: Row) => Stored<R>,
) {
  const { columns, from, byKey } = rows;
  const list = createList<Row>(rows);
  return {
    find: async (on: Queryable, key: string) =>
      (await query<Row>(on, `select ${columns} ${from} and ${byKey}`, [key])).map(read)[0],
    list: async (on: Queryable, filter: Entry, page: PageRequest) => {
      const { rows: found, total } = await list(on, filter, page);
      return { rows: found.map((row) => read(row).record), total };
    },
  };
}
