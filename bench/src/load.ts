// Loads ten million bookings within minutes. Checking the exclusion constraint for each row takes 20 to 40 times as
// long as inserting the row. The loader therefore disables the indexes, writes bookings that cannot overlap, and then
// rebuilds the indexes.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { migrate } from '@bay-booking/service/database/migrate';
import type pg from 'pg';
import { thisRelease } from './bookings-service.ts';
import {
  baysPerFacility,
  baysPerLocation,
  bookingsPerBayAndDay,
  createdFrom,
  type Dataset,
  locationsPerFacility,
} from './dataset.ts';
import { onDatabase } from './server.ts';

const run = promisify(execFile);

/** The SQLSTATE of a statement that the user may not run. */
const insufficientPrivilege = '42501';

/** SQL for the ids of the dataset. `number` is an SQL expression. In the statements, `b` is the number of a bay. */
const facilityId = (number: string) => `'bench-fac-' || lpad((${number})::text, 4, '0')`;
const locationId = (number: string) => `'bench-loc-' || lpad((${number})::text, 4, '0')`;
const bayId = (number: string) => `'bench-bay-' || lpad((${number})::text, 6, '0')`;
const facilityOfBay = facilityId(`(b - 1) / ${baysPerFacility} + 1`);
const locationOfBay = locationId(`(b - 1) / ${baysPerLocation} + 1`);

/**
 * Creates the tables with the migrations of a release, and loads the dataset. Loads nothing if the database already
 * contains this dataset.
 */
export async function loadDataset(
  url: string,
  dataset: Dataset,
  log: (line: string) => void,
  release = thisRelease,
): Promise<void> {
  const bookings = join(release, 'apps/bookings');
  await migrate({ url, directory: join(bookings, 'migrations') });
  await onDatabase(url, async (client) => {
    // Bookings that start at `createdFrom` or later were created by a benchmark and are not part of the dataset.
    const { rows } = await client.query<{ found: string }>(
      'select count(*) as found from booking where facility_id like $1 and start_date < $2',
      ['bench-%', createdFrom],
    );
    const found = Number(rows[0]?.found);
    if (found === dataset.bookings) return log(`the ${found} bookings exist already`);
    if (found > 0) throw new Error(`the database contains ${found} bookings of another dataset: use an empty database`);
    const started = Date.now();
    await insertPlaces(client, dataset);
    const areIndexesDisabled = await disableIndexes(client, log);
    await insertBookings(client, dataset, log);
    if (areIndexesDisabled) {
      log('building the indexes (about 10 s per million)');
      await rebuildIndexes(client);
    }
    await insertReferences(client);
    log('counting the bookings of each location and hour');
    await run(process.execPath, [`${bookings}/src/commands/recount.ts`], { env: { DATABASE_URL: url } });
    log('vacuuming');
    await client.query('vacuum (analyze) booking');
    await client.query('vacuum (analyze) booking_reference');
    await client.query('analyze');
    // The checkpoint is optional, and not every user has the permission to run one.
    await client.query('checkpoint').catch(() => {});
    log(`loaded ${dataset.bookings} bookings in ${Math.round((Date.now() - started) / 1000)} s`);
  });
}

async function insertPlaces(client: pg.Client, { facilities, bays }: Dataset): Promise<void> {
  await client.query(`insert into facility (id, name, time_zone)
    select ${facilityId('f')}, 'Range ' || f, 'Europe/Copenhagen' from generate_series(1, ${facilities}) f`);
  await client.query(`insert into location (facility_id, id, name)
    select ${facilityId(`(l - 1) / ${locationsPerFacility} + 1`)}, ${locationId('l')}, 'Floor ' || l
    from generate_series(1, ${facilities * locationsPerFacility}) l`);
  await client.query(`insert into bay (facility_id, id, location_id, name, description, kind, bookable)
    select ${facilityOfBay}, ${bayId('b')}, ${locationOfBay}, 'Bay ' || b, 'Bay ' || b || ', under the roof',
      'RangeBay', true
    from generate_series(1, ${bays}) b`);
}

// Disables the indexes of the bookings and the checks of foreign keys, and returns true. Only a superuser may disable
// an index. For another user, this function changes nothing and returns false. PostgreSQL then checks each row while it
// is inserted.
async function disableIndexes(client: pg.Client, log: (line: string) => void): Promise<boolean> {
  try {
    // With the role `replica`, this session does not check foreign keys. PostgreSQL runs both statements of this query
    // in one transaction, so the role remains unchanged if the update is not permitted.
    await client.query(`set session_replication_role = replica;
      update pg_index set indisready = false, indisvalid = false where indrelid = 'booking'::regclass`);
    return true;
  } catch (error) {
    if ((error as pg.DatabaseError).code !== insufficientPrivilege) throw error;
    log('not a superuser: every row is checked as it is written, about four minutes per million');
    return false;
  }
}

