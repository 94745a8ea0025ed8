// Writes imported facilities, locations and bays. One transaction writes the whole file, so a file is imported
// completely or not at all. Each writing statement changes only rows of one facility.
import { ImportError } from '@bay-booking/common/import-document';
import { type Database, type Queryable, query, transaction } from '@bay-booking/service/database/database';
import { binOf, locationSpans } from '../changes/totals/bins.ts';
import { setHours } from '../opening-hours/store.ts';
import type { ImportedFacility } from './document.ts';

const reads = {
  /**
   * Allows one import at a time, so that an import can check that the ids of locations and bays are unique over the
   * whole service. The primary keys cannot ensure this uniqueness, because they start with facility_id.
   */
  lock: 'select id from import_lock where id = 1 for update',
  firstNumber: 'select first_number as "firstNumber" from database_identity',
  unknownTimeZones: `select name from unnest($1::text[]) name where not exists (
  select from pg_timezone_names z where z.name = name.name)`,
  locations: 'select id, facility_id from location where id = any($1)',
  bays: 'select id, facility_id from bay where id = any($1)',
} as const;

const writes = {
  /** The database may have been restored to a time before an earlier import of the facility (changes/restore.ts). */
  facility: `insert into facility (id, name, time_zone, change_number, removed_change_number)
values ($1, $2, $3, $4::bigint, $4::bigint)
on conflict (id) do update set name = excluded.name, time_zone = excluded.time_zone`,

  locations: `insert into location (facility_id, id, name)
select $1, r.id, r.name from jsonb_to_recordset($2::jsonb) as r(id text, name text) order by r.id
on conflict (facility_id, id) do update set name = excluded.name`,

  /** Locks all bays in the same order as updates of bookings do, which prevents deadlocks. */
  lockBays: `select id, location_id, description, kind, bookable from bay where facility_id = $1
order by id for no key update`,

  bays: `insert into bay (facility_id, id, location_id, name, description, kind, bookable)
select $1, r.id, r.location_id, r.name, r.description, r.kind, r.bookable
from jsonb_to_recordset($2::jsonb)
  as r(id text, location_id text, name text, description text, kind text, bookable boolean) order by r.id
on conflict (facility_id, id) do update set location_id = excluded.location_id, name = excluded.name,
  description = excluded.description, kind = excluded.kind, bookable = excluded.bookable`,

  /** Moves the bookings of bay $2 to location $3. */
  moveBookings: 'update booking set location_id = $3 where facility_id = $1 and bay_id = $2',

  /**
   * Moves the counts of the bookings of bay $2 from location $3 to location $4 (changes/totals/bins.ts). Every
   * transaction that writes counts must lock the row of the facility, which the statement `facility` has locked.
   */
  moveCounts: `insert into booking_count (facility_id, location_id, span, begins, n)
select $1, moved.id, span, ${binOf('start_date', 'span')}, sum(sign)
from booking cross join (values ($3::text, -1), ($4::text, 1)) moved (id, sign)
cross join (values ${locationSpans.map((span) => `(${span})`).join(', ')}) bins (span)
where facility_id = $1 and bay_id = $2 group by 2, 3, 4 order by 2, 3, 4
on conflict (facility_id, location_id, span, begins) do update set n = booking_count.n + excluded.n`,
} as const;

interface StoredBay {
  readonly id: string;
  readonly location_id: string;
  readonly description: string;
  readonly kind: string;
  readonly bookable: boolean;
}

const newBayDefaults = { description: '', kind: 'RangeBay', bookable: true };

/** @throws {ImportError} if an id belongs to another facility, or PostgreSQL does not know a time zone */
export function importPlaces(db: Database, facilities: readonly ImportedFacility[]): Promise<void> {
  return transaction(db, async (trx) => {
    await query(trx, reads.lock);
    const errors = [...(await timeZoneErrors(trx, facilities)), ...(await idErrors(trx, facilities))];
    if (errors.length > 0) throw new ImportError(errors);
    // Like every other transaction, an import locks first locations, then bays, each by facility, and then bookings.
    const sorted = facilities.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const [row] = await query<{ firstNumber: string }>(trx, reads.firstNumber);
    for (const facility of sorted) await importLocations(trx, facility, row?.firstNumber ?? '0');
    const stored = new Map<string, readonly StoredBay[]>();
    for (const { id } of sorted) stored.set(id, await query<StoredBay>(trx, writes.lockBays, [id]));
    for (const facility of sorted) await importBays(trx, facility, stored.get(facility.id) ?? []);
  });
}

async function importLocations(
  trx: Queryable,
  { id, name, timeZone, locations }: ImportedFacility,
  firstNumber: string,
): Promise<void> {
  await query(trx, writes.facility, [id, name, timeZone, firstNumber]);
  await query(trx, writes.locations, [id, JSON.stringify(locations)]);
  for (const { id: locationId, openingHours } of locations)
    if (openingHours) await query(trx, setHours, [id, locationId, JSON.stringify(openingHours)]);
}

/** A field that the file leaves out keeps its stored value. A new bay gets the default value. */
async function importBays(trx: Queryable, { id, bays }: ImportedFacility, stored: readonly StoredBay[]): Promise<void> {
  const storedById = new Map(stored.map((bay) => [bay.id, bay]));
  const completed = bays.map((bay) => ({ ...newBayDefaults, ...storedById.get(bay.id), ...bay }));
  await query(trx, writes.bays, [id, JSON.stringify(completed)]);
  for (const bay of bays) {
    const oldLocation = storedById.get(bay.id)?.location_id;
    if (oldLocation === undefined || oldLocation === bay.location_id) continue;
    await query(trx, writes.moveBookings, [id, bay.id, bay.location_id]);
    await query(trx, writes.moveCounts, [id, bay.id, oldLocation, bay.location_id]);
  }
}

/** Searches use the time zones of PostgreSQL, which has another list than Node. */
async function timeZoneErrors(trx: Queryable, facilities: readonly ImportedFacility[]): Promise<string[]> {
  const names = facilities.map(({ timeZone }) => timeZone);
  const rows = await query<{ name: string }>(trx, reads.unknownTimeZones, [names]);
  const unknown = new Set(rows.map(({ name }) => name));
  return facilities
    .filter(({ timeZone }) => unknown.has(timeZone))
    .map(({ path, timeZone }) => `${path}/timeZone: ${timeZone} is not a time zone of the database`);
}

/** A file that contains an id twice was rejected before (document.ts). */
async function idErrors(trx: Queryable, facilities: readonly ImportedFacility[]): Promise<string[]> {
  const errors: string[] = [];
  for (const kind of ['locations', 'bays'] as const) {
    const ids = facilities.flatMap((facility) => facility[kind].map(({ id }) => id));
    const rows = await query<{ id: string; facility_id: string }>(trx, reads[kind], [ids]);
    const ownerOf = new Map(rows.map(({ id, facility_id }) => [id, facility_id]));
    for (const facility of facilities) {
      for (const { id, path } of facility[kind]) {
        const owner = ownerOf.get(id);
        if (owner !== undefined && owner !== facility.id) errors.push(`${path}/id: ${id} belongs to facility ${owner}`);
      }
    }
  }
  return errors;
}
