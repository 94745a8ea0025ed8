// POST /api/bookings. Specification, "POST /api/bookings" and "Errors"; contract section 7.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { slot } from './support/bookings.ts';
import { baseUrl, createWorld, type World } from './support/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const post = (body: unknown, headers: Record<string, string> = {}) =>
  world.call('POST', '/api/bookings', { body, headers });

describe('201', () => {
  test('answers the booking with its links, its Location and its ETag', async () => {
    const body = { ...slot(), bayId: 'bay-n1-01', externalBookingId: 'ext-1', correlationId: 'session-1' };
    const response = await post(body);
    expect(response.status).toBe(201);
    const { id, createdAt, lastUpdatedAt, ...rest } = response.body;
    const href = `${baseUrl}/api/bookings/${id}`;
    expect(rest).toEqual({
      externalBookingId: 'ext-1',
      correlationId: 'session-1',
      bayId: 'bay-n1-01',
      userAlias: 'Ann',
      startDate: body.startDate,
      endDate: body.endDate,
      _links: { self: { method: 'GET', href }, edit: { method: 'PUT', href }, delete: { method: 'DELETE', href } },
    });
    expect(createdAt).toBe(lastUpdatedAt);
    expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(60_000);
    expect(response.headers.location).toBe(href);
    expect(response.headers.etag).toMatch(/^"[^"]+"$/);
    expect(response.headers['cache-control']).toBe('no-store');
    const got = await world.call('GET', `/api/bookings/${id}`);
    expect(got.body).toEqual(response.body);
    expect(got.headers.etag).toBe(response.headers.etag);
  });

  test('without externalBookingId and correlationId, which are then left out', async () => {
    const { status, body } = await post(slot());
    expect(status).toBe(201);
    expect(body).not.toHaveProperty('externalBookingId');
    expect(body).not.toHaveProperty('correlationId');
  });
});
