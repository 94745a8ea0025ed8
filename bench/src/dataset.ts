// Defines the dataset and loads it into an empty database.
import pg from 'pg';
import { runCommand } from './processes.ts';

export interface Dataset {
  readonly bookings: number;
  readonly facilities: number;
}

// The facilities, locations and bays are numbered from 1 over the whole dataset.
export const locationsPerFacility = 2;
const baysPerLocation = 20;
const bookingsPerBayAndDay = 12;
const maxFacilities = 250;
/** The number of days after today that are full of bookings. Today and earlier days contain the other bookings. */
const futureDays = 7;

export const bays = (facilities: number): number => facilities * locationsPerFacility * baysPerLocation;
export const facilityId = (number: number): string => `fac-${number}`;
export const bayId = (number: number): string => `bay-${number}`;

/** A small dataset has fewer facilities, so that its bookings fill today and all future days. */
export function datasetOf(bookings: number): Dataset {
  const facilities = Math.floor(bookings / ((futureDays + 1) * bookingsPerBayAndDay * bays(1)));
  if (!(facilities >= 2)) throw new Error('a dataset needs at least 7680 bookings');
  return { bookings, facilities: Math.min(maxFacilities, facilities) };
}

const today = Date.parse(new Date().toISOString().slice(0, 10));
/** Returns the start, in UTC, of the day that is so many days after today. */
export const dayStart = (daysAfterToday: number): string => new Date(today + daysAfterToday * 86_400_000).toISOString();

/** Runs `work` with a connection to the database, which is closed afterwards. */
export async function onDatabase<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'bench' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Creates the tables of the Bookings API of a release, and inserts the dataset. */
export async function loadDataset(url: string, { bookings, facilities }: Dataset, release: string): Promise<void> {
  await runCommand(release, 'bookings', 'migrate', [], { DATABASE_URL: url });
  await onDatabase(url, async (client) => {
    await client.query(`
      insert into facility (id, name, time_zone)
        select 'fac-' || f, 'Range ' || f, 'Europe/Copenhagen' from generate_series(1, ${facilities}) f;
      insert into location (facility_id, id, name)
        select 'fac-' || (l - 1) / ${locationsPerFacility} + 1, 'loc-' || l, 'Floor ' || l
        from generate_series(1, ${facilities * locationsPerFacility}) l;
      insert into bay (facility_id, id, location_id, name, description, kind, bookable)
        select 'fac-' || (b - 1) / ${bays(1)} + 1, 'bay-' || b, 'loc-' || (b - 1) / ${baysPerLocation} + 1, 'Bay ' || b,
          'Under the roof', 'RangeBay', true
        from generate_series(1, ${bays(facilities)}) b`);
    // Checking the exclusion constraint for each row takes 20 times as long as inserting the row. The bookings of the
    // dataset cannot overlap, so `vacuum full` builds the indexes afterwards.
    const indexes = (areEnabled: boolean): string =>
      `update pg_index set indisready = ${areEnabled}, indisvalid = ${areEnabled} where indrelid = 'booking'::regclass`;
    await client.query(indexes(false));
    // With this role, foreign keys are not checked.
    await client.query('set session_replication_role = replica');
    const bookingsPerDay = bays(facilities) * bookingsPerBayAndDay;
    for (let day = futureDays, left = bookings; left > 0; day--, left -= bookingsPerDay)
      await client.query(insertDay, [dayStart(day), Math.min(bookingsPerDay, left), bays(facilities)]);
    await client.query(indexes(true));
    await client.query('vacuum full booking');
    await client.query('set session_replication_role = origin');
    await client.query(insertChanges);
    await client.query(`insert into booking_reference (external_booking_id, facility_id, booking_id)
      select external_booking_id, facility_id, id from booking
      where external_booking_id is not null order by external_booking_id`);
    await runCommand(release, 'bookings', 'recount', [], { DATABASE_URL: url });
    await client.query('vacuum (analyze)');
  });
}

const utc = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

// Inserts the bookings of the day that starts at $1: $2 bookings on $3 bays. `b` is the number of a bay. `k` counts its
// bookings on this day from 0. They begin every two hours and last 90 minutes.
//
// `created` is one to eight days before the start, as the digits of `hash` determine. The id is a UUIDv7 that ends with
// the tag of the facility: the first four hexadecimal digits of the SHA-256 of the facility id.
//
// Real bookings arrive in any order. The order of a hash likewise scatters the bookings of a location over the database
// pages of the day.
const insertDay = `
  with slot as (
    select n % $3::int + 1 as b, n / $3::int as k, md5($1 || ' ' || n) as hash, left($1, 10) as day
    from generate_series(0, $2::int - 1) n
  ), made as (
    select s.*, bay.facility_id, bay.location_id, bay.id as bay_id, start_date,
      start_date - interval '1 day'
        - (('x' || substr(hash, 1, 7))::bit(28)::int % 604800) * interval '1 second' as created
    from slot s join bay on bay.id = 'bay-' || b,
      lateral (select $1::timestamptz + k * interval '2 hours' + (b % 6) * interval '5 minutes' as start_date) t
  )
  insert into booking (facility_id, id, location_id, bay_id, external_booking_id, correlation_id, user_alias,
    start_date, end_date, created_at, last_updated_at)
  select facility_id,
    (lpad(to_hex((extract(epoch from created) * 1000)::bigint), 12, '0')
      || '7' || substr(hash, 1, 3) || 'a' || substr(hash, 4, 11)
      || substr(encode(sha256(facility_id::bytea), 'hex'), 1, 4))::uuid,
    location_id, bay_id,
    case when b % 2 = 0 then 'ext-' || day || '-' || k || '-' || b end,
    'session-' || day || '-' || (k / 4) || '-' || b,
    'player-' || facility_id || '-' || ('x' || substr(hash, 8, 6))::bit(24)::int % 500,
    start_date, start_date + interval '90 minutes', created, created
  from made order by hash
  returning id`;

/** Inserts bookings of a day that has none in the first `facilities` facilities, and returns their ids. */
export const insertBookings = (url: string, start: string, count: number, facilities: number): Promise<string[]> =>
  onDatabase(url, async (client) => {
    const bayCount = bays(facilities);
    const limited = Math.min(count, bayCount * bookingsPerBayAndDay);
    const { rows } = await client.query<{ id: string }>(insertDay, [start, limited, bayCount]);
    return rows.map(({ id }) => id);
  });

// Numbers the creation of each booking in the log of changes, as the service would have done.
const insertChanges = `
  with created as (
    select *, row_number() over (partition by facility_id order by created_at, id) as n from booking
  )
  insert into booking_change (facility_id, booking_id, version, number, first_number, latest, at, action, client_id,
    subject, request_id, after)
  select facility_id, id, 1, n, n, true, created_at, 'created', 'bench', 'bench', 'bench', jsonb_build_object(
    'id', id, 'externalBookingId', external_booking_id, 'correlationId', correlation_id, 'groupId', null,
    'bayId', bay_id, 'userAlias', user_alias, 'startDate', ${utc('start_date')}, 'endDate', ${utc('end_date')},
    'metadata', null, 'createdAt', ${utc('created_at')}, 'lastUpdatedAt', ${utc('last_updated_at')},
    'locationId', location_id)
  from created;
  update facility set change_number = (select count(*) from booking where facility_id = facility.id)`;
