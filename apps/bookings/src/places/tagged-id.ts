// Creates the ids of bookings, holds and closures and finds the facilities that an id probably belongs to.
//
// An id is a UUID of version 7 whose last 16 bits are derived from the facility where it was created. They only show
// where to search first: a booking that moved to another facility keeps its id.
import { createHash, randomBytes } from 'node:crypto';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

export function facilityTag(facilityId: string): string {
  return createHash('sha256').update(facilityId).digest('hex').slice(0, 4);
}

export function newTaggedId(facilityId: string, now: Date): string {
  const time = now.getTime().toString(16).padStart(12, '0');
  const random = randomBytes(8);
  // The bits of the version and of the variant (RFC 9562).
  random[0] = 0x70 | ((random[0] ?? 0) & 0x0f);
  random[2] = 0x80 | ((random[2] ?? 0) & 0x3f);
  const hex = `${time}${random.toString('hex')}${facilityTag(facilityId)}`;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** All requests with the same token have the same array of facilities. */
const facilitiesByTag = new WeakMap<readonly string[], ReadonlyMap<string, readonly string[]>>();

export function findLikelyFacilities(facilities: readonly string[], id: string): readonly string[] {
  const byTag = facilitiesByTag.get(facilities) ?? Map.groupBy(facilities, facilityTag);
  facilitiesByTag.set(facilities, byTag);
  return byTag.get(id.slice(-4).toLowerCase()) ?? [];
}
