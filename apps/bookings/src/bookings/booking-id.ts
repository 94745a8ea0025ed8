// How is a booking named, and where is it probably kept? A version 7 UUID (RFC 9562) whose last 16 bits are a tag of its facility. The
// tag only says where to look first among the facilities of a token; it grants nothing, and a booking that moved keeps its id.
import { createHash, randomBytes } from 'node:crypto';

const form = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isBookingId(text: string): boolean {
  return form.test(text);
}

export function facilityTag(facilityId: string): string {
  return createHash('sha256').update(facilityId).digest('hex').slice(0, 4);
}

export function newBookingId(facilityId: string, now: Date): string {
  const time = now.getTime().toString(16).padStart(12, '0');
  const random = randomBytes(8);
  random[0] = 0x70 | ((random[0] ?? 0) & 0x0f);
  random[2] = 0x80 | ((random[2] ?? 0) & 0x3f);
  const hex = `${time}${random.toString('hex')}${facilityTag(facilityId)}`;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export type FindCandidates = (facilities: readonly string[], bookingId: string) => readonly string[];

/** Those of `facilities` that the id's tag fits. Tags are worked out once per list, which lives as long as its token is remembered. */
export function createCandidates(): FindCandidates {
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
