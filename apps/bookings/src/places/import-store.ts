// How does an import reach the database? One transaction, one facility after the other, each statement for one facility; imports
// exclude each other, since ids of places are unique over the whole service and no key can hold that.
import { type Database, query } from '@bay-booking/service/database/database';
import { binOf } from '../bookings/counts/statements.ts';
import { ImportError, type ImportedFacility } from './import.ts';

export const importReads = {
  lock: 'select id from import_lock where id = 1 for update',
  unknownTimeZones: `select name from unnest($1::text[]) name where not exists (
  select from pg_timezone_names z where z.name = name.name)`,
  locationsOf: 'select id, facility_id from location where id = any($1)',
  baysOf: 'select id, facility_id from bay where id = any($1)',
} as const;

export const importWrites = {
  facility: `insert into facility (id, name, time_zone) values ($1, $2, $3)
on conflict (id) do update set name = excluded.name, time_zone = excluded.time_zone`,
  locations: `insert into location (facility_id, id, name)
select $1, r.id, r.name from jsonb_to_recordset($2::jsonb) as r(id text, name text) order by r.id
on conflict (facility_id, id) do update set name = excluded.name`,
  /** In the order in which updates of bookings lock bays. */
  lockBays: `select id, location_id, description, kind, bookable from bay where facility_id = $1 and id = any($2)
order by id for no key update`,
  bays: `insert into bay (facility_id, id, location_id, name, description, kind, bookable)
select $1, r.id, r.location_id, r.name, r.description, r.kind, r.bookable
from jsonb_to_recordset($2::jsonb)
  as r(id text, location_id text, name text, description text, kind text, bookable boolean) order by r.id
on conflict (facility_id, id) do update set location_id = excluded.location_id, name = excluded.name,
  description = excluded.description, kind = excluded.kind, bookable = excluded.bookable`,
  carryBookings: 'update booking set location_id = $3 where facility_id = $1 and bay_id = $2',
  /** From location $3 to $4; the facility's row is held since its upsert, as by all who touch counts. */
  carryCounts: `insert into booking_count (facility_id, location_id, span, begins, n)
select $1, carried.id, span, ${binOf('start_date', 'span')}, sum(sign)
from booking cross join (values ($3::text, -1), ($4::text, 1)) carried (id, sign) cross join (values (24), (768)) bins (span)
where facility_id = $1 and bay_id = $2 group by 2, 3, 4 order by 2, 3, 4
on conflict (facility_id, location_id, span, begins) do update set n = booking_count.n + excluded.n`,
} as const;

interface KnownBay {
  readonly id: string;
  readonly location_id: string;
  readonly description: string;
  readonly kind: string;
  readonly bookable: boolean;
}

/** What the file need not say of a bay that is new. */
const newBay = { description: '', kind: 'RangeBay', bookable: true };

/** @throws {ImportError} and changes nothing, if an id belongs to another facility or a time zone is not the database's */
export function importPlaces(db: Database, facilities: readonly ImportedFacility[]): Promise<void> {
  return db.transaction(async (trx) => {
    await query(trx, importReads.lock);
    await refuseForeignIds(trx, facilities);
    for (const facility of facilities.toSorted((a, b) => (a.id < b.id ? -1 : 1))) await importFacility(trx, facility);
  });
}

async function importFacility(trx: Database, { id, name, timeZone, locations, bays }: ImportedFacility): Promise<void> {
  await query(trx, importWrites.facility, [id, name, timeZone]);
  await query(trx, importWrites.locations, [id, JSON.stringify(locations)]);
  const before = await query<KnownBay>(trx, importWrites.lockBays, [id, bays.map((bay) => bay.id)]);
  const known = new Map(before.map((bay) => [bay.id, bay]));
  const whole = bays.map((bay) => ({ ...newBay, ...known.get(bay.id), ...bay }));
  await query(trx, importWrites.bays, [id, JSON.stringify(whole)]);
  for (const bay of bays) {
    const locationBefore = known.get(bay.id)?.location_id;
    if (locationBefore !== undefined && locationBefore !== bay.location_id) {
      await query(trx, importWrites.carryBookings, [id, bay.id, bay.location_id]);
      await query(trx, importWrites.carryCounts, [id, bay.id, locationBefore, bay.location_id]);
    }
  }
}

async function refuseForeignIds(trx: Database, facilities: readonly ImportedFacility[]): Promise<void> {
  const faults: string[] = [];
  const zones = await query<{ name: string }>(trx, importReads.unknownTimeZones, [
    facilities.map(({ timeZone }) => timeZone),
  ]);
  const unknown = new Set(zones.map(({ name }) => name));
  for (const { path, timeZone } of facilities) {
    if (unknown.has(timeZone)) faults.push(`${path}/timeZone: ${timeZone} is not known to the database`);
  }
  for (const [what, sql] of [
    ['locations', importReads.locationsOf],
    ['bays', importReads.baysOf],
  ] as const) {
    const ids = facilities.flatMap((facility) => facility[what].map(({ id }) => id));
    const known = await query<{ id: string; facility_id: string }>(trx, sql, [ids]);
    const owner = new Map(known.map(({ id, facility_id }) => [id, facility_id]));
    for (const facility of facilities) {
      for (const { id, path } of facility[what]) {
        const other = owner.get(id);
        if (other !== undefined && other !== facility.id) faults.push(`${path}/id: ${id} belongs to facility ${other}`);
      }
    }
  }
  if (faults.length > 0) throw new ImportError(faults);
}
