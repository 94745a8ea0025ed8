// The records facility, location and bay, which the management API and the commands import and export change. A
// location belongs to one facility. A bay belongs to one location, and can move with its bookings to another one of the
// facility.
import { formats } from '@bay-booking/common/date-times';
import { responseSchema } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { idSchema, nameSchema, textSchema } from '@bay-booking/common/text';
import { atPointer } from '@bay-booking/common/validation';
import { createImportFiles, type ImportStore } from '@bay-booking/records/import';
import {
  createManagementErrors,
  createRepetitionFinder,
  outcomeOf,
  type RecordKind,
  type RecordStore,
} from '@bay-booking/records/record';
import { type Database, query, send } from '@bay-booking/service/database/database';
import type { FromSchema } from 'json-schema-to-ts';
import type { AuditLog } from '../audit-log.ts';
import { lockFacility } from '../database/locks.ts';
import { errorCatalogue } from '../errors.ts';
import { knownFields, type OpeningHours } from '../opening-hours/hours.ts';
import { importedHoursSchema } from '../opening-hours/schema.ts';
import {
  compareInside,
  findRows,
  insideReads,
  lockPlacesOfService,
  type PlaceOutcome,
  placeReads,
  storePlaceEvents,
  writePlaces,
} from './record-store.ts';

const { ERR00400, ERR00408, ERR00429, ERR00431 } = errorCatalogue;

const errors = createManagementErrors({
  ERR00400,
  ERR00408,
  ERR00429,
  ERR00431,
  PLACE00001: {
    status: 409,
    description: 'The place has bookings that have not ended.',
    appliesTo: ['deleteLocation', 'deleteBay'],
  },
  PLACE00003: { status: 409, description: 'The facility still has locations.', appliesTo: ['deleteFacility'] },
});

export function createPlaceRecords(db: Database, link: MakeLink, audit: AuditLog): ImportStore {
  const hrefOf = (path: string): string => link('GET', path).href;
  const store: RecordStore = {
    db,
    link,
    errors,
    kinds: [facilityKind, locationKind(hrefOf), bayKind(hrefOf)],
    formats,
    lock: lockPlacesOfService,
    onCommit: (events, { clientId, subject = null, requestId }) => {
      if (events.length === 0) return;
      const facilityIds = events.flatMap(({ facilityId = [] }) => facilityId);
      const caller = { clientId, subject };
      audit({ caller, ...(requestId && { requestId }) }, { action: 'import', facilityIds, target: null });
    },
  };
  return { ...store, files: createImportFiles(store, ['facilities']) };
}

const facilityId = { ...textSchema, description: 'Facility ID.' } as const;
const locationId = { ...textSchema, description: 'Location ID.' } as const;

const timeZone = { ...textSchema, format: 'time-zone' } as const;
const facilitySchema = responseSchema({ id: idSchema, name: nameSchema, timeZone });
type Facility = FromSchema<typeof facilitySchema>;

const facilities = {
  table: 'facility',
  columns: 'id, name, time_zone as "timeZone"',
  conditions: {},
  // The database may have been restored to a time before an earlier import of the facility (changes/restore.ts).
  write: `insert into facility (id, name, time_zone, change_number, removed_change_number)
select $1, r.name, r."timeZone", first_number, first_number
from database_identity, jsonb_to_recordset($2::jsonb) as r(name text, "timeZone" text)
on conflict (id) do update set name = excluded.name, time_zone = excluded.time_zone`,
} as const;
const anyLocation = 'select id from location where facility_id = $1 and removed_at is null limit 1';
const removeFacility = 'update facility set removed_at = now() where id = $1';

const facilityKind: RecordKind<Facility, PlaceOutcome<Facility>> = {
  name: 'facility',
  collection: 'facilities',
  key: 'id',
  example: { id: 'fac-north', name: 'North Range', timeZone: 'Europe/Copenhagen' },
  schema: facilitySchema,
  filters: {},
  notes: {
    put: 'Its locations stay as they are. Searches and opening hours use its time zone.',
    remove: 'Fails with 409 PLACE00003 while the facility has locations. Its id is never used again.',
  },
  ...placeReads<Facility>(facilities),

  compare: async (tx, records, context) => {
    const ids = records.map(({ id }) => id);
    // For the log entry of an import.
    if (context.keepsOmitted) context.events.push(...ids.map((facilityId) => ({ kind: 'import', facilityId })));
    const rows = await findRows<Facility>(tx, facilities, ids);
    return records.map((record) => {
      const row = rows.get(record.id);
      const deleted = atPointer('/id', 'conflict', 'belonged to a facility that was deleted', { code: 'PLACE00002' });
      const problems = row?.isActive === false ? [deleted] : [];
      return { ...outcomeOf(row?.isActive ? row : undefined, record, problems), facilityId: record.id };
    });
  },
  write: async (tx, outcomes, context) => writePlaces(tx, facilities, outcomes, context),

  lock: lockFacility,
  remove: async (tx, { id }, context) => {
    if ((await query(tx, anyLocation, [id])).length > 0)
      return atPointer('', 'conflict', '', { code: 'PLACE00003', contextData: {} });
    send(tx, removeFacility, [id]);
    storePlaceEvents(tx, 'facility', [{ action: 'deleted', facilityId: id, id, changed: [] }], context);
    return undefined;
  },
};

