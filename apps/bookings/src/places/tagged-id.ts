// Creates the ids of bookings, holds and closures, and finds the facilities that an id probably belongs to.
//
// An id is a UUID of version 7 (RFC 9562). Its last 16 bits are a tag, which is derived from the id of the facility
// where the booking was created. A request for a booking contains only the booking id. The tag shows which facilities
// of the client to search first. The tag grants no access, and it can be wrong: a booking that has moved to another
// facility keeps its id.
import { createHash, randomBytes } from 'node:crypto';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** Returns the tag of a facility: 4 hexadecimal digits. */
export function facilityTag(facilityId: string): string {
  return createHash('sha256').update(facilityId).digest('hex').slice(0, 4);
}

export function newTaggedId(facilityId: string, now: Date): string {
  const time = now.getTime().toString(16).padStart(12, '0');
  const random = randomBytes(8);
  // RFC 9562 prescribes the bits of the version (7) and of the variant (binary 10).
  random[0] = 0x70 | ((random[0] ?? 0) & 0x0f);
  random[2] = 0x80 | ((random[2] ?? 0) & 0x3f);
  const hex = `${time}${random.toString('hex')}${facilityTag(facilityId)}`;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export type FindLikelyFacilities = (facilities: readonly string[], bookingId: string) => readonly string[];

/**
 * Returns the function that finds the facilities with the same tag as the booking id. The function caches the tags of
 * each array of facilities, because all requests with the same token have the same array.
 */
export function createFacilityLookup(): FindLikelyFacilities {
  const tagged = new WeakMap<readonly string[], ReadonlyMap<string, readonly string[]>>();
  return (facilities, bookingId) => {
    let byTag = tagged.get(facilities);
    if (!byTag) {
      byTag = Map.groupBy(facilities, facilityTag);
      tagged.set(facilities, byTag);
    }
    return byTag.get(bookingId.slice(-4).toLowerCase()) ?? [];
  };
}
