// Removes facilities, locations and bays. Their rows stay, because past bookings and the log of changes need them.
import { type Database, query, send, type Transaction, transaction } from '@bay-booking/service/database/database';
import { lockBays } from '../places/locks.ts';
import { storeEvents } from './events-store.ts';
import { findPlace } from './find-store.ts';
import type { PlaceResource } from './resource.ts';
import { lockPlacesOfService, type PlaceKind, targetOf } from './store.ts';

const lockedRow = {
  facility: 'select id from facility where id = $1 and id = $2 for no key update',
  location: 'select id from location where facility_id = $1 and id = $2 for no key update',
  bay: 'select id from bay where facility_id = $1 and id = $2 for no key update',
} as const;
const baysOfLocation = 'select id from bay where facility_id = $1 and location_id = $2 and removed_at is null';
const locationsOfFacility = 'select id from location where facility_id = $1 and removed_at is null limit 1';
const openBookings = 'select id from booking where facility_id = $1 and bay_id = any($2) and end_date > now() limit 1';

const removals = {
  facility: 'update facility set removed_at = now() where id = $1',
  location: 'update location set removed_at = now() where facility_id = $1 and id = $2',
  bays: 'update bay set removed_at = now(), bookable = false where facility_id = $1 and id = any($2)',
  holds: 'delete from booking_hold where facility_id = $1 and bay_id = any($2)',
} as const;

export type Removal = 'removed' | 'unknown' | 'has bookings' | 'has locations';

/** A location is removed with its bays. `check` gets the resource, and may throw an error. */
export function removePlace(
  db: Database,
  kind: PlaceKind,
  id: string,
  clientId: string,
  check: (current: PlaceResource) => void,
): Promise<Removal> {
  return transaction(db, async (tx) => {
    await lockPlacesOfService(tx);
    const facilityId = (await findPlace(tx, kind, id))?.facilityId;
    if (facilityId === undefined) return 'unknown';
    await query(tx, lockedRow[kind], [facilityId, id]);
    // Only the lock of the row ensures that the opening hours do not change.
    const found = await findPlace(tx, kind, id);
    if (found) check(found.resource);
    const obstacle = await (kind === 'facility' ? removeFacility(tx, id) : removeBays(tx, kind, facilityId, id));
    if (obstacle) return obstacle;
    storeEvents(tx, [{ action: `${kind}.deleted`, clientId, facilityId, target: targetOf(kind, id), changed: [] }]);
    return 'removed';
  });
}

async function removeFacility(tx: Transaction, id: string): Promise<Removal | undefined> {
  const locations = await query(tx, locationsOfFacility, [id]);
  if (locations.length > 0) return 'has locations';
  send(tx, removals.facility, [id]);
  return undefined;
}

async function removeBays(
  tx: Transaction,
  kind: 'location' | 'bay',
  facilityId: string,
  id: string,
): Promise<Removal | undefined> {
  const bayIds =
    kind === 'bay' ? [id] : (await query<{ id: string }>(tx, baysOfLocation, [facilityId, id])).map((bay) => bay.id);
  await lockBays(tx, facilityId, bayIds);
  // A new statement sees the bookings of every transaction that had the lock of a bay before.
  if ((await query(tx, openBookings, [facilityId, bayIds])).length > 0) return 'has bookings';
  if (kind === 'location') send(tx, removals.location, [facilityId, id]);
  send(tx, removals.bays, [facilityId, bayIds]);
  send(tx, removals.holds, [facilityId, bayIds]);
  return undefined;
}
