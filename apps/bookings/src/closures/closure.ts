// Defines closures: times when some bays, or all bays of a location, cannot be booked.

/** Times are UTC with milliseconds, in the format of responses. Either `bayIds` or `locationId` is null. */
export interface Closure {
  readonly facilityId: string;
  readonly id: string;
  readonly bayIds: readonly string[] | null;
  readonly locationId: string | null;
  readonly startDate: string;
  readonly endDate: string;
  readonly reason: string | null;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
}

/** Closures of a location have the ids of its bays too, for the link to the conflicting bookings. */
export interface ClosureRow extends Closure {
  readonly closedBayIds: readonly string[];
}
