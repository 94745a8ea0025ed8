// Lists the requests with which the bookings service is compared with other servers, and writes the files from which
// the load generator wrk reads these requests. Also inserts the bookings that the requests change, and deletes the
// bookings of the benchmark.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { baysPerFacility, createdFrom, type Dataset, facilityIds, newId, updatedFrom } from './dataset.ts';
import type { Operation } from './measure.ts';

export interface RequestSource {
  readonly client: pg.Client;
  readonly dataset: Dataset;
  readonly token: string;
  /** The number of facilities in the access token. */
  readonly facilities: number;
  /** The folder for the files that wrk reads. */
  readonly folder: string;
}

/**
 * Prepares the operations on bookings: writes the files that wrk reads, and inserts the bookings that the operation
 * `update` changes. The Lua scripts in bench/wrk/ document their arguments.
 */
export async function bookingOperations({
  client,
  dataset,
  token,
  facilities,
  folder,
}: RequestSource): Promise<Operation[]> {
  const bays = facilities * baysPerFacility;
  const writeLines = (name: string, content: readonly string[]) => {
    const path = join(folder, `${name}-${dataset.bookings}`);
    writeFileSync(path, `${content.join('\n')}\n`);
    return path;
  };
  const selectLines = async (sql: string) =>
    (await client.query<{ line: string }>(sql, [facilityIds(facilities)])).rows.map(({ line }) => line);

  // `order by md5(…)` returns the rows in an order that looks random, but is the same in every run.
  const bookings = await selectLines(
    `select '/api/bookings/' || id as line from booking where facility_id = any($1) and start_date < '${createdFrom}' order by md5(id::text) limit 5000`,
  );
  // In every dataset, all slots of today are booked.
  const today = new Date().toISOString().slice(0, 10);
  const searches = await selectLines(
    `select '/api/bookings?locationIds=' || id || '&startDate=${today}T00:00:00.000Z&endDate=${today}T23:59:59.999Z&pageSize=50' as line
     from location where facility_id = any($1) order by md5(id)`,
  );
  const upcoming = await selectLines(
    `select '/api/bays/' || id || '/upcoming-bookings' as line from bay where facility_id = any($1) order by md5(id) limit 500`,
  );
  await insertBookingsToUpdate(client, facilities);
  // Each line has the id of a booking, its bay, and its start in seconds since 1970.
  const updates = await selectLines(
    `select id || ' ' || bay_id || ' ' || extract(epoch from start_date)::bigint as line from booking
     where facility_id = any($1) and start_date >= '${updatedFrom}'`,
  );
  const get = (name: string, paths: readonly string[]): Operation => {
    const path = writeLines(name, paths);
    return { name, load: () => ({ script: 'get.lua', args: [token, path] }) };
  };
  const updateFile = writeLines('update', updates);
  // The operations that create bookings run after `upcoming`, because the new bookings are in the future and would
  // otherwise be upcoming bookings.
  return [
    get('get', bookings),
    get('search', searches),
    get('upcoming', upcoming),
    create('create', { token, bays, prefix: '-' }),
    create('create-external', { token, bays, prefix: `ext-${Date.now()}` }),
    { name: 'update', load: () => ({ script: 'update.lua', args: [token, updateFile] }) },
  ];
}

/** The start of the first slot, in seconds since 1970. */
const firstStart = Date.parse(createdFrom) / 1000;
/**
 * The number of the next slot. A slot is half an hour in one bay, after `createdFrom`. All targets, rounds and
 * operations share this number, so no slot is used twice.
 */
let nextSlot = 0;

/**
 * Returns the operation that creates bookings of half an hour. The caller must have deleted the bookings of earlier
 * runs. `prefix` is the beginning of the external booking ids, or `-` for bookings without such an id.
 */
export function create(
  name: string,
  { token, bays, prefix }: { token: string; bays: number; prefix: string },
): Operation {
  return {
    name,
    load: () => ({ script: 'create.lua', args: [token, String(bays), String(nextSlot), String(firstStart), prefix] }),
    afterMeasurement: (requests) => {
      // wrk may also have created bookings whose responses it did not receive and count. Their slots are among the next
      // 1000 slots, which are therefore skipped.
      nextSlot += requests + 1000;
    },
  };
}

/** Inserts one booking on each of five days in each bay, for the operation `update`. */
async function insertBookingsToUpdate(client: pg.Client, facilities: number): Promise<void> {
  await client.query(
    `insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date, created_at, last_updated_at)
     select facility_id, ${newId},
       location_id, id, 'player', '${updatedFrom}'::timestamptz + n * interval '1 day', '${updatedFrom}'::timestamptz + n * interval '1 day' + interval '30 minutes', now(), now()
     from bay, generate_series(1, 5) n where facility_id = any($1)`,
    [facilityIds(facilities)],
  );
}

/** Deletes the bookings that the benchmark has created, in this run or in an earlier one. */
export async function removeCreated(client: pg.Client): Promise<void> {
  await client.query(
    `delete from booking_reference r using booking b where b.external_booking_id = r.external_booking_id and b.start_date >= '${createdFrom}'`,
  );
  // The condition on `facility_id` is true for every row. It lets PostgreSQL use an index, because every index on
  // `start_date` begins with `facility_id`.
  await client.query(
    `delete from booking where facility_id in (select id from facility) and start_date >= '${createdFrom}'`,
  );
  // The bookings of the benchmark start in 2100 or later. A row of booking_count covers up to 32 days, so the row that
  // counts the first of these bookings begins before 2100.
  await client.query("delete from booking_change where hour >= '2099-11-01'");
  await client.query("delete from booking_count where begins >= '2099-11-01'");
  // In a comparison with an older release, the database may not have the table of the change feed.
  const { rows } = await client.query("select to_regclass('booking_feed') is not null as has_feed");
  if (rows[0].has_feed)
    await client.query(`delete from booking_feed where not exists (
      select from booking where booking.facility_id = booking_feed.facility_id and id = booking_id)`);
  await client.query('vacuum (analyze) booking');
  await client.query('vacuum (analyze) booking_change');
}
