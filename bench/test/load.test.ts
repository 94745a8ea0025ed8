// Tests the loader of the benchmark: it creates valid bookings and indexes, and refuses a database with other data.
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { datasetOf } from '../src/dataset.ts';
import { loadDataset } from '../src/load.ts';

/** The default of the benchmark. A dataset with 5,000 bookings has fewer facilities. */
const maxFacilities = 250;
const dataset = datasetOf(5_000, maxFacilities);

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase();
  await loadDataset(database.url, dataset, () => {});
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const count = async (sql: string): Promise<number> => Number((await client.query(sql)).rows[0].count);

describe('the loader', () => {
  const exclusionViolation = '23P01';

  test('writes exactly as many bookings as requested, and nothing when it runs again', async () => {
    const lines: string[] = [];
    await loadDataset(database.url, dataset, (line) => lines.push(line));
    expect(await count('select count(*) from booking')).toBe(5_000);
    expect(lines.at(-1)).toBe('the 5000 bookings exist already');
  });

  test('leaves every index valid, and creates no overlapping bookings', async () => {
    expect(await count('select count(*) from pg_index where not indisvalid or not indisready')).toBe(0);
    const overlapping = `select count(*) from booking a join booking b on a.facility_id = b.facility_id
      and a.bay_id = b.bay_id and a.id < b.id and a.start_date < b.end_date and b.start_date < a.end_date`;
    expect(await count(overlapping)).toBe(0);
    // A copy of a booking, without its external id and correlation id, overlaps the booking.
    const copy = client.query(
      `insert into booking select facility_id, gen_random_uuid(), location_id, bay_id, null, null, user_alias,
       start_date, end_date, created_at, last_updated_at from booking limit 1`,
    );
    await expect(copy).rejects.toMatchObject({ code: exclusionViolation });
  });

  test('creates ids that end with the tag of the facility, and a reference for each external id', async () => {
    // The tag is the first 16 bits of the SHA-256 of the facility id. Character 15 of a UUID is its version.
    const untagged = `select count(*) from booking
      where right(id::text, 4) <> left(encode(sha256(facility_id::bytea), 'hex'), 4) or substr(id::text, 15, 1) <> '7'`;
    expect(await count(untagged)).toBe(0);
    const unmatched = `select count(*) from booking b full join booking_reference r
      on r.booking_id = b.id and r.external_booking_id = b.external_booking_id
      where r.booking_id is null and b.external_booking_id is not null or b.id is null`;
    expect(await count(unmatched)).toBe(0);
  });

  test('refuses a database that contains another dataset', async () => {
    const otherDataset = datasetOf(6_000, maxFacilities);
    await expect(loadDataset(database.url, otherDataset, () => {})).rejects.toThrow('another dataset');
  });
});
