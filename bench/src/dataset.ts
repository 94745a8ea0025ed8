// Describes the measured dataset. Each facility has two locations with twenty bays each, and each bay has twelve
// bookings a day. All ids can be computed without reading the database. A token for N facilities names the facilities
// 1 to N.

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

/** The numbers of facilities, locations and bays start at 1. */
export const facilityId = (facility: number): string => `bench-fac-${String(facility).padStart(4, '0')}`;
export const locationId = (location: number): string => `bench-loc-${String(location).padStart(4, '0')}`;
export const bayId = (bay: number): string => `bench-bay-${String(bay).padStart(6, '0')}`;

export function facilityIds(count: number): string[] {
  return Array.from({ length: count }, (_, index) => facilityId(index + 1));
}

/** The benchmark creates its own bookings after this date, and deletes them again. The loaded bookings are earlier. */
export const createdFrom = '2100-01-01T00:00:00.000Z';
/** The bookings that the benchmark updates are after this date. */
export const updatedFrom = '2150-01-01T00:00:00.000Z';

/** SQL for the id of a new booking or hold. The id ends with a hash of the facility id (bookings/booking-id.ts). */
export const newId =
  "(substr(gen_random_uuid()::text, 1, 32) || substr(encode(sha256(facility_id::bytea), 'hex'), 1, 4))::uuid";
