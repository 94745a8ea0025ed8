// Defines holds: a hold keeps a bay free for one client for a short time, for example while a customer pays.

/** The times are texts in UTC with milliseconds, such as `2030-01-31T09:00:00.000Z`. */
export interface Hold {
  readonly facilityId: string;
  readonly id: string;
  readonly bayId: string;
  readonly startDate: string;
  readonly endDate: string;
  readonly expiresAt: string;
  readonly createdAt: string;
  readonly correlationId: string | null;
}

/**
 * How many seconds a hold lasts from its creation or its latest extension. `maxInTotal` limits the time from the
 * creation to the end, with all extensions.
 */
export const holdSeconds = { min: 30, max: 900, default: 300, maxInTotal: 1_800 } as const;
