// Tests GET, HEAD, PUT and DELETE /api/bookings/{id} (specification, "Errors" and the sections of these requests).
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { createTestSystem } from './support/test-system.ts';

// The default token of the system permits fac-north and fac-south. The bay bay-e1-01 is in fac-east, and bay-n1-99 is
// not bookable (support/places.ts). Each call of `bookingBody` returns a body with another time, in 2040 or later.
const system = useFixture(() => createTestSystem());

describe('PUT', () => {
  const create = async (fields: Record<string, unknown> = {}) => {
    const response = await system.call('POST', '/api/bookings', { body: bookingBody(fields) });
    expect(response.status).toBe(201);
    return { ...response.body, etag: response.headers.etag as string };
  };
  const put = (id: string, body: unknown, headers: Record<string, string> = {}) =>
    system.call('PUT', `/api/bookings/${id}`, { body, headers });

  describe('200 for a valid update', () => {
    test('the response has the booking with its new fields, lastUpdatedAt and ETag', async () => {
      const booking = await create({ externalBookingId: 'ext-1', correlationId: 'session-1' });
      const change = bookingBody({ bayId: 'bay-n1-02', userAlias: 'Bob' });
      const response = await put(booking.id, change);
      expect(response.status).toBe(200);
      const { etag, ...oldFields } = booking;
      expect(response.body).toEqual({ ...oldFields, ...change, lastUpdatedAt: response.body.lastUpdatedAt });
      expect(Date.parse(response.body.lastUpdatedAt)).toBeGreaterThanOrEqual(Date.parse(booking.lastUpdatedAt));
      expect(response.headers.etag).not.toBe(etag);
      const current = await system.call('GET', `/api/bookings/${booking.id}`);
      expect(current.body).toEqual(response.body);
      expect(current.headers.etag).toBe(response.headers.etag);
    });

    test('externalBookingId and correlationId cannot be changed and are ignored', async () => {
      const booking = await create({ externalBookingId: 'ext-2', correlationId: 'session-2' });
      const { body } = await put(booking.id, { ...bookingBody(), externalBookingId: 'other', correlationId: 7 });
      expect(body).toMatchObject({ externalBookingId: 'ext-2', correlationId: 'session-2' });
      expect(
        (await system.call('POST', '/api/bookings', { body: bookingBody({ externalBookingId: 'other' }) })).status,
      ).toBe(201);
    });

    test('an externalBookingId that another booking uses is ignored, because BOOK00001 is only for new bookings', async () => {
      const other = await create({ externalBookingId: 'ext-taken' });
      const booking = await create({ externalBookingId: 'ext-booking' });
      const { status, body } = await put(booking.id, { ...bookingBody(), externalBookingId: 'ext-taken' });
      expect(status).toBe(200);
      expect(body.externalBookingId).toBe('ext-booking');
      // The body also has the bay and the times of the other booking. Only this overlap (BOOK00002) is reported.
      expect(errorCodes(await put(booking.id, other))).toEqual(['BOOK00002']);
    });

    test('the bay and times may stay the same, because a booking does not overlap itself', async () => {
      const { id, bayId, userAlias, startDate, endDate } = await create();
      expect((await put(id, { bayId, userAlias, startDate, endDate })).status).toBe(200);
      const later = new Date(Date.parse(endDate) + 60_000).toISOString();
      expect((await put(id, { bayId, userAlias, startDate, endDate: later })).status).toBe(200);
    });

    test('a booking can move to a bay of another facility of the token, and keeps its id and references', async () => {
      const booking = await create({ externalBookingId: 'ext-move' });
      const change = bookingBody({ bayId: 'bay-s1-01' });
      const moved = await put(booking.id, change);
      expect(moved.status).toBe(200);
      expect(moved.body).toMatchObject({
        id: booking.id,
        externalBookingId: 'ext-move',
        createdAt: booking.createdAt,
        ...change,
      });
      expect((await system.call('GET', `/api/bookings/${booking.id}`)).body).toEqual(moved.body);
      const north = await system.token(['fac-north']);
      expect((await system.call('GET', `/api/bookings/${booking.id}`, { token: north })).status).toBe(404);
      const south = await system.token(['fac-south']);
      expect((await system.call('GET', `/api/bookings/${booking.id}`, { token: south })).status).toBe(200);
      const found = await system.call('GET', '/api/bookings?externalBookingIds=ext-move');
      expect(found.body.items).toHaveLength(1);
      const again = await system.call('POST', '/api/bookings', {
        body: bookingBody({ externalBookingId: 'ext-move' }),
      });
      expect(errorCodes(again)).toEqual(['BOOK00001']);
      const back = await put(booking.id, bookingBody({ bayId: 'bay-n1-03' }), {
        'If-Match': moved.headers.etag as string,
      });
      expect(back.status).toBe(200);
      expect((await system.call('DELETE', `/api/bookings/${booking.id}`)).status).toBe(204);
      expect(
        (await system.call('POST', '/api/bookings', { body: bookingBody({ externalBookingId: 'ext-move' }) })).status,
      ).toBe(201);
    });

    test('If-Match may be the current ETag, a list that contains it, or *', async () => {
      const { id, etag } = await create();
      const first = await put(id, bookingBody(), { 'If-Match': etag });
      expect(first.status).toBe(200);
      const second = await put(id, bookingBody(), { 'If-Match': `"other", ${first.headers.etag}` });
      expect(second.status).toBe(200);
      expect((await put(id, bookingBody(), { 'If-Match': '*' })).status).toBe(200);
    });
  });

  describe('400 for an invalid update', () => {
    test.each(['bayId', 'userAlias', 'startDate', 'endDate'])("a missing '%s' returns ERR00001", async (field) => {
      const { id } = await create({ externalBookingId: `ext-missing-${field}` });
      const response = await put(id, { ...bookingBody(), [field]: undefined });
      expect(response.status).toBe(400);
      expect(response.body.errors).toEqual([
        {
          code: 'ERR00001',
          description: `'${field}' is mandatory.`,
          moreInfo: '',
          contextData: { externalBookingId: `ext-missing-${field}`, field },
        },
      ]);
    });

    test('a field with a wrong type or format returns ERR00002', async () => {
      const { id } = await create();
      const response = await put(id, bookingBody({ userAlias: 5, startDate: 'tomorrow' }));
      expect(errorCodes(response)).toEqual(['ERR00002', 'ERR00002']);
    });

    test('a body that is not a JSON object returns ERR00003', async () => {
      const { id } = await create({ externalBookingId: 'not-an-object' });
      for (const body of ['[1]', 'null', '{']) {
        const contextData = { externalBookingId: 'not-an-object' };
        expect((await put(id, body)).body.errors).toMatchObject([{ code: 'ERR00003', contextData }]);
      }
    });

    test('a response reports ERR00010, ERR00011 and ERR00012 together', async () => {
      const { id } = await create();
      const change = { startDate: '2021-01-02T00:00:00Z', endDate: '2021-01-01T00:00:00Z', bayId: 'bay-e1-01' };
      expect(errorCodes(await put(id, bookingBody(change)))).toEqual(['ERR00010', 'ERR00011', 'ERR00012']);
    });

    test.each(['bay-nowhere', 'bay-e1-01', "bay' or ''='", 'x'.repeat(500)])(
      'a bayId that matches no bay returns ERR00012: %s',
      async (bayId) => {
        const { id } = await create({ externalBookingId: `ext-no-bay-${bayId.slice(0, 20)}` });
        const response = await put(id, bookingBody({ bayId }));
        expect(response.status).toBe(400);
        expect(errorCodes(response)).toEqual(['ERR00012']);
        expect(response.body.errors[0].description).toBe('No bay found with the given id.');
      },
    );

    test.each(['bay-n1-04', 'bay-s1-02'])(
      'an interval that overlaps another booking of bay %s returns BOOK00002',
      async (bayId) => {
        const other = await create({ bayId });
        const booking = await create({ bayId: 'bay-n1-05', externalBookingId: `ext-overlap-${bayId}` });
        const change = { bayId, userAlias: 'Ann', startDate: other.startDate, endDate: other.endDate };
        const response = await put(booking.id, change);
        expect(response.status).toBe(400);
        expect(errorCodes(response)).toEqual(['BOOK00002']);
        expect(response.body.errors[0].contextData).toEqual({ externalBookingId: `ext-overlap-${bayId}` });
        const { etag, ...unchanged } = booking;
        expect((await system.call('GET', `/api/bookings/${booking.id}`)).body).toEqual(unchanged);
        expect(etag).toBe((await system.call('GET', `/api/bookings/${booking.id}`)).headers.etag);
      },
    );

    test('a bay that cannot be booked returns BOOK00003', async () => {
      const { id } = await create();
      expect(errorCodes(await put(id, bookingBody({ bayId: 'bay-n1-99' })))).toEqual(['BOOK00003']);
    });

    test('a missing field and an overlap are reported together', async () => {
      const other = await create();
      const { id } = await create();
      const { bayId, startDate, endDate } = other;
      expect(errorCodes(await put(id, { bayId, startDate, endDate }))).toEqual(['ERR00001', 'BOOK00002']);
    });
  });

  describe('a booking that does not exist', () => {
    test.each(['00000000-0000-7000-8000-000000000000', 'not-a-uuid', '%00'])(
      'the id %s returns 404, whether the body is valid or not',
      async (id) => {
        const response = await put(id, bookingBody());
        expect(response.status).toBe(404);
        expect(errorCodes(response)).toEqual(['ERR00404']);
        expect((await put(id, {})).status).toBe(404);
      },
    );
  });

  describe('If-Match', () => {
    test('an old ETag, a weak ETag or a text without an ETag in If-Match returns 412', async () => {
      const { id, etag } = await create({ externalBookingId: 'ext-412' });
      expect((await put(id, bookingBody())).status).toBe(200);
      for (const condition of [etag, `W/${etag}`, '"x"', 'nonsense']) {
        const response = await put(id, bookingBody(), { 'If-Match': condition });
        expect(response.status).toBe(412);
        expect(response.body.errors).toEqual([
          expect.objectContaining({ code: 'ERR00412', contextData: { externalBookingId: 'ext-412' } }),
        ]);
      }
      expect((await put(id, bookingBody({ bayId: 'bay-s1-03' }), { 'If-Match': etag })).status).toBe(412);
    });
  });
});

