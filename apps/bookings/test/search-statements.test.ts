// Tests that searches find the same bookings as simple filters in TypeScript. The SQL statements split a search into
// parts, so that an index finds each part. To test the boundaries of the parts, many bookings start or end exactly at
// the instants of the searches.
import { connectDatabase, type Database, query } from '@bay-booking/service/database/database';
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Criteria } from '../src/bookings/search/conditions.ts';
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

/** The bounds of intervals without a beginning or without an end, in hours after the start of 2030. */
const [beginningOfTime, endOfTime] = [-1e9, 1e9];
/**
 * Whether the booking overlaps the interval, which includes `from` and excludes `to`. A booking may end when it starts.
 */
const isOverlapping = ({ start, end }: TestBooking, from: number, to: number): boolean =>
  start === end ? start >= from && start < to : start < to && end > from;

/** The current time of the searches, in hours after the start of 2030. */
const now = 20;
/** The bays of two thirds of the bookings. Each booking has its own bay, with the same id as the booking. */
const bays = bookings.filter((_, index) => index % 3 > 0).map(({ id }) => id);
const cases: [name: string, filter: Partial<Criteria>, rule: (booking: TestBooking) => boolean][] = [
  ['all bookings', {}, () => true],
  ['active', { isActive: true }, ({ end }) => end > now],
  ['ended', { isActive: false }, ({ end }) => end <= now],
  [
    'active, of a location',
    { isActive: true, locationIds: ['l0a'] },
    ({ end, location }) => end > now && location === 'l0a',
  ],
  [
    'ended, of locations',
    { isActive: false, locationIds: ['l0a', 'l0b'] },
    ({ end, location }) => end <= now && ['l0a', 'l0b'].includes(location),
  ],
  [
    'before an instant, of a location',
    { locationIds: ['l0b'], time: { kind: 'overlapping', start: undefined, end: at(30) } },
    (booking) => booking.location === 'l0b' && isOverlapping(booking, beginningOfTime, 30),
  ],
  ['of bays', { bayIds: bays }, ({ id }) => bays.includes(id)],
  ['ended, of bays', { bayIds: bays, isActive: false }, ({ id, end }) => bays.includes(id) && end <= now],
  ['active, of bays', { bayIds: bays, isActive: true }, ({ id, end }) => bays.includes(id) && end > now],
  [
    'of bays, before an instant',
    { bayIds: bays, time: { kind: 'overlapping', start: undefined, end: at(17) } },
    (booking) => bays.includes(booking.id) && isOverlapping(booking, beginningOfTime, 17),
  ],
  [
    'from an instant on',
    { time: { kind: 'overlapping', start: at(17), end: undefined } },
    (booking) => isOverlapping(booking, 17, endOfTime),
  ],
  [
    'before an instant',
    { time: { kind: 'overlapping', start: undefined, end: at(17) } },
    (booking) => isOverlapping(booking, beginningOfTime, 17),
  ],
  [
    'overlapping an interval',
    { time: { kind: 'overlapping', start: at(9), end: at(17) } },
    (booking) => isOverlapping(booking, 9, 17),
  ],
  [
    'active, from an instant on',
    { isActive: true, time: { kind: 'overlapping', start: at(12), end: undefined } },
    (booking) => booking.end > now && isOverlapping(booking, 12, endOfTime),
  ],
  [
    'active, before an instant',
    { isActive: true, time: { kind: 'overlapping', start: undefined, end: at(30) } },
    (booking) => booking.end > now && isOverlapping(booking, beginningOfTime, 30),
  ],
  [
    'ended, from an instant on',
    { isActive: false, time: { kind: 'overlapping', start: at(12), end: undefined } },
    (booking) => booking.end <= now && isOverlapping(booking, 12, endOfTime),
  ],
  ['active, of an alias', { isActive: true, userAlias: 'Ann' }, ({ end }) => end > now],
  ['with metadata', { metadata: { shop: 'web' } }, ({ start }) => start % 3 > 0],
  ['with two fields of metadata', { metadata: { shop: 'web', remainder: '2' } }, ({ start }) => start % 3 === 2],
  [
    'ended, of locations, with metadata',
    { metadata: { remainder: '1' }, isActive: false, locationIds: ['l0a', 'l0b', 'l1b'] },
    ({ start, end, location }) => start % 3 === 1 && end <= now && ['l0a', 'l0b', 'l1b'].includes(location),
  ],
  [
    'of bays, with metadata, from an instant on',
    { bayIds: bays, metadata: { shop: 'web' }, time: { kind: 'overlapping', start: at(12), end: undefined } },
    (booking) => bays.includes(booking.id) && booking.start % 3 > 0 && isOverlapping(booking, 12, endOfTime),
  ],
  [
    'with a text in metadata, overlapping an interval',
    { text: 'eb', textPattern: '', jsonPattern: 'eb', time: { kind: 'overlapping', start: at(9), end: at(17) } },
    (booking) => booking.start % 3 > 0 && isOverlapping(booking, 9, 17),
  ],
  [
    'within an interval',
    { locationIds: ['l0a', 'l1b'], time: { kind: 'within', start: at(9), end: at(17) } },
    (booking) => ['l0a', 'l1b'].includes(booking.location) && booking.start >= 9 && booking.end <= 17,
  ],
];

test.each(
  cases.flatMap(([name, filter, rule]) =>
    [['f0'], ['f0', 'f1']].map((facilities) => ({ name, facilities, filter, rule })),
  ),
)(
  'a search for bookings ($name) in $facilities returns the expected pages and total',
  async ({ facilities, filter, rule }) => {
    const { search } = createSearchStore(db);
    const expected = bookings
      .filter((booking) => facilities.includes(booking.facility) && rule(booking))
      .sort((a, b) => a.start - b.start || (a.id < b.id ? -1 : 1))
      .map(({ id }) => id);
    const found: string[] = [];
    const pageSize = 7;
    // The last page of the loop is empty.
    for (let page = 1; page <= Math.ceil(expected.length / pageSize) + 1; page++) {
      const { rows, total } = await search({ facilities, now: at(now), ...filter }, { page, pageSize });
      expect(total).toBe(expected.length);
      found.push(...rows.map(({ id }) => id));
    }
    expect(expected.length).toBeGreaterThan(0);
    expect(found).toEqual(expected);
  },
);
