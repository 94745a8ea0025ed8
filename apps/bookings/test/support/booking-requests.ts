// Creates request bodies for bookings, and reads the error codes of responses.
import { expect } from '@jest/globals';
import type { Response } from 'supertest';
import { errorCatalogue } from '../../src/errors.ts';

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

/** Returns the codes of the errors. The response must have the status that the catalogue says for the first one. */
export function errorCodes({ status, body }: Response): string[] {
  const codes = (body.errors as { code: string }[]).map(({ code }) => code);
  const documented: Readonly<Record<string, { readonly status: number }>> = errorCatalogue;
  expect(status).toBe(documented[codes[0] ?? '']?.status ?? status);
  return codes;
}

/** Returns the values of a field of the objects of a response. */
export const pluck = (objects: Response['body'], name: string): Response['body'] =>
  objects.map((object: Response['body']) => object[name]);

export { clients, rounds } from '@bay-booking/testkit/rounds';
