// Tests the dataset of the benchmark: its bookings are valid, and the service knows their totals and changes.
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { datasetOf, dayStart, loadDataset, onDatabase } from '../src/dataset.ts';
import { thisRelease } from '../src/processes.ts';

describe('loadDataset', () => {
  const dataset = datasetOf(8_000);
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await loadDataset(database.url, dataset, thisRelease);
  });
  afterAll(() => database.drop());

  const query = (sql: string) => onDatabase(database.url, async (client) => (await client.query(sql)).rows);
  const count = async (sql: string): Promise<number> => Number((await query(`select count(*) from ${sql}`))[0].count);

  test('writes as many bookings as requested, of today, a week after today and the days before', async () => {
    const [row] = await query('select count(*)::int, max(start_date) as last from booking');
    expect(row.count).toBe(8_000);
    expect(row.last.toISOString().slice(0, 10)).toBe(dayStart(7).slice(0, 10));
  });

  test('leaves every index valid, and creates no overlapping bookings', async () => {
    expect(await count('pg_index where not indisvalid or not indisready')).toBe(0);
    const overlapping = `booking a join booking b on a.facility_id = b.facility_id and a.bay_id = b.bay_id
      and a.id < b.id and a.start_date < b.end_date and b.start_date < a.end_date`;
    expect(await count(overlapping)).toBe(0);
    // A copy of a booking without its external id overlaps the booking.
    const copy = query(
      `insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date, created_at,
         last_updated_at)
       select facility_id, gen_random_uuid(), location_id, bay_id, user_alias, start_date, end_date, created_at,
         last_updated_at from booking limit 1`,
    );
    const exclusionViolation = '23P01';
    await expect(copy).rejects.toMatchObject({ code: exclusionViolation });
  });

  test('creates ids that end with the tag of the facility, and a reference for each external id', async () => {
    // The tag is the first 16 bits of the SHA-256 of the facility id. Character 15 of a UUID is its version.
    const untagged = `booking
      where right(id::text, 4) <> left(encode(sha256(facility_id::bytea), 'hex'), 4) or substr(id::text, 15, 1) <> '7'`;
    expect(await count(untagged)).toBe(0);
    const unmatched = `booking b full join booking_reference r
      on r.booking_id = b.id and r.external_booking_id = b.external_booking_id
      where r.booking_id is null and b.external_booking_id is not null or b.id is null`;
    expect(await count(unmatched)).toBe(0);
  });
});

describe('datasetOf', () => {
  // A facility has 40 bays with 12 bookings a day, so eight days of a facility have 3840 bookings.
  test.each([
    [10_000, 2],
    [100_000, 26],
    [1_000_000, 250],
    [10_000_000, 250],
  ])('%i bookings fill eight days or more of %i facilities', (bookings, facilities) => {
    expect(datasetOf(bookings)).toEqual({ bookings, facilities });
  });

  test('fewer bookings than two facilities need are refused', () => {
    expect(() => datasetOf(7_679)).toThrow('at least 7680');
  });
});