// Enables the indexes and the checks of foreign keys again. The disabled indexes do not contain the inserted rows.
// `vacuum full` writes the table to a new file and builds all its indexes from the rows.
async function rebuildIndexes(client: pg.Client): Promise<void> {
  await client.query("update pg_index set indisready = true, indisvalid = true where indrelid = 'booking'::regclass");
  await client.query('vacuum full booking');
  await client.query('set session_replication_role = origin');
}

// Inserts the bookings day by day, from the last future day back to the oldest day.
async function insertBookings(client: pg.Client, dataset: Dataset, log: (line: string) => void): Promise<void> {
  const bookingsPerDay = dataset.bays * bookingsPerBayAndDay;
  const started = Date.now();
  for (let daysWritten = 0, written = 0; written < dataset.bookings; daysWritten++) {
    const rows = Math.min(bookingsPerDay, dataset.bookings - written);
    await client.query(bookingsOfDay, [dataset.futureDays - daysWritten, rows, dataset.bays]);
    written += rows;
    const seconds = (Date.now() - started) / 1000;
    const left = Math.round((seconds / written) * (dataset.bookings - written));
    // Logs the progress after every five days of the dataset, and at the end.
    if (daysWritten % 5 === 4 || left === 0)
      log(`${written} of ${dataset.bookings} rows in ${Math.round(seconds)} s, ${left} s to go`);
  }
}

// Inserts the bookings of one day. $1 is the number of days from today, $2 the number of bookings, and $3 the number of
// bays. `b` is the number of a bay. `k` counts the bookings of this bay on this day, from 0. `day` is the number of
// days since 1 January 2020, which makes the external ids of each day different. The bookings of a bay begin every two
// hours and last 90 minutes. Depending on the number of the bay, they begin 0, 5, 10, 15, 20 or 25 minutes after the
// full hour.
//
// Each booking was created one to eight days before its start. `hash` determines this time:
// `('x' || digits)::bit(28)::int` converts hexadecimal digits to a number.
//
// The id is a UUIDv7 (`7` is its version, and `a` its variant) that ends with the tag of the facility. The tag consists
// of the first four hexadecimal digits of the SHA-256 of the facility id (apps/bookings/src/bookings/booking-id.ts).
//
// Bays with even numbers have external booking ids. A session consists of up to four successive bookings of a bay. Each
// facility has 500 players.
//
// The rows are inserted in the order of a hash, because real bookings of a day arrive in any order. The bookings of one
// location are therefore scattered over the database pages of that day.
const bookingsOfDay = `
  with slot as (
    select n % $3::int + 1 as b, n / $3::int as k, current_date + $1::int - date '2020-01-01' as day,
      md5($1::int || ' ' || n) as hash
    from generate_series(0, $2::int - 1) n
  ), timed as (
    select s.*, ${facilityOfBay} as facility,
      (current_date + $1::int)::timestamp at time zone 'UTC'
        + k * interval '2 hours' + (b % 6) * interval '5 minutes' as starts
    from slot s
  ), made as (
    select t.*,
      starts - interval '1 day' - (('x' || substr(hash, 1, 7))::bit(28)::int % 604800) * interval '1 second' as created
    from timed t
  )
  insert into booking (facility_id, id, location_id, bay_id, external_booking_id, correlation_id, user_alias,
    start_date, end_date, created_at, last_updated_at)
  select facility,
    (lpad(to_hex((extract(epoch from created) * 1000)::bigint), 12, '0')
      || '7' || substr(hash, 1, 3) || 'a' || substr(hash, 4, 11)
      || substr(encode(sha256(facility::bytea), 'hex'), 1, 4))::uuid,
    ${locationOfBay}, ${bayId('b')},
    case when b % 2 = 0 then 'ext-' || day || '-' || k || '-' || b end,
    'session-' || day || '-' || (k / 4) || '-' || b,
    'player-' || facility || '-' || ('x' || substr(hash, 8, 6))::bit(24)::int % 500,
    starts, starts + interval '90 minutes', created, created
  from made order by hash`;

// Inserts a row for each external booking id. With these rows, the service finds a booking by its external id.
async function insertReferences(client: pg.Client): Promise<void> {
  await client.query(`insert into booking_reference (external_booking_id, facility_id, booking_id)
    select external_booking_id, facility_id, id from booking
    where external_booking_id is not null order by external_booking_id`);
}
