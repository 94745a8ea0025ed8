// Builds the SQL that counts the bookings that start before or after an instant, from the bins (see bins.ts).
import type { Knex } from 'knex';
import { oneOf, type Size } from '../../database/sql.ts';
import { facilitySpans, locationSpans, uncountedStarts } from './bins.ts';

/** Whose bookings are counted. Undefined `locations`: all locations of the facilities. */
export interface Scope {
  readonly facilities: Size;
  readonly locations: Size | undefined;
}

/** The bookings that start before an instant, or at this instant or later. */
export type Side = 'before' | 'from';

const hourMs = 3_600_000;

const spansOf = ({ locations }: Scope): readonly number[] => (locations ? locationSpans : facilitySpans);

/**
 * Returns queries whose rows have a column `n`. The sum of `n` is the number of bookings that start on this side of the
 * parameter `instant`, or the number of all bookings without `side`. The names of the parameters are the bindings of
 * the queries: `facilities`, `locationIds`, `instant` and those of `boundaries`.
 *
 * Long bins cover most of the time, and shorter bins the time near the instant. In the shortest bin that contains the
 * instant, the bookings themselves are counted.
 */
export function startCounts(db: Knex, scope: Scope, side?: Side): Knex.QueryBuilder[] {
  const { facilities, locations } = scope;
  const inFacilities = oneOf(facilities);
  const ofScope = (query: Knex.QueryBuilder): Knex.QueryBuilder => {
    query.whereRaw(`facility_id ${inFacilities}`, ['facilities']);
    return locations ? query.whereRaw(`location_id ${oneOf(locations)}`, ['locationIds']) : query;
  };
  const bins = (span: number): Knex.QueryBuilder => {
    const query = ofScope(
      db.queryBuilder().select('facility_id', 'n').from('booking_count').whereRaw(`span = ${span}`),
    );
    return locations ? query : query.whereRaw("location_id = ''");
  };
  const starts = db.raw(`(${uncountedStarts(inFacilities)}) uncounted`, ['facilities']);
  const uncounted = db.queryBuilder().select('facility_id', 'n').from(starts);
  if (locations) uncounted.whereRaw(`location_id ${oneOf(locations)}`, ['locationIds']);

  const spans = spansOf(scope);
  if (!side) return [bins(spans[0] as number), uncounted];
  const [inside, outside] = side === 'before' ? ['<', '>='] : ['>=', '<'];
  const shortest = boundaryName(spans.at(-1) as number);
  return [
    ...spans.map((span, index) => {
      const longer = spans[index - 1];
      const query = bins(span).whereRaw(`begins ${inside} ?::timestamptz`, [boundaryName(span)]);
      return longer ? query.whereRaw(`begins ${outside} ?::timestamptz`, [boundaryName(longer)]) : query;
    }),
    uncounted.whereRaw(`start_date ${inside} ?::timestamptz`, [shortest]),
    ofScope(db.queryBuilder().select('facility_id', db.raw('1')).from('booking'))
      .whereRaw(`start_date ${outside} ?::timestamptz`, [shortest])
      .whereRaw(`start_date ${inside} ?::timestamptz`, ['instant']),
  ];
}

/**
 * Returns the parameters of `startCounts` that depend on the instant: for each span, the beginning (`before`) or the
 * end (`from`) of the bin that contains the instant.
 */
export function boundaries(scope: Scope, side: Side, instant: Date): Readonly<Record<string, Date>> {
  const entries = spansOf(scope).map((span) => {
    const length = span * hourMs;
    const bin = Math.floor(instant.getTime() / length) + (side === 'before' ? 0 : 1);
    return [boundaryName(span), new Date(bin * length)];
  });
  return Object.fromEntries(entries);
}

const boundaryName = (span: number): string => `boundary of ${span} hours`;
