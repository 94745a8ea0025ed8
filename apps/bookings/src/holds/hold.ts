// Defines holds, which keep a bay free for one client for a short time, and maps them to the JSON of responses.
import type { MakeLink } from '@bay-booking/common/links';

/** The times are strings in UTC with milliseconds, such as `2030-01-31T09:00:00.000Z`. */
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

export const holdPath = ({ id }: Pick<Hold, 'id'>): string => `/api/booking-holds/${id}`;

export function holdResource(hold: Hold, link: MakeLink) {
  const { id, bayId, startDate, endDate, expiresAt, createdAt, correlationId } = hold;
  const path = holdPath(hold);
  return {
    id,
    bayId,
    startDate,
    endDate,
    expiresAt,
    createdAt,
    ...(correlationId !== null && { correlationId }),
    _links: {
      self: link('GET', path),
      edit: link('PUT', path),
      delete: link('DELETE', path),
      book: link('POST', '/api/bookings'),
    },
  };
}
