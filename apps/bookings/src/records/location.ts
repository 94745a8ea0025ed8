// The record location: it belongs to one facility and may have opening hours.

import type { MakeLink } from '@bay-booking/common/links';
import { idSchema, nameSchema, textSchema } from '@bay-booking/common/text';
import type { PointerError } from '@bay-booking/common/validation';
import { type Entry, findRepeated, type RecordKind } from '@bay-booking/records/record';
import { send } from '@bay-booking/service/database/database';
import { responseSchema } from '../http/schemas.ts';
import { knownFields, type OpeningHours } from '../opening-hours/hours.ts';
import { importedHoursSchema } from '../opening-hours/schema.ts';
import type { createBayKind } from './bay.ts';
import { placeReads, upsertPlaces } from './places.ts';
import { removePlace } from './removal.ts';

const facilityId = { ...textSchema, description: 'The facility of the location.' } as const;
const openingHours = {
  ...importedHoursSchema,
  type: ['object', 'null'],
  description: 'In a PUT and in a file: null removes them, and hours that are left out stay.',
} as const;

/** A location that has no opening hours is always open. */
const schema = responseSchema({ id: idSchema, name: nameSchema, openingHours, facilityId }, ['openingHours']);
type Location = Readonly<Record<'id' | 'facilityId' | 'name', string>> & {
  readonly openingHours?: OpeningHours | null;
};

const recordOf = ({ id, facilityId, name, openingHours }: Location): Location => ({
  id,
  facilityId,
  name,
  ...(openingHours && { openingHours: knownFields({ ...openingHours, exceptions: openingHours.exceptions ?? [] }) }),
});
const write = `insert into location (facility_id, id, name, opening_hours)
select $1, r.id, r.name, r."openingHours"
from jsonb_to_recordset($2::jsonb) as r(id text, name text, "openingHours" jsonb) order by r.id
on conflict (facility_id, id) do update set name = excluded.name, opening_hours = excluded.opening_hours,
  removed_at = null`;
const lock = 'select id from location where facility_id = $1 and id = any($2) order by id for no key update';

const table = {
  table: 'location',
  parent: 'facility',
  columns: 'facility_id as "facilityId", id, name, opening_hours as "openingHours"',
  recordOf,
  conditions: { facilityId: 'facility_id = {facilityId}' },
  write,
} as const;
const reads = placeReads(table);

export const createLocationKind = (
  bay: ReturnType<typeof createBayKind>,
  link: MakeLink,
): RecordKind<Location, string> => ({
  name: 'location',
  collection: 'locations',
  key: 'id',
  example: { id: 'loc-north-1', facilityId: 'fac-north', name: 'North Range, ground floor' },
  schema,
  children: { field: 'bays', kind: bay, parentField: 'locationId' },
  filters: { facilityId: { ...textSchema, description: 'Facility ID.' } },
  notes: {
    put: 'Opening hours that are left out stay, and null removes them. Its bays stay as they are.',
    remove: 'Also deletes its bays. Fails with 409 while one of them has bookings that have not ended.',
  },
  check: findRepeatedDates,
  ...reads,

  upsert: async (tx, records, context) => {
    // Sent without waiting. The locks ensure that the opening hours do not change.
    for (const [facility, group] of Map.groupBy(records, (record) => record.facilityId))
      send(tx, lock, [facility, group.map(({ id }) => id)]);
    const complete = (record: Location, before: Location | undefined): Location => recordOf({ ...before, ...record });
    return (await upsertPlaces<Location>(tx, table, records, { context, complete })).outcomes;
  },

  remove: (tx, id, { clientId }, check) => removePlace<Location>(tx, table, id, { clientId, check, link }),
});

const findRepeatedDates = ({ openingHours: hours }: Entry): readonly PointerError[] =>
  findRepeated((hours as Entry | null | undefined)?.exceptions, '/openingHours/exceptions', 'date');
