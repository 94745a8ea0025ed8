// Removes locations and bays with the holds of bays. The rows stay, because past bookings and the log of changes need
// them.

import type { MakeLink } from '@bay-booking/common/links';
import { writeQueryString } from '@bay-booking/common/query-string';
import { atPointer, type PointerError } from '@bay-booking/common/validation';
import type { Stored } from '@bay-booking/records/record';
import { query, send, type Transaction } from '@bay-booking/service/database/database';
import { lockPlaces } from '../database/locks.ts';
import { findRows, type PlaceTable, placeReads, storeDeletion } from './places.ts';

const openBookings = 'select id from booking where facility_id = $1 and bay_id = any($2) and end_date > now() limit 1';
const baysOfLocation = 'select id from bay where facility_id = $1 and location_id = $2 and removed_at is null';
const removals = {
  location: 'update location set removed_at = now() where facility_id = $1 and id = any($2)',
  bay: 'update bay set removed_at = now(), bookable = false where facility_id = $1 and id = any($2)',
  holds: 'delete from booking_hold where facility_id = $1 and bay_id = any($2)',
} as const;

interface Removal<R> {
  readonly clientId: string;
  readonly check: (stored: Stored<R>) => void;
  readonly link: MakeLink;
}

export async function removePlace<R extends { readonly id: string }>(
  tx: Transaction,
  place: PlaceTable<R> & { readonly table: 'location' | 'bay' },
  id: string,
  { clientId, check, link }: Removal<R>,
): Promise<PointerError | 'removed' | 'unknown'> {
  const { table } = place;
  const facilityId = (await findRows(tx, place, [id])).get(id)?.ownerId;
  if (facilityId === undefined) return 'unknown';
  const isLocation = table === 'location';
  await lockPlaces(tx, { facilityId, locationIds: isLocation ? [id] : [], bayIds: isLocation ? [] : [id] });
  // Only the lock of the row ensures that the opening hours do not change.
  const found = await placeReads(place).find(tx, id);
  if (!found) return 'unknown';
  check(found);
  const bays = isLocation ? await query<{ id: string }>(tx, baysOfLocation, [facilityId, id]) : [{ id }];
  const bayIds = bays.map((bay) => bay.id);
  // A new statement sees the bookings of every transaction that had the lock of a bay before.
  if ((await query(tx, openBookings, [facilityId, bayIds])).length > 0) {
    const filter = isLocation ? { locationIds: [id] } : { bayIds: [id] };
    const bookings = link('GET', `/api/bookings${writeQueryString({ ...filter, isActive: true })}`).href;
    return atPointer('', 'conflict', '', { code: 'PLACE00001', contextData: { bookings } });
  }
  if (isLocation) send(tx, removals.location, [facilityId, [id]]);
  send(tx, removals.bay, [facilityId, bayIds]);
  send(tx, removals.holds, [facilityId, bayIds]);
  storeDeletion(tx, table, facilityId, id, clientId);
  return 'removed';
}
