// The record location: it belongs to one facility and may have opening hours.
import type { MakeLink } from '@bay-booking/common/links';
import { type Entry, type Problem, problem, type RecordKind } from '@bay-booking/records/record';
import { query, send } from '@bay-booking/service/database/database';
import { responseSchema, textSchema } from '../http/schemas.ts';
import { knownFields, type OpeningHours } from '../opening-hours/hours.ts';
import { importedHoursSchema } from '../opening-hours/schema.ts';
import type { createBayKind } from './bay.ts';
import { findFacilities, isWritten, lockRows, outcomeOf, placeReads, storeDeletion, storeOutcomes } from './places.ts';
import { removeBays } from './removal.ts';

/** A location that has no opening hours is always open. */
interface Location {
  readonly id: string;
  readonly facilityId: string;
  readonly name: string;
  readonly openingHours?: OpeningHours;
}
type LocationInput = Omit<Location, 'openingHours'> & { readonly openingHours?: OpeningHours | null };

const recordOf = ({ id, facilityId, name, openingHours }: LocationInput): Location => ({
  id,
  facilityId,
  name,
  ...(openingHours && { openingHours: knownFields({ ...openingHours, exceptions: openingHours.exceptions ?? [] }) }),
});
const columns = 'facility_id as "facilityId", id, name, opening_hours as "openingHours"';
const filters = { facilityId: 'facility_id' };
const reads = placeReads('location', { columns, recordOf, filters });

const lock = `select ${columns}, removed_at is null as "isActive" from location
where facility_id = $1 and id = any($2) order by id for no key update`;
const activeFacilities = 'select id from facility where id = any($1) and removed_at is null';
const write = `insert into location (facility_id, id, name, opening_hours)
select $1, r.id, r.name, r."openingHours"
from jsonb_to_recordset($2::jsonb) as r(id text, name text, "openingHours" jsonb) order by r.id
on conflict (facility_id, id) do update set name = excluded.name, opening_hours = excluded.opening_hours,
  removed_at = null`;
const baysOfLocation = 'select id from bay where facility_id = $1 and location_id = $2 and removed_at is null';
const remove = 'update location set removed_at = now() where facility_id = $1 and id = $2';

const facilityId = { ...textSchema, description: 'The facility of the location.' } as const;
const openingHours = {
  ...importedHoursSchema,
  type: ['object', 'null'],
  description: 'In a PUT and in a file: null removes them, and hours that are left out stay.',
} as const;

export const createLocationKind = (bay: ReturnType<typeof createBayKind>, link: MakeLink): RecordKind<Location> => ({
  name: 'location',
  collection: 'locations',
  key: 'id',
  example: { id: 'loc-north-1', facilityId: 'fac-north', name: 'North Range, ground floor' },
  schema: responseSchema({ id: textSchema, name: textSchema, openingHours, facilityId }, ['openingHours']),
  children: { field: 'bays', kind: bay, parentField: 'locationId' },
  filters: { facilityId: { ...textSchema, description: 'Facility ID.' } },
  notes: {
    put: 'Opening hours that are left out stay, and null removes them. The body may contain bays, which are put too.',
    remove: 'Also deletes its bays. Fails with 409 while one of them has bookings that have not ended.',
  },
  check: findRepeatedDates,
  ...reads,

  upsert: async (tx, records, context) => {
    const ids = records.map(({ id }) => id);
    const owners = await findFacilities(tx, 'location', ids);
    const byFacility = Map.groupBy(records, (record) => record.facilityId);
    const facilities = await query<{ id: string }>(tx, activeFacilities, [[...byFacility.keys()]]);
    const active = new Set(facilities.map(({ id }) => id));
    const idsByFacility = new Map([...byFacility].map(([id, group]) => [id, group.map((record) => record.id)]));
    const rows = await lockRows<Location>(tx, lock, idsByFacility);
    const outcomes = records.map((record) => {
      const row = rows.get(record.id);
      const owner = owners.get(record.id)?.facilityId ?? record.facilityId;
      const problems: Problem[] = [];
      if (!active.has(record.facilityId)) problems.push(problem('/facilityId', 'invalid', 'no facility has this id'));
      else if (owner !== record.facilityId)
        problems.push(problem('/facilityId', 'conflict', `${record.id} belongs to facility ${owner}`));
      const kept = row?.isActive ? row.openingHours : undefined;
      const after = { ...record, openingHours: record.openingHours === undefined ? kept : record.openingHours };
      return outcomeOf(row?.isActive ? recordOf(row) : undefined, recordOf(after as LocationInput), problems);
    });
    const written = outcomes.filter(isWritten).map(({ after }) => after.record);
    for (const [id, group] of Map.groupBy(written, (record) => record.facilityId))
      send(tx, write, [id, JSON.stringify(group)]);
    storeOutcomes(tx, 'location', outcomes, (record) => record.facilityId, context);
    return outcomes;
  },

  remove: async (tx, id, { clientId }, check) => {
    const facility = (await reads.find(tx, id))?.record.facilityId;
    if (facility === undefined) return 'unknown';
    await query(tx, lock, [facility, [id]]);
    // Only the lock of the row ensures that the opening hours do not change.
    const found = await reads.find(tx, id);
    if (found) check(found);
    const bays = await query<{ id: string }>(tx, baysOfLocation, [facility, id]);
    const bayIds = bays.map((row) => row.id);
    const obstacle = await removeBays(tx, facility, bayIds, { locationIds: [id] }, link);
    if (obstacle) return obstacle;
    send(tx, remove, [facility, id]);
    storeDeletion(tx, 'location', facility, id, clientId);
    return 'removed';
  },
});

/** Also called for values of any type. */
function findRepeatedDates(record: Entry): readonly Problem[] {
  const exceptions = (record.openingHours as { exceptions?: unknown } | null | undefined)?.exceptions;
  if (!Array.isArray(exceptions)) return [];
  const dates = exceptions.map((exception: { date?: unknown } | null) => exception?.date);
  return dates.flatMap((date, index) => {
    const first = dates.indexOf(date);
    const path = (position: number): string => `/openingHours/exceptions/${position}/date`;
    if (typeof date !== 'string' || first === index) return [];
    return [problem(path(index), 'duplicate', `is the same as ${path(first)}`)];
  });
}
