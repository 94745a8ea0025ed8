// What one facility's token learns of another's: nothing. Contract section 7, first sentence.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { createTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
let stranger: string;
let foreign: { id: string; bayId: string; startDate: string; endDate: string; externalBookingId: string };
let etag: string;
const absent = { id: '01900000-0000-7000-8000-000000000000', bayId: 'bay-nowhere', location: 'loc-nowhere' };

beforeAll(async () => {
  system = await createTestSystem();
  stranger = await system.token(['fac-east']);
  const body = bookingBody({
    bayId: 'bay-n1-01',
    externalBookingId: 'ext-north',
    correlationId: 'session-north',
    userAlias: 'Ann',
  });
  const response = await system.call('POST', '/api/bookings', { body });
  foreign = response.body;
  etag = response.headers.etag as string;
});
afterAll(() => system.close());

const asStranger = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  system.call(method, path, { token: stranger, headers, ...(body !== undefined && { body }) });
/** All that an answer tells, but for what differs between any two. */
const told = ({ status, text, headers }: Response) => ({ status, text, etag: headers.etag, allow: headers.allow });

test('a foreign booking and one that is not there get the same answer, whatever is asked of them', async () => {
  const wishes: [string, unknown, Record<string, string>][] = [
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
  for (const [method, body, headers] of wishes) {
    const one = await asStranger(method, `/api/bookings/${foreign.id}`, body, headers);
    const other = await asStranger(method, `/api/bookings/${absent.id}`, body, headers);
    expect(one.status).toBe(404);
    expect(told(one)).toEqual(told(other));
  }
  expect((await system.call('GET', `/api/bookings/${foreign.id}`)).headers.etag).toBe(etag);
});

test('a foreign bay is ERR00012, taken or not, bookable or not', async () => {
  for (const bayId of [foreign.bayId, 'bay-n1-02', 'bay-n1-99', absent.bayId]) {
    const { startDate, endDate } = foreign;
    const body = { bayId, userAlias: 'Eve', startDate, endDate };
    expect(errorCodes(await asStranger('POST', '/api/bookings', body))).toEqual(['ERR00012']);
    expect(errorCodes(await asStranger('POST', '/api/bookings', { ...body, userAlias: 7 }))).toEqual([
      'ERR00002',
      'ERR00012',
    ]);
  }
});

test('lists leave foreign bookings, locations and bays out, whatever names them', async () => {
  const paths = [
    '/api/bookings',
    `/api/bookings?ids=${foreign.id}`,
    '/api/bookings?externalBookingIds=ext-north',
    '/api/bookings?correlationIds=session-north',
    '/api/bookings?bayIds=bay-n1-01',
    '/api/bookings?locationIds=loc-north-1',
    '/api/bookings?locationIds=loc-north-1,loc-east-1&isActive=true',
    '/api/bookings?userAlias=Ann',
    `/api/bookings?startDate=${foreign.startDate}&endDate=${foreign.endDate}`,
    '/api/booking-locations?ids=loc-north-1',
    '/api/booking-locations?facilityIds=fac-north',
    '/api/booking-bays?locationId=loc-north-1',
  ];
  for (const path of paths)
    expect((await asStranger('GET', path)).body).toMatchObject({ items: [], total: 0, pageCount: 0 });
  expect((await asStranger('GET', '/api/booking-locations')).body.total).toBe(1);
  expect((await asStranger('GET', '/api/booking-bays')).body.total).toBe(3);
});

test('a foreign location and the upcoming bookings of a foreign bay answer like ones that are not there', async () => {
  for (const [one, other] of [
    ['/api/booking-locations/loc-north-1', `/api/booking-locations/${absent.location}`],
    ['/api/bays/bay-n1-01/upcoming-bookings', `/api/bays/${absent.bayId}/upcoming-bookings`],
  ] as const) {
    expect(told(await asStranger('GET', one))).toEqual(told(await asStranger('GET', other)));
  }
});

test('a booking cannot be moved to a foreign bay, nor a foreign one fetched by its Idempotency-Key', async () => {
  const mine = await asStranger('POST', '/api/bookings', bookingBody({ bayId: 'bay-e1-02' }), {
    'Idempotency-Key': 'key-1',
  });
  expect(mine.status).toBe(201);
  expect(
    errorCodes(await asStranger('PUT', `/api/bookings/${mine.body.id}`, bookingBody({ bayId: 'bay-n1-03' }))),
  ).toEqual(['ERR00012']);
  const other = await system.token(['fac-north'], { client_id: 'another-client' });
  const body = bookingBody({ bayId: 'bay-n1-04' });
  const answer = await system.call('POST', '/api/bookings', {
    token: other,
    body,
    headers: { 'Idempotency-Key': 'key-1' },
  });
  expect(answer.status).toBe(201);
  expect(answer.body.id).not.toBe(mine.body.id);
});

test('a token that lost a facility does not get its booking from a kept answer', async () => {
  const body = bookingBody({ bayId: 'bay-n1-05' });
  const headers = { 'Idempotency-Key': 'key-2' };
  expect((await system.call('POST', '/api/bookings', { body, headers })).status).toBe(201);
  expect(errorCodes(await asStranger('POST', '/api/bookings', body, headers))).toEqual(['ERR00012']);
});

test('externalBookingId is unique over the service: BOOK00001 tells that, and nothing else', async () => {
  const response = await asStranger(
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
