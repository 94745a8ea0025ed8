// Describes the measured dataset. Each facility has two locations with twenty bays each, and each bay has twelve
// bookings a day. The ids of facilities, locations and bays can be computed without reading the database.

export interface Dataset {
  readonly bookings: number;
  readonly facilities: number;
  readonly bays: number;
  /** The number of days with bookings, in the past and in the future. The oldest day may have fewer bookings. */
  readonly days: number;
  /** The number of days with bookings after today: a quarter of `days`. */
  readonly futureDays: number;
}

export const locationsPerFacility = 2;
export const baysPerLocation = 20;
export const baysPerFacility = locationsPerFacility * baysPerLocation;
export const bookingsPerBayAndDay = 12;

/** A small dataset has fewer facilities, so that its bookings fill at least two days. */
export function datasetOf(bookings: number, maxFacilities: number): Dataset {
  const facilitiesWithTwoDays = Math.floor(bookings / (2 * bookingsPerBayAndDay * baysPerFacility));
  const facilities = Math.max(1, Math.min(maxFacilities, facilitiesWithTwoDays));
  const bays = facilities * baysPerFacility;
  const days = Math.ceil(bookings / (bays * bookingsPerBayAndDay));
  return { bookings, facilities, bays, days, futureDays: Math.floor(days / 4) };
}

/** The maximum number of facilities in an access token. */
const maxFacilitiesInToken = 25;
/** The number of facilities in an access token. The token has the first facilities of the dataset. */
export const facilitiesInToken = ({ facilities }: Dataset): number => Math.min(maxFacilitiesInToken, facilities);

// Facilities, locations and bays are numbered from 1 over the whole dataset. Each facility has two locations, so
// location 3 is the first location of facility 2.
export const facilityId = (facility: number): string => `bench-fac-${String(facility).padStart(4, '0')}`;
export const locationId = (location: number): string => `bench-loc-${String(location).padStart(4, '0')}`;
export const bayId = (bay: number): string => `bench-bay-${String(bay).padStart(6, '0')}`;

/** Returns the ids of the first `count` facilities. Access tokens for `count` facilities name these facilities. */
export function facilityIds(count: number): string[] {
  return Array.from({ length: count }, (_, index) => facilityId(index + 1));
}

/**
 * All bookings that a measurement creates start at this time or later. They are deleted by `removeCreated`
 * (booking-operations.ts). The bookings of the dataset start earlier.
 */
export const createdFrom = '2100-01-01T00:00:00.000Z';
/** The bookings that the operation `update` changes start after this time (booking-operations.ts). */
export const updatedFrom = '2150-01-01T00:00:00.000Z';

/**
 * SQL for the id of a new booking or hold. The statement must have a column `facility_id`. The id ends with the first
 * 4 hexadecimal digits of the SHA-256 of the facility id (apps/bookings/src/bookings/booking-id.ts).
 */
export const newId =
  "(substr(gen_random_uuid()::text, 1, 32) || substr(encode(sha256(facility_id::bytea), 'hex'), 1, 4))::uuid";