describe('GET and HEAD', () => {
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
});

describe('DELETE', () => {
  const create = async (fields: Record<string, unknown> = {}) =>
    await system.call('POST', '/api/bookings', { body: bookingBody(fields) });
  const remove = (id: string, headers: Record<string, string> = {}) =>
    system.call('DELETE', `/api/bookings/${id}`, { headers });

  describe('a booking that exists', () => {
    test('DELETE returns 204 without a body, and the booking is deleted', async () => {
      const { body } = await create();
      const response = await remove(body.id);
      expect(response.status).toBe(204);
      expect(response.text).toBe('');
      expect((await system.call('GET', `/api/bookings/${body.id}`)).status).toBe(404);
    });

    test('the time slot and the externalBookingId of a deleted booking can be used again', async () => {
      const fields = bookingBody({ externalBookingId: 'ext-again' });
      const { body } = await system.call('POST', '/api/bookings', { body: fields });
      expect((await remove(body.id)).status).toBe(204);
      expect((await system.call('POST', '/api/bookings', { body: fields })).status).toBe(201);
    });

    test('DELETE returns 204 if If-Match is the current ETag', async () => {
      const { body, headers } = await create();
      expect((await remove(body.id, { 'If-Match': headers.etag as string })).status).toBe(204);
    });

    test('the body of a DELETE request is ignored', async () => {
      const { body } = await create();
      const response = await system.call('DELETE', `/api/bookings/${body.id}`, { body: '{broken' });
      expect(response.status).toBe(204);
    });
  });

  describe('a booking that does not exist', () => {
    test.each(['00000000-0000-7000-8000-000000000000', 'not-a-uuid'])('the id %s returns 404', async (id) => {
      const response = await remove(id);
      expect(response.status).toBe(404);
      expect(errorCodes(response)).toEqual(['ERR00404']);
    });

    test('a second DELETE returns 404', async () => {
      const { body } = await create({ externalBookingId: 'ext-second' });
      expect((await remove(body.id)).status).toBe(204);
      expect((await remove(body.id)).status).toBe(404);
    });
  });

  describe('If-Match', () => {
    test('an old ETag in If-Match returns 412, the booking is not deleted, and its externalBookingId stays in use', async () => {
      const { body, headers } = await create({ externalBookingId: 'ext-stays' });
      // The update changes the ETag, and leaves the externalBookingId as it is.
      expect((await system.call('PUT', `/api/bookings/${body.id}`, { body: bookingBody() })).status).toBe(200);
      expect(errorCodes(await remove(body.id, { 'If-Match': headers.etag as string }))).toEqual(['ERR00412']);
      expect((await system.call('GET', `/api/bookings/${body.id}`)).status).toBe(200);
      expect(errorCodes(await create({ externalBookingId: 'ext-stays' }))).toEqual(['BOOK00001']);
    });
  });
});
