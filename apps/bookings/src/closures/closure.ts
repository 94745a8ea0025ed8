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

export interface ClosureRow extends Closure {
  /**
   * The ids of all bays that the closure closes, even if it closes a whole location. The link `conflicts` in a response
   * contains these ids: it leads to the bookings of these bays during the closure.
   */
  readonly closedBayIds: readonly string[];
}
