// Writes facilities, locations and bays: those of an import file, or one with what it contains. One transaction writes
// everything or nothing. Each writing statement changes only rows of one facility.
import { isDeepStrictEqual } from 'node:util';
import { ImportError } from '@bay-booking/common/import-document';
import { type Database, query, send, type Transaction, transaction } from '@bay-booking/service/database/database';
import { binOf, locationSpans } from '../changes/totals/bins.ts';
import type { ImportedFacility } from './document.ts';
import { type NewEvent, storeEvents } from './events-store.ts';
import {
  type BayResource,
  bayResource,
  type FacilityResource,
  facilityResource,
  type LocationRow,
  locationResource,
  type PlaceResource,
} from './resource.ts';

const reads = {
  /**
   * Allows one import at a time, so that an import can check that the ids of locations and bays are unique over the
   * whole service. The primary keys cannot ensure this uniqueness, because they start with facility_id.
   */
  lock: 'select id from import_lock where id = 1 for update',
  unknownTimeZones: `select name from unnest($1::text[]) name where not exists (
  select from pg_timezone_names z where z.name = name.name)`,
  locations: 'select id, facility_id from location where id = any($1)',
  bays: 'select id, facility_id from bay where id = any($1)',
} as const;

const isRemoved = 'removed_at is not null as "isRemoved"';

/** Locks in the same order as every other transaction (places/locks.ts), which prevents deadlocks. */
const locks = {
  facility: `select id, name, time_zone as "timeZone", ${isRemoved} from facility where id = $1 for no key update`,
  locations: `select id, facility_id as "facilityId", name, opening_hours as "openingHours", ${isRemoved} from location
where facility_id = $1 and id = any($2) order by id for no key update`,
  bays: `select id, location_id as "locationId", name, description, kind, bookable, ${isRemoved} from bay
where facility_id = $1 and id = any($2) order by id for no key update`,
} as const;

