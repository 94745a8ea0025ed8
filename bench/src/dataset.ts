// Describes the measured dataset: facilities of two locations with twenty bays each, and twelve bookings per bay and
// day. All ids can be computed without asking the database. Facility 1 is the tenant of one, facilities 1 to 100 are
// the tenant of a hundred.

export interface Dataset {
  readonly bookings: number;
  readonly facilities: number;
  readonly bays: number;
  /** Full days around today; the oldest day may be incomplete. */
  readonly days: number;
  /** Number of days after today. */
  readonly futureDays: number;
}

export const locationsPerFacility = 2;
export const baysPerLocation = 20;
export const baysPerFacility = locationsPerFacility * baysPerLocation;
export const bookingsPerBayAndDay = 12;

/** Few bookings get few facilities, so that a day of a location always has its 240 bookings. */
export function datasetOf(bookings: number, facilitiesAtMost: number): Dataset {
  const twoDaysEach = Math.floor(bookings / (2 * bookingsPerBayAndDay * baysPerFacility));
  const facilities = Math.max(1, Math.min(facilitiesAtMost, twoDaysEach));
  const bays = facilities * baysPerFacility;
  const days = Math.ceil(bookings / (bays * bookingsPerBayAndDay));
  return { bookings, facilities, bays, days, futureDays: Math.floor(days / 4) };
}

/** The index starts at 1. */
export const facilityId = (facility: number): string => `bench-fac-${String(facility).padStart(4, '0')}`;
export const locationId = (location: number): string => `bench-loc-${String(location).padStart(4, '0')}`;
export const bayId = (bay: number): string => `bench-bay-${String(bay).padStart(6, '0')}`;

export function facilityIds(count: number): string[] {
  return Array.from({ length: count }, (_, index) => facilityId(index + 1));
}

/** A bay that the benchmark creates for itself, outside the loaded data, and removes again. */
export const createdFrom = '2100-01-01T00:00:00.000Z';
export const updatedFrom = '2150-01-01T00:00:00.000Z';
