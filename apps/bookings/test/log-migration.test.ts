// Tests that migration 14 converts the bookings, feed and counts of the previous release to the log of changes.
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectDatabase, type Database, query } from '@bay-booking/service/database/database';
import { migrate } from '@bay-booking/service/database/migrate';
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bookingState } from '../src/bookings/storage/columns.ts';
import { createFeedStore } from '../src/changes/feed/store.ts';
import { recount } from '../src/changes/recount.ts';
import { migrationsDirectory } from '../src/database/migrations-directory.ts';
import { isoTimestamps } from '../src/time/timestamps.ts';

const idOf = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`;

/** A session with another time zone has deleted the booking. */
const lastState = (number: number): string =>
  JSON.stringify({
    id: idOf(number),
    facilityId: 'fac',
    bayId: 'bay',
    userAlias: 'gone',
    startDate: '2030-01-01T10:00:00.5+01:00',
    endDate: '2030-01-01T11:00:00+01:00',
    createdAt: '2029-01-01T01:00:00+01:00',
    lastUpdatedAt: '2029-01-01T01:00:00+01:00',
    version: 1,
  });

/** What the previous release has stored. The facility's changes up to number 40 have a number. */
const previousRelease = `
insert into facility (id, name, time_zone, change_number, removed_change_number, feed_filled_to)
  values ('fac', 'F', 'UTC', 40, 3, null), ('unread', 'U', 'UTC', 0, 0, default);
insert into location (facility_id, id, name) values ('fac', 'loc', 'L'), ('unread', 'loc-u', 'L');
insert into bay (facility_id, id, location_id, name, description, kind, bookable)
  values ('fac', 'bay', 'loc', 'B', '', '', true), ('unread', 'bay-u', 'loc-u', 'B', '', '', true);
insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date, created_at,
    last_updated_at, version)
  select 'fac', id::uuid, 'loc', 'bay', alias, start, start + interval '1 hour', '2029-01-01Z', '2029-02-01Z', version
  from (values
    ('${idOf(1)}', 'numbered', timestamptz '2030-01-01 08:00Z', 1),
    ('${idOf(2)}', 'updated', '2030-01-02 08:00:00.25Z', 2),
    ('${idOf(3)}', 'update without a number', '2030-01-03 08:00Z', 2),
    ('${idOf(4)}', 'creation without a number', '2030-01-04 08:00Z', 1)
  ) stored (id, alias, start, version);
insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date, created_at,
    last_updated_at)
  values ('unread', '${idOf(7)}', 'loc-u', 'bay-u', 'not in the feed', '2030-01-01Z', '2030-01-02Z', '2029-01-01Z',
    '2029-01-01Z');
insert into booking_feed (facility_id, booking_id, number, first_number, version, deleted, last_state, changed_at)
  values ('fac', '${idOf(1)}', 10, 10, 1, false, null, now()), ('fac', '${idOf(2)}', 40, 11, 2, false, null, now()),
    ('fac', '${idOf(3)}', 12, 12, 1, false, null, now()),
    ('fac', '${idOf(5)}', 39, 13, 2, true, '${lastState(5)}', '2029-03-01Z'),
    ('fac', '${idOf(6)}', 14, 14, 1, false, null, now());
insert into booking_change (facility_id, booking_id, version, n, location_id, hour, last_state)
  values ('fac', '${idOf(3)}', 2, 0, 'loc', '2030-01-03 08:00Z', null),
    ('fac', '${idOf(4)}', 1, 1, 'loc', '2030-01-04 08:00Z', null),
    ('fac', '${idOf(6)}', 2, -1, 'loc', '2030-01-01 09:00Z', '${lastState(6)}');
`;

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  const directory = await mkdtemp(join(tmpdir(), 'bay-booking-migrations-'));
  try {
    const isOlder = (path: string) => !/[\\/]0(?:01[4-9]|0[2-9]\d|[1-9]\d\d)_/.test(path);
    await cp(migrationsDirectory, directory, { recursive: true, filter: isOlder });
    await migrate({ url: database.url, directory });
  } finally {
    await rm(directory, { recursive: true });
  }
  db = connectDatabase({ url: database.url, applicationName: 'test', types: isoTimestamps });
  await query(db, previousRelease);
  await migrate({ url: database.url, directory: migrationsDirectory });
});
afterAll(async () => {
  await db?.destroy();
  await database.drop();
});

test('each booking has one change, with the state of the booking and the numbers of the feed', async () => {
  const { changes, removedNumber } = await createFeedStore(db).changesAfter('fac', 0, 100);
  expect(removedNumber).toBe(3);
  expect(changes).toMatchObject([
    { number: 10, firstNumber: 10, bookingId: idOf(1), isDeleted: false, state: { userAlias: 'numbered' } },
    { number: 39, firstNumber: 13, bookingId: idOf(5), isDeleted: true, state: { userAlias: 'gone' } },
    { number: 40, firstNumber: 11, bookingId: idOf(2), isDeleted: false, state: { userAlias: 'updated' } },
    { number: 41, firstNumber: 12, bookingId: idOf(3), isDeleted: false },
    { number: 42, firstNumber: 42, bookingId: idOf(4), isDeleted: false },
    { number: 43, firstNumber: 14, bookingId: idOf(6), isDeleted: true, state: { userAlias: 'gone' } },
  ]);
  expect(changes[2]?.state).toEqual({
    id: idOf(2),
    externalBookingId: null,
    correlationId: null,
    bayId: 'bay',
    locationId: 'loc',
    userAlias: 'updated',
    startDate: '2030-01-02T08:00:00.250Z',
    endDate: '2030-01-02T09:00:00.250Z',
    createdAt: '2029-01-01T00:00:00.000Z',
    lastUpdatedAt: '2029-02-01T00:00:00.000Z',
  });
  expect(changes[1]?.state).toEqual({
    id: idOf(5),
    bayId: 'bay',
    locationId: 'loc',
    userAlias: 'gone',
    startDate: '2030-01-01T09:00:00.500Z',
    endDate: '2030-01-01T10:00:00.000Z',
    createdAt: '2029-01-01T00:00:00.000Z',
    lastUpdatedAt: '2029-01-01T00:00:00.000Z',
  });
});

test('a booking that was not in the feed has a number, and is created at its `createdAt`', async () => {
  const rows = await query(
    db,
    "select number::int, action, at, version from booking_change where facility_id = 'unread'",
  );
  expect(rows).toEqual([{ number: 1, action: 'created', at: '2029-01-01T00:00:00.000Z', version: 1 }]);
});

test('the counts are exact, and no change is counted twice', async () => {
  expect(await query(db, 'select from booking_change where number is null')).toEqual([]);
  expect(await recount(db, bookingState)).toBe(0);
  const totals = await query(
    db,
    "select facility_id, sum(n)::int as n from booking_count where span = 768 and location_id = '' group by 1 order by 1",
  );
  expect(totals).toEqual([
    { facility_id: 'fac', n: 4 },
    { facility_id: 'unread', n: 1 },
  ]);
});
