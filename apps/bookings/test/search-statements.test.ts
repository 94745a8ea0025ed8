// Tests that generated searches find the same bookings as a simple filter in TypeScript. The SQL statements split a
// search into parts, so that an index finds each part. To test the boundaries of the parts, many bookings start or end
// exactly at the instants of the searches.
import { connectDatabase, type Database, query } from '@bay-booking/service/database/database';
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Criteria } from '../src/bookings/search/filters.ts';
import { createSearchStore } from '../src/bookings/search/store.ts';
import { bookingState } from '../src/bookings/storage/columns.ts';
import { recount } from '../src/changes/recount.ts';
import { bookingsMigrations } from '../src/config.ts';
import { distribution } from '../src/database/distribution.ts';

const hour = 3_600_000;
const origin = Date.UTC(2030, 0, 1);
const at = (hours: number): Date => new Date(origin + hours * hour);
/** The lengths of the test bookings, in hours. A booking of 0 hours starts and ends at the same instant. */
const lengths = [0, 1, 1, 2, 9];

interface TestBooking {
  readonly id: string;
  readonly facility: string;
  readonly location: string;
  /** `start` and `end` are in hours after 1 January 2030 (`origin`). */
  readonly start: number;
  readonly end: number;
}

/** Six groups of bookings in two facilities with two locations each. In a group, a booking starts every three hours. */
const bookings: TestBooking[] = [];
for (let group = 0; group < 6; group++) {
  for (let start = group % 3; start < 40; start += 3) {
    const number = String(bookings.length).padStart(12, '0');
    const end = start + (lengths[(start + group) % lengths.length] ?? 0);
    const facility = `f${group % 2}`;
    // The facility f0 has the locations l0a and l0b, and f1 has l1a and l1b.
    const location = `l${group % 2}${group % 3 === 0 ? 'a' : 'b'}`;
    bookings.push({ id: `00000000-0000-7000-8000-${number}`, facility, location, start, end });
  }
}

/** A third of the bookings have no metadata. */
const metadataOf = (start: number) => (start % 3 === 0 ? null : { shop: 'web', remainder: String(start % 3) });

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase({ migrations: bookingsMigrations, distribution });
  db = connectDatabase({ url: database.url, applicationName: 'test' });
  await query(db, "insert into facility select id, id, 'UTC' from unnest($1::text[]) id", [['f0', 'f1']]);
  for (const { id, facility, location, start, end } of bookings) {
    await query(db, 'insert into location values ($1, $2, $2) on conflict do nothing', [facility, location]);
    // Each booking has its own bay. The bay and the booking have the same id.
    await query(db, "insert into bay values ($1, $2, $3, '', '', '', true)", [facility, id, location]);
    await query(
      db,
      `insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date,
         created_at, last_updated_at, metadata)
       values ($1, $2::uuid, $3, $2::text, 'Ann', $4, $5, now(), now(), $6)`,
      [facility, id, location, at(start), at(end), metadataOf(start)],
    );
  }
  await recount(db, bookingState);
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

/** The current time of the searches, in hours after the start of 2030. */
const now = 20;
/** The bays of two thirds of the bookings. */
const someBays = bookings.filter((_, index) => index % 3 > 0).map(({ id }) => id);

interface Filter {
  readonly facilities: string[];
  readonly isActive?: boolean;
  readonly locationIds?: string[];
  readonly bayIds?: string[];
  readonly userAlias?: string;
  readonly metadata?: { shop?: string; remainder?: string };
  readonly text?: string;
  readonly time?:
    | { kind: 'within'; start: number; end: number }
    | { kind: 'overlapping'; start?: number; end?: number };
}
const start = fc.integer({ min: 0, max: 30 });
const end = fc.integer({ min: 10, max: 40 });
const filters: fc.Arbitrary<Filter> = fc.record(
  {
    facilities: fc.constantFrom(['f0'], ['f0', 'f1']),
    isActive: fc.boolean(),
    locationIds: fc.subarray(['l0a', 'l0b', 'l1a', 'l1b'], { minLength: 1 }),
    bayIds: fc.constantFrom(someBays, someBays.slice(0, 1)),
    userAlias: fc.constant('Ann'),
    metadata: fc.constantFrom({ shop: 'web' }, { shop: 'web', remainder: '2' }, { remainder: '1' }),
    text: fc.constant('eb'),
    time: fc.oneof(
      fc.record({ kind: fc.constant('within' as const), start, end }),
      fc.record({ kind: fc.constant('overlapping' as const), start, end }, { requiredKeys: ['kind'] }),
    ),
  },
  { requiredKeys: ['facilities'] },
);

function isFound(
  booking: TestBooking,
  { facilities, isActive, locationIds, bayIds, time, ...filter }: Filter,
): boolean {
  const metadata = metadataOf(booking.start);
  if (!facilities.includes(booking.facility)) return false;
  if (isActive !== undefined && isActive !== booking.end > now) return false;
  if (locationIds && !locationIds.includes(booking.location)) return false;
  if (bayIds && !bayIds.includes(booking.id)) return false;
  // Of the texts of a booking, only the shop contains `eb`.
  if ((filter.text || filter.metadata?.shop) && !metadata) return false;
  if (filter.metadata?.remainder && filter.metadata.remainder !== metadata?.remainder) return false;
  if (time?.kind === 'within') return booking.start >= time.start && booking.end <= time.end;
  return isOverlapping(booking, time?.start ?? -1e9, time?.end ?? 1e9);
}

/**
 * Whether the booking overlaps the interval, which includes `from` and excludes `to`, unless both are equal. A booking
 * may end when it starts.
 */
const isOverlapping = ({ start, end }: TestBooking, from: number, to: number): boolean =>
  (start === end ? start >= from : end > from) && (from === to ? start <= to : start < to);

test('any search in any facilities returns the expected pages and total', async () => {
  const { search } = createSearchStore(db);
  const pageSize = 7;
  let found = 0;
  await fc.assert(
    fc.asyncProperty(filters, async (filter) => {
      const { time, text } = filter;
      if (time?.start !== undefined && time.end !== undefined) fc.pre(time.start <= time.end);
      const expected = bookings
        .filter((booking) => isFound(booking, filter))
        .sort((a, b) => a.start - b.start || (a.id < b.id ? -1 : 1))
        .map(({ id }) => id);
      const criteria = {
        ...filter,
        now: at(now),
        ...(text && { textPattern: '', jsonPattern: text }),
        ...(time && {
          time: {
            kind: time.kind,
            start: time.start === undefined ? undefined : at(time.start),
            end: time.end === undefined ? undefined : at(time.end),
          },
        }),
      } as Criteria;
      const ids: string[] = [];
      // The last page of the loop is empty.
      for (let page = 1; page <= Math.ceil(expected.length / pageSize) + 1; page++) {
        const { rows, total } = await search(criteria, { page, pageSize });
        expect(total).toBe(expected.length);
        ids.push(...rows.map(({ id }) => id));
      }
      expect(ids).toEqual(expected);
      if (ids.length > 0) found += 1;
    }),
    { numRuns: process.env.STRESS ? 5_000 : 200 },
  );
  expect(found).toBeGreaterThan(40);
});