const openingHours = {
  ...importedHoursSchema,
  type: ['object', 'null'],
  description: 'In a PUT and in a file: null removes them, and hours that are left out stay.',
} as const;
/** A location that has no opening hours is always open. */
const locationSchema = responseSchema({ id: idSchema, name: nameSchema, openingHours, facilityId }, ['openingHours']);
interface Location {
  readonly id: string;
  readonly facilityId: string;
  readonly name: string;
  readonly openingHours?: OpeningHours | null;
}

const locations = {
  table: 'location',
  parent: 'facility',
  columns: 'facility_id as "facilityId", id, name, opening_hours as "openingHours"',
  recordOf: ({ openingHours: hours, ...record }: Location): Location => ({
    ...record,
    ...(hours && { openingHours: knownFields({ ...hours, exceptions: hours.exceptions ?? [] }) }),
  }),
  conditions: { facilityId: 'facility_id = {facilityId}' },
  write: `insert into location (facility_id, id, name, opening_hours)
select $1, r.id, r.name, r."openingHours"
from jsonb_to_recordset($2::jsonb) as r(id text, name text, "openingHours" jsonb) order by r.id
on conflict (facility_id, id) do update set name = excluded.name, opening_hours = excluded.opening_hours,
  removed_at = null`,
} as const;
const lockLocations = 'select id from location where facility_id = $1 and id = any($2) order by id for no key update';

const locationKind = (hrefOf: (path: string) => string): RecordKind<Location, PlaceOutcome<Location>> => ({
  name: 'location',
  parent: { name: 'facility', list: 'locations', field: 'facilityId' },
  collection: 'locations',
  key: 'id',
  example: { id: 'loc-north-1', facilityId: 'fac-north', name: 'North Range, ground floor' },
  schema: locationSchema,
  filters: { facilityId },
  notes: {
    put: 'Opening hours that are left out stay, and null removes them. Its bays stay as they are.',
    remove: 'Also deletes its bays. Fails with 409 while one of them has bookings that have not ended.',
  },
  ...insideReads(locations, hrefOf),

  prepare: async (_db, records) =>
    records.map((record) => {
      const findRepeated = createRepetitionFinder();
      const { exceptions = [] } = record.openingHours ?? {};
      const problems = exceptions.flatMap(({ date }, index) =>
        findRepeated(`/openingHours/exceptions/${index}/date`, date),
      );
      return { record, problems };
    }),
  compare: async (tx, records) => {
    // Sent without waiting. The locks ensure that the opening hours do not change.
    for (const [facility, group] of Map.groupBy(records, (record) => record.facilityId))
      send(tx, lockLocations, [facility, group.map(({ id }) => id)]);
    const complete = (record: Location, before: Location | undefined) => locations.recordOf({ ...before, ...record });
    return compareInside<Location>(tx, locations, records, complete);
  },
  write: async (tx, outcomes, context) => writePlaces<Location>(tx, locations, outcomes, context),
});

const bookable = { type: 'boolean', description: 'Whether the bay can be booked at all.' } as const;
/** What people at the facility can change too. A description may be empty and contain line breaks. */
export const changeableFields = {
  name: nameSchema,
  description: { type: 'string', minLength: 0, maxLength: 2000, format: 'note' },
  bookable,
} as const;
const baySchema = responseSchema({ id: idSchema, ...changeableFields, kind: textSchema, locationId });
export type BayRecord = FromSchema<typeof baySchema>;

const bayDefaults = { description: '', kind: 'RangeBay', bookable: true };
export const bays = {
  table: 'bay',
  parent: 'location',
  columns: 'id, location_id as "locationId", name, description, kind, bookable',
  conditions: { facilityId: 'facility_id = {facilityId}', locationId: 'location_id = {locationId}' },
  write: `insert into bay (facility_id, id, location_id, name, description, kind, bookable)
select $1, r.id, r."locationId", r.name, r.description, r.kind, r.bookable
from jsonb_to_recordset($2::jsonb)
  as r(id text, "locationId" text, name text, description text, kind text, bookable boolean) order by r.id
on conflict (facility_id, id) do update set location_id = excluded.location_id, name = excluded.name,
  description = excluded.description, kind = excluded.kind, bookable = excluded.bookable, removed_at = null`,
} as const;
/** Moves the bookings of bay $2 to location $3. */
const moveBookings = 'update booking set location_id = $3 where facility_id = $1 and bay_id = $2';

const bayKind = (hrefOf: (path: string) => string): RecordKind<BayRecord, PlaceOutcome<BayRecord>> => ({
  name: 'bay',
  parent: { name: 'location', list: 'bays', field: 'locationId' },
  collection: 'bays',
  key: 'id',
  example: { id: 'bay-n1-01', locationId: 'loc-north-1', name: 'Bay 1', ...bayDefaults },
  schema: baySchema,
  optional: Object.keys(bayDefaults),
  filters: { facilityId, locationId },
  notes: {
    put: 'The bay and its bookings can move to another location of the facility. A bay that is not bookable stays.',
    remove: 'Fails with 409 while the bay has bookings that have not ended. Past bookings stay readable.',
  },
  ...insideReads<BayRecord>(bays, hrefOf),

  compare: (tx, records, { keepsOmitted }) =>
    compareInside<BayRecord>(tx, bays, records, (record, before) => ({
      ...bayDefaults,
      ...(keepsOmitted && before),
      ...record,
    })),
  write: async (tx, outcomes, context) => {
    writePlaces<BayRecord>(tx, bays, outcomes, context);
    // The past bookings of a removed bay move with it too.
    for (const { after, facilityId: facility, stored } of outcomes)
      if (stored && stored.locationId !== after.locationId)
        send(tx, moveBookings, [facility, after.id, after.locationId]);
  },
});
