// The record bay: it belongs to one location, and can move with its bookings to another one of the facility.
import type { MakeLink } from '@bay-booking/common/links';
import { idSchema, nameSchema, textSchema } from '@bay-booking/common/text';
import type { RecordKind } from '@bay-booking/records/record';
import { send, type Transaction } from '@bay-booking/service/database/database';
import type { FromSchema } from 'json-schema-to-ts';
import { responseSchema } from '../http/schemas.ts';
import { placeReads, upsertPlaces } from './places.ts';
import { removePlace } from './removal.ts';

const locationId = { ...textSchema, description: 'The location of the bay.' } as const;
// May be empty and contain line breaks.
const description = { type: 'string', maxLength: 2000, format: 'note' } as const;
const schema = responseSchema({
  id: idSchema,
  name: nameSchema,
  description,
  kind: textSchema,
  bookable: { type: 'boolean' },
  locationId,
});

type Bay = FromSchema<typeof schema>;

const defaults = { description: '', kind: 'RangeBay', bookable: true };
const write = `insert into bay (facility_id, id, location_id, name, description, kind, bookable)
select $1, r.id, r."locationId", r.name, r.description, r.kind, r.bookable
from jsonb_to_recordset($2::jsonb)
  as r(id text, "locationId" text, name text, description text, kind text, bookable boolean) order by r.id
on conflict (facility_id, id) do update set location_id = excluded.location_id, name = excluded.name,
  description = excluded.description, kind = excluded.kind, bookable = excluded.bookable, removed_at = null`;
/** Moves the bookings of bay $2 to location $3. */
const moveBookings = 'update booking set location_id = $3 where facility_id = $1 and bay_id = $2';

const table = {
  table: 'bay',
  parent: 'location',
  columns: 'id, location_id as "locationId", name, description, kind, bookable',
  conditions: { facilityId: 'facility_id = {facilityId}', locationId: 'location_id = {locationId}' },
  write,
} as const;
const reads = placeReads<Bay>(table);

export const createBayKind = (link: MakeLink): RecordKind<Bay, string> => ({
  name: 'bay',
  collection: 'bays',
  key: 'id',
  example: { id: 'bay-n1-01', locationId: 'loc-north-1', name: 'Bay 1', ...defaults },
  schema,
  optional: Object.keys(defaults),
  filters: {
    facilityId: { ...textSchema, description: 'Facility ID.' },
    locationId: { ...textSchema, description: 'Location ID.' },
  },
  notes: {
    put: 'The bay and its bookings can move to another location of the facility. A bay that is not bookable stays.',
    remove: 'Fails with 409 while the bay has bookings that have not ended. Past bookings stay readable.',
  },
  ...reads,

  upsert: async (tx, records, context) => {
    const { outcomes, rows, written, facilityOf } = await upsertPlaces<Bay>(tx, table, records, {
      context,
      complete: (record, before) => ({ ...defaults, ...(context.missing === 'keep' && before), ...record }),
    });
    for (const bay of written) moveBay(tx, facilityOf(bay) as string, bay, rows.get(bay.id)?.record.locationId);
    return outcomes;
  },

  remove: (tx, id, { clientId }, check) => removePlace<Bay>(tx, table, id, { clientId, check, link }),
});

function moveBay(tx: Transaction, facilityId: string, { id, locationId }: Bay, oldLocation: string | undefined): void {
  if (oldLocation === undefined || oldLocation === locationId) return;
  send(tx, moveBookings, [facilityId, id, locationId]);
}
