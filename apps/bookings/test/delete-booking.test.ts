// Tests DELETE /api/bookings/{id} (specification, "DELETE /api/bookings/{id}").
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { createTestSystem } from './support/test-system.ts';

const system = useFixture(() => createTestSystem());

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
