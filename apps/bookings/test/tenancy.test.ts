// Tests that a token reveals nothing about facilities that it does not name (docs/behaviour.md, "Tenancy").
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { createTestSystem, type TestSystem } from './support/test-system.ts';

// In fac-north, the tests use the location loc-north-1, which has the bays bay-n1-01 to bay-n1-10, and bay-n1-99, which
// is not bookable. fac-east has one location with the bays bay-e1-01 to bay-e1-03.
let system: TestSystem;
/** A token for fac-east only. It does not name the facility of `booking`, which is fac-north. */
let otherToken: string;
let booking: { id: string; bayId: string; startDate: string; endDate: string; externalBookingId: string };
let etag: string;
const missing = { id: '01900000-0000-7000-8000-000000000000', bayId: 'bay-nowhere', location: 'loc-nowhere' };

beforeAll(async () => {
  system = await createTestSystem();
  otherToken = await system.token(['fac-east']);
  const body = bookingBody({
    bayId: 'bay-n1-01',
    externalBookingId: 'ext-north',
    correlationId: 'session-north',
    userAlias: 'Ann',
  });
  const response = await system.call('POST', '/api/bookings', { body });
  booking = response.body;
  etag = response.headers.etag as string;
});
afterAll(() => system.close());

const callFromOtherFacility = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  system.call(method, path, { token: otherToken, headers, ...(body !== undefined && { body }) });
/** The parts of a response that must not depend on whether a resource exists. */
const visiblePartsOf = ({ status, text, headers }: Response) => ({
  status,
  text,
  etag: headers.etag,
  allow: headers.allow,
});

test('a booking of another facility and one that does not exist get the same response to every request', async () => {
  const requests: [string, unknown, Record<string, string>][] = [
    ['GET', undefined, {}],
    ['HEAD', undefined, {}],
    ['GET', undefined, { 'If-None-Match': '*' }],
    ['PUT', bookingBody({ bayId: 'bay-e1-01' }), {}],
    ['PUT', bookingBody({ bayId: 'bay-n1-01' }), {}],
    ['PUT', {}, {}],
    ['PUT', bookingBody({ bayId: 'bay-e1-01' }), { 'If-Match': etag }],
    ['PUT', bookingBody({ bayId: 'bay-e1-01' }), { 'If-Match': '"other"' }],
    ['DELETE', undefined, {}],
    ['DELETE', undefined, { 'If-Match': '"other"' }],
  ];
  for (const [method, body, headers] of requests) {
    const ofExisting = await callFromOtherFacility(method, `/api/bookings/${booking.id}`, body, headers);
    const ofMissing = await callFromOtherFacility(method, `/api/bookings/${missing.id}`, body, headers);
    expect(ofExisting.status).toBe(404);
    expect(visiblePartsOf(ofExisting)).toEqual(visiblePartsOf(ofMissing));
  }
  expect((await system.call('GET', `/api/bookings/${booking.id}`)).headers.etag).toBe(etag);
});

test('a bay of another facility gets ERR00012, whether it is free and bookable or not', async () => {
  // The bays are one that is taken, one that is free, one that is not bookable, and one that does not exist.
  for (const bayId of [booking.bayId, 'bay-n1-02', 'bay-n1-99', missing.bayId]) {
    const { startDate, endDate } = booking;
    const body = { bayId, userAlias: 'Eve', startDate, endDate };
    expect(errorCodes(await callFromOtherFacility('POST', '/api/bookings', body))).toEqual(['ERR00012']);
    expect(errorCodes(await callFromOtherFacility('POST', '/api/bookings', { ...body, userAlias: 7 }))).toEqual([
      'ERR00002',
      'ERR00012',
    ]);
  }
});

test('lists omit bookings, locations and bays of other facilities for every filter', async () => {
  const paths = [
    '/api/bookings',
    `/api/bookings?ids=${booking.id}`,
    '/api/bookings?externalBookingIds=ext-north',
    '/api/bookings?correlationIds=session-north',
    '/api/bookings?bayIds=bay-n1-01',
    '/api/bookings?locationIds=loc-north-1',
    '/api/bookings?locationIds=loc-north-1,loc-east-1&isActive=true',
    '/api/bookings?userAlias=Ann',
    `/api/bookings?startDate=${booking.startDate}&endDate=${booking.endDate}`,
    '/api/booking-locations?ids=loc-north-1',
    '/api/booking-locations?facilityIds=fac-north',
    '/api/booking-bays?locationId=loc-north-1',
  ];
  for (const path of paths)
    expect((await callFromOtherFacility('GET', path)).body).toMatchObject({ items: [], total: 0, pageCount: 0 });
  expect((await callFromOtherFacility('GET', '/api/booking-locations')).body.total).toBe(1);
  expect((await callFromOtherFacility('GET', '/api/booking-bays')).body.total).toBe(3);
});

test('a location or bay of another facility gets the same response as one that does not exist', async () => {
  for (const [existing, absent] of [
    ['/api/booking-locations/loc-north-1', `/api/booking-locations/${missing.location}`],
    ['/api/bays/bay-n1-01/upcoming-bookings', `/api/bays/${missing.bayId}/upcoming-bookings`],
  ] as const) {
    expect(visiblePartsOf(await callFromOtherFacility('GET', existing))).toEqual(
      visiblePartsOf(await callFromOtherFacility('GET', absent)),
    );
  }
});

test('a booking cannot be moved to another facility, or read with the Idempotency-Key of another client', async () => {
  const ownBooking = await callFromOtherFacility('POST', '/api/bookings', bookingBody({ bayId: 'bay-e1-02' }), {
    'Idempotency-Key': 'key-1',
  });
  expect(ownBooking.status).toBe(201);
  expect(
    errorCodes(
      await callFromOtherFacility('PUT', `/api/bookings/${ownBooking.body.id}`, bookingBody({ bayId: 'bay-n1-03' })),
    ),
  ).toEqual(['ERR00012']);
  const otherClient = await system.token(['fac-north'], { client_id: 'another-client' });
  const body = bookingBody({ bayId: 'bay-n1-04' });
  const response = await system.call('POST', '/api/bookings', {
    token: otherClient,
    body,
    headers: { 'Idempotency-Key': 'key-1' },
  });
  expect(response.status).toBe(201);
  expect(response.body.id).not.toBe(ownBooking.body.id);
});

test('a client that has lost access to a facility does not get a stored response about this facility', async () => {
  const body = bookingBody({ bayId: 'bay-n1-05' });
  const headers = { 'Idempotency-Key': 'key-2' };
  // Both requests have tokens of the same client and user. The token of the second request names only fac-east.
  expect((await system.call('POST', '/api/bookings', { body, headers })).status).toBe(201);
  expect(errorCodes(await callFromOtherFacility('POST', '/api/bookings', body, headers))).toEqual(['ERR00012']);
});

test('BOOK00001 for an externalBookingId of another facility reveals nothing else', async () => {
  const response = await callFromOtherFacility(
    'POST',
    '/api/bookings',
    bookingBody({ bayId: 'bay-e1-03', externalBookingId: 'ext-north' }),
  );
  expect(response.body.errors).toEqual([
    {
      code: 'BOOK00001',
      description: 'Another booking with the same external booking id already exists.',
      moreInfo: '',
      contextData: { externalBookingId: 'ext-north' },
    },
  ]);
});
