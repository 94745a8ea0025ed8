// Tests GET and HEAD /api/bookings/{id} (specification, "GET /api/bookings/{id}").
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { createTestSystem } from './support/test-system.ts';

const system = useFixture(() => createTestSystem());

const create = async () => {
  const { body, headers } = await system.call('POST', '/api/bookings', { body: bookingBody() });
  return { booking: body, path: `/api/bookings/${body.id}`, etag: headers.etag as string };
};

describe('200 for a booking that exists', () => {
  test('the response has the booking, with Cache-Control: private, no-cache', async () => {
    const { booking, path, etag } = await create();
    const response = await system.call('GET', path);
    expect(response.status).toBe(200);
    expect(response.body).toEqual(booking);
    expect(response.headers.etag).toBe(etag);
    expect(response.headers['cache-control']).toBe('private, no-cache');
  });

  test('the id can be in upper case', async () => {
    const { booking } = await create();
    expect((await system.call('GET', `/api/bookings/${booking.id.toUpperCase()}`)).body).toEqual(booking);
  });

  test('HEAD returns the same headers and no body', async () => {
    const { path, etag } = await create();
    const [get, head] = [await system.call('GET', path), await system.call('HEAD', path)];
    expect(head.status).toBe(200);
    expect(head.text).toBeFalsy();
    expect(head.headers.etag).toBe(etag);
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
  });

  test('If-None-Match with only other ETags returns 200', async () => {
    const { path } = await create();
    expect((await system.call('GET', path, { headers: { 'If-None-Match': '"x", W/"y"' } })).status).toBe(200);
  });
});

describe('If-None-Match', () => {
  test('returns 304 for the current ETag, strong or weak, for a list that contains this ETag, and for *', async () => {
    const { path, etag } = await create();
    for (const condition of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const response = await system.call(method, path, { headers: { 'If-None-Match': condition } });
        expect(response.status).toBe(304);
        expect(response.text).toBeFalsy();
        expect(response.headers.etag).toBe(etag);
      }
    }
  });

  test('returns 200 for the ETag from before an update', async () => {
    const { path, etag } = await create();
    await system.call('PUT', path, { body: bookingBody() });
    expect((await system.call('GET', path, { headers: { 'If-None-Match': etag } })).status).toBe(200);
  });
});

describe('a booking that does not exist', () => {
  test.each(['00000000-0000-7000-8000-000000000000', 'not-a-uuid', "'", '%00', '%E0%A4%A'])(
    'the id %s returns 404',
    async (id) => {
      const response = await system.call('GET', `/api/bookings/${id}`);
      expect(response.status).toBe(404);
      expect(response.body.errors).toEqual([
        { code: 'ERR00404', description: 'Not found.', moreInfo: '', contextData: { externalBookingId: '' } },
      ]);
    },
  );
});

test('a request without a token returns 401, even if the path is not valid percent-encoding', async () => {
  const response = await system.call('GET', '/api/bookings/%E0%A4%A?x=%', { token: null });
  expect(response.status).toBe(401);
  expect(errorCodes(response)).toEqual(['ERR00401']);
});
