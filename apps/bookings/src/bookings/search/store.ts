// Searches bookings: reads one page and counts all matching bookings.
import { type PageRequest, readPage } from '@bay-booking/common/page';
import { type Database, query } from '@bay-booking/service/database/database';
import { boundaries } from '../../changes/totals/totals.ts';
import type { PublicBooking } from '../resource.ts';
import { type Criteria, instantText, shapeOf } from './criteria.ts';
import { createStatements, type SearchStatements, type Statement } from './statements.ts';

export interface SearchResult {
  readonly rows: readonly PublicBooking[];
  readonly total: number;
}

export type SearchStore = ReturnType<typeof createSearchStore>;

export function createSearchStore(db: Database) {
  const statementsOf = createStatements(db);

  const run = <Row extends object>({ sql, parameters }: Statement, values: Readonly<Record<string, unknown>>) =>
    query<Row>(
      db,
      sql,
      parameters.map((name) => values[name]),
    );

  return {
    search: (criteria: Criteria, request: PageRequest): Promise<SearchResult> => {
      const shape = shapeOf(criteria);
      const { page, count, bins } = statementsOf(shape);
      const values = valuesOf(criteria);
      return readPage(
        request,
        (limit, offset) => run<PublicBooking>(page, { ...values, limit, offset }),
        async () => {
          const [counted] = await run<{ total: number }>(count, { ...values, ...binValues(criteria, bins) });
          return counted?.total ?? 0;
        },
      );
    },
  };
}

function valuesOf(criteria: Criteria): Readonly<Record<string, unknown>> {
  const { time, now } = criteria;
  const parameters = Object.entries(criteria).map(([name, value]) => [
    name,
    Array.isArray(value) && value.length === 1 ? value[0] : value,
  ]);
  return {
    ...Object.fromEntries(parameters),
    now: instantText(now),
    start: time?.start && instantText(time.start),
    end: time?.end && instantText(time.end),
  };
}

function binValues(criteria: Criteria, bins: SearchStatements['bins']): Readonly<Record<string, string>> {
  if (!bins?.at || !bins.side) return {};
  const { at, side, inProgress } = bins;
  const instant = (at === 'now' ? criteria.now : criteria.time?.[at]) as Date;
  // If `inProgress` is set, bookings in progress at the instant are counted separately. The bins then count starts from
  // 1 ms after the instant.
  const bound = inProgress ? new Date(instant.getTime() + 1) : instant;
  const values = Object.entries({ instant: bound, ...boundaries(shapeOf(criteria), side, bound) });
  return Object.fromEntries(values.map(([name, value]) => [name, instantText(value)]));
}
