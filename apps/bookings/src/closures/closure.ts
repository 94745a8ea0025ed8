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

/**
 * A closure with the ids of all bays that it closes, also if it closes a whole location. The link to the conflicting
 * bookings needs these ids.
 */
export interface ClosureRow extends Closure {
  readonly closedBayIds: readonly string[];
}
