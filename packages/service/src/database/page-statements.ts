// Reads one page of the rows of a static statement, and their total.
import { type PageRequest, readPage } from '@bay-booking/common/page';
import { type Queryable, query } from './database.ts';

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
    async () => (await query<{ total: number }>(db, `select count(*)::int as total ${from}`, filter))[0]?.total ?? 0,
  );
}