const writes = {
  /** The database may have been restored to a time before an earlier import of the facility (changes/restore.ts). */
  facility: `insert into facility (id, name, time_zone, change_number, removed_change_number)
select $1, $2, $3, first_number, first_number from database_identity
on conflict (id) do update set name = excluded.name, time_zone = excluded.time_zone, removed_at = null`,

  locations: `insert into location (facility_id, id, name, opening_hours)
select $1, r.id, r.name, r."openingHours"
from jsonb_to_recordset($2::jsonb) as r(id text, name text, "openingHours" jsonb) order by r.id
on conflict (facility_id, id) do update set name = excluded.name, opening_hours = excluded.opening_hours,
  removed_at = null`,

  bays: `insert into bay (facility_id, id, location_id, name, description, kind, bookable)
select $1, r.id, r."locationId", r.name, r.description, r.kind, r.bookable
from jsonb_to_recordset($2::jsonb)
  as r(id text, "locationId" text, name text, description text, kind text, bookable boolean) order by r.id
on conflict (facility_id, id) do update set location_id = excluded.location_id, name = excluded.name,
  description = excluded.description, kind = excluded.kind, bookable = excluded.bookable, removed_at = null`,

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

type Stored<Row> = Row & { readonly isRemoved: boolean };

interface StoredPlaces {
  readonly facilities: readonly Stored<FacilityResource>[];
  readonly locations: readonly Stored<LocationRow>[];
  readonly bays: readonly Stored<BayResource>[];
}

export type PlaceKind = 'facility' | 'location' | 'bay';

/** What an import does with a record of the file. */
export interface Step<Resource extends PlaceResource = PlaceResource> {
  readonly kind: PlaceKind;
  readonly facilityId: string;
  readonly path: string;
  readonly action: 'create' | 'update' | 'unchanged';
  readonly before: Resource | undefined;
  readonly after: Resource;
  readonly changed: readonly string[];
}

/**
 * Returns what was done with each record, or would be done with `dryRun`, and with `dryRun` also the errors that only
 * the database can find.
 * @throws {ImportError} if an id belongs to another facility, or PostgreSQL does not know a time zone
 */
export function importPlaces(
  db: Database,
  facilities: readonly ImportedFacility[],
  { clientId = 'import', dryRun = false }: { readonly clientId?: string; readonly dryRun?: boolean } = {},
) {
  return transaction(db, async (tx) => {
    await lockPlacesOfService(tx);
    const plan = await planWrites(tx, facilities, 'stay');
    if (dryRun) return plan;
    if (plan.errors.length > 0) throw new ImportError(plan.errors);
    await write(tx, plan, clientId);
    return plan;
  });
}

/** Allows one transaction at a time that creates, changes or removes places. */
export const lockPlacesOfService = (tx: Transaction): Promise<unknown> => query(tx, reads.lock);

export type Plan = Awaited<ReturnType<typeof planWrites>>;

/** Locks the records that exist, and compares them with those of the document. */
export async function planWrites(
  tx: Transaction,
  facilities: readonly ImportedFacility[],
  missingFields: 'stay' | 'default',
) {
  const sorted = facilities.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const stored = new Map<string, StoredPlaces>();
  for (const facility of sorted) stored.set(facility.id, await lockFacility(tx, facility));
  const steps = sorted.flatMap((facility) =>
    stepsOf(facility, stored.get(facility.id) as StoredPlaces, missingFields === 'stay'),
  );
  const errors = [...(await timeZoneErrors(tx, steps)), ...(await idErrors(tx, facilities))];
  return { steps, errors, stored };
}

async function lockFacility(tx: Transaction, { id, locations, bays }: ImportedFacility): Promise<StoredPlaces> {
  const idsOf = (records: readonly { readonly id: string }[]) => records.map((record) => record.id);
  const [storedFacilities, storedLocations, storedBays] = await Promise.all([
    query<Stored<FacilityResource>>(tx, locks.facility, [id]),
    query<Stored<LocationRow>>(tx, locks.locations, [id, idsOf(locations)]),
    query<Stored<BayResource>>(tx, locks.bays, [id, idsOf(bays)]),
  ]);
  return { facilities: storedFacilities, locations: storedLocations, bays: storedBays };
}

const newBayDefaults = { description: '', kind: 'RangeBay', bookable: true };

function stepsOf(facility: ImportedFacility, stored: StoredPlaces, keepsFields: boolean): readonly Step[] {
  const { id: facilityId, path } = facility;
  const current = <Row extends { id: string }>(rows: readonly Stored<Row>[]) =>
    new Map(rows.filter((row) => !row.isRemoved).map((row) => [row.id, row]));
  const [facilityById, locations, bays] = [current(stored.facilities), current(stored.locations), current(stored.bays)];
  const storedFacility = facilityById.get(facilityId);
  return [
    stepOf(
      'facility',
      facilityId,
      path,
      storedFacility && facilityResource(storedFacility),
      facilityResource(facility),
    ),
    ...facility.locations.map(({ id, name, openingHours, path: locationPath }) => {
      const row = locations.get(id);
      const after = locationResource({ id, facilityId, name, openingHours: openingHours ?? row?.openingHours ?? null });
      return stepOf('location', facilityId, locationPath, row && locationResource(row), after);
    }),
    ...facility.bays.map((bay) => {
      const row = bays.get(bay.id);
      const after = bayResource({ ...newBayDefaults, ...(keepsFields && row), ...bay });
      return stepOf('bay', facilityId, bay.path, row && bayResource(row), after);
    }),
  ];
}

function stepOf(
  kind: PlaceKind,
  facilityId: string,
  path: string,
  before: PlaceResource | undefined,
  after: PlaceResource,
): Step {
  const fields: Readonly<Record<string, unknown>> = { ...before };
  const changed = Object.entries(after)
    .filter(([name, value]) => name !== 'id' && !isDeepStrictEqual(value, fields[name]))
    .map(([name]) => name);
  const action = before === undefined ? 'create' : changed.length > 0 ? 'update' : 'unchanged';
  return { kind, facilityId, path, action, before, after, changed };
}

/** Writes what a plan creates or changes, and its events. */
export async function write(tx: Transaction, { steps, stored }: Plan, clientId: string): Promise<void> {
  const changes = steps.filter(({ action }) => action !== 'unchanged');
  for (const [facilityId, ofFacility] of Map.groupBy(changes, (step) => step.facilityId)) {
    const resourcesOf = (kind: PlaceKind) => ofFacility.filter((step) => step.kind === kind).map(({ after }) => after);
    for (const facility of resourcesOf('facility') as FacilityResource[])
      send(tx, writes.facility, [facilityId, facility.name, facility.timeZone]);
    const locations = resourcesOf('location');
    if (locations.length > 0) send(tx, writes.locations, [facilityId, JSON.stringify(locations)]);
    const bays = resourcesOf('bay') as BayResource[];
    if (bays.length > 0) send(tx, writes.bays, [facilityId, JSON.stringify(bays)]);
    const oldLocations = new Map(stored.get(facilityId)?.bays.map(({ id, locationId }) => [id, locationId]));
    for (const { id, locationId } of bays) {
      const oldLocation = oldLocations.get(id);
      if (oldLocation === undefined || oldLocation === locationId) continue;
      send(tx, writes.moveBookings, [facilityId, id, locationId]);
      send(tx, writes.moveCounts, [facilityId, id, oldLocation, locationId]);
    }
  }
  storeEvents(
    tx,
    changes.map((step) => eventOf(step, clientId)),
  );
}

const eventOf = ({ kind, action, after, facilityId, changed }: Step, clientId: string): NewEvent => ({
  action: `${kind}.${action === 'create' ? 'created' : 'updated'}`,
  clientId,
  facilityId,
  target: targetOf(kind, after.id),
  changed,
});

const collections = { facility: 'facilities', location: 'locations', bay: 'bays' } as const;

export const targetOf = (kind: PlaceKind, id: string): string => `${collections[kind]}/${id}`;

/** Searches use the time zones of PostgreSQL, which has another list than Node. The list is slow to read. */
async function timeZoneErrors(tx: Transaction, steps: readonly Step[]): Promise<string[]> {
  const facilities = steps.filter(({ kind, changed }) => kind === 'facility' && changed.includes('timeZone'));
  if (facilities.length === 0) return [];
  const timeZoneOf = ({ after }: Step): string => (after as FacilityResource).timeZone;
  const names = [...new Set(facilities.map(timeZoneOf))];
  const rows = await query<{ name: string }>(tx, reads.unknownTimeZones, [names]);
  const unknown = new Set(rows.map(({ name }) => name));
  return facilities
    .filter((step) => unknown.has(timeZoneOf(step)))
    .map((step) => `${step.path}/timeZone: ${timeZoneOf(step)} is not a time zone of the database`);
}

/** A file that contains an id twice was rejected before. The id of a removed place stays with its facility. */
async function idErrors(tx: Transaction, facilities: readonly ImportedFacility[]): Promise<string[]> {
  const kinds = ['locations', 'bays'] as const;
  const errors = await Promise.all(
    kinds.map(async (kind) => {
      const ids = facilities.flatMap((facility) => facility[kind].map(({ id }) => id));
      const rows = await query<{ id: string; facility_id: string }>(tx, reads[kind], [ids]);
      const ownerOf = new Map(rows.map(({ id, facility_id }) => [id, facility_id]));
      return facilities.flatMap((facility) =>
        facility[kind]
          .filter(({ id }) => (ownerOf.get(id) ?? facility.id) !== facility.id)
          .map(({ id, path }) => `${path}/id: ${id} belongs to facility ${ownerOf.get(id)}`),
      );
    }),
  );
  return errors.flat();
}
