// Creates request bodies for bookings, and reads the error codes of responses.
import type { Response } from 'supertest';

let createdBodies = 0;
const firstStart = Date.UTC(2040, 0, 1);
const hourMs = 3_600_000;

export interface BookingBody {
  readonly bayId: string;
  readonly userAlias: string;
  readonly startDate: string;
  readonly endDate: string;
}

/**
 * Creates the body of a valid request to create or update a booking of one hour. Each body has another time, so that
 * the bookings do not overlap.
 */
export function bookingBody(fields: Readonly<Record<string, unknown>> = {}): BookingBody {
  const start = firstStart + createdBodies++ * 2 * hourMs;
  return {
    bayId: 'bay-n1-10',
    userAlias: 'Ann',
    startDate: new Date(start).toISOString(),
    endDate: new Date(start + hourMs).toISOString(),
    ...fields,
  };
}

export function errorCodes(response: Response): string[] {
  return (response.body.errors as { code: string }[]).map(({ code }) => code);
}

export { clients, rounds } from '@bay-booking/testkit/rounds';
