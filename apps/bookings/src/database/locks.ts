// Locks the rows of facilities, locations and bays. Every transaction locks a facility before its locations, locations
// before bays, and bays by facility and id, so two transactions cannot wait for each other. availability/bay-states.ts
// locks the bays whose time a request takes.
import { query, send, type Transaction } from '@bay-booking/service/database/database';

/** These bays and all bays of these locations. */
export interface Places {
  readonly facilityId: string;
  readonly locationIds: readonly string[];
  readonly bayIds: readonly string[];
}

const lockFacilityRow = 'select id from facility where id = $1 for no key update';
const lockLocations = 'select id from location where facility_id = $1 and id = any($2) order by id for no key update';
const lockBaysOfPlaces = `select id from bay where facility_id = $1 and (location_id = any($2) or id = any($3))
order by id for no key update`;

/**
 * Locks a facility whose closures are counted, or whose changes are numbered, added or erased. Requests that write
 * bookings do not wait.
 */
export function lockFacility(tx: Transaction, facilityId: string): void {
  send(tx, lockFacilityRow, [facilityId]);
}

/** Locks places whose opening hours or closures change. */
export function lockPlaces(tx: Transaction, { facilityId, locationIds, bayIds }: Places): Promise<unknown> {
  return Promise.all([
    query(tx, lockLocations, [facilityId, locationIds]),
    query(tx, lockBaysOfPlaces, [facilityId, locationIds, bayIds]),
  ]);
}
