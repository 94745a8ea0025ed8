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

describe('204 for a booking that exists', () => {
  test('the booking is deleted, and the response has no body', async () => {
    const { body } = await create();
    const response = await remove(body.id);
    expect(response.status).toBe(204);
    expect(response.text).toBe('');
    expect((await system.call('GET', `/api/bookings/${body.id}`)).status).toBe(404);
  });

  test('the time slot and the externalBookingId can be used again', async () => {
    const fields = bookingBody({ externalBookingId: 'ext-again' });
    const { body } = await system.call('POST', '/api/bookings', { body: fields });
    expect((await remove(body.id)).status).toBe(204);
    expect((await system.call('POST', '/api/bookings', { body: fields })).status).toBe(201);
  });

  test('If-Match may be the current ETag', async () => {
    const { body, headers } = await create();
    expect((await remove(body.id, { 'If-Match': headers.etag as string })).status).toBe(204);
  });

  test('a body is ignored', async () => {
    const { body } = await create();
    const response = await system.call('DELETE', `/api/bookings/${body.id}`, { body: '{broken' });
    expect(response.status).toBe(204);
  });
});

describe('404 for', () => {
  test.each(['00000000-0000-7000-8000-000000000000', 'not-a-uuid'])('a booking that does not exist: %s', async (id) => {
    const response = await remove(id);
    expect(response.status).toBe(404);
    expect(errorCodes(response)).toEqual(['ERR00404']);
  });

  test('a booking that was deleted before', async () => {
    const { body } = await create({ externalBookingId: 'ext-second' });
    expect((await remove(body.id)).status).toBe(204);
    expect((await remove(body.id)).status).toBe(404);
  });
});

describe('412 for an old ETag in If-Match', () => {
  test('the booking is not deleted, and its externalBookingId stays in use', async () => {
    const { body, headers } = await create({ externalBookingId: 'ext-stays' });
    expect((await system.call('PUT', `/api/bookings/${body.id}`, { body: bookingBody() })).status).toBe(200);
    expect(errorCodes(await remove(body.id, { 'If-Match': headers.etag as string }))).toEqual(['ERR00412']);
    expect((await system.call('GET', `/api/bookings/${body.id}`)).status).toBe(200);
    expect(errorCodes(await create({ externalBookingId: 'ext-stays' }))).toEqual(['BOOK00001']);
  });
});
