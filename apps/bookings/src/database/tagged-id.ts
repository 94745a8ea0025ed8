// Creates the ids of bookings, holds and closures and finds the facilities that an id probably belongs to.
//
// An id is a UUID of version 7 whose last 16 bits are derived from the facility where it was created. They only show
// where to search first: a booking that moved to another facility keeps its id.
import { hash, randomUUID } from 'node:crypto';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): boolean => uuidPattern.test(text);

export const facilityTag = (facilityId: string): string => hash('sha256', facilityId).slice(0, 4);

export function newTaggedId(facilityId: string, now: Date): string {
  const time = now.getTime().toString(16).padStart(12, '0');
  // A UUID of version 4 has random bits in the same places. Node generates many of them at once.
  const random = randomUUID().slice(15, 32);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random}${facilityTag(facilityId)}`;
}

/** All requests with the same token have the same array of facilities. */
const facilitiesByTag = new WeakMap<readonly string[], ReadonlyMap<string, readonly string[]>>();

export function findLikelyFacilities(facilities: readonly string[], id: string): readonly string[] {
  const byTag = facilitiesByTag.get(facilities) ?? Map.groupBy(facilities, facilityTag);
  facilitiesByTag.set(facilities, byTag);
  return byTag.get(id.slice(-4).toLowerCase()) ?? [];
}
