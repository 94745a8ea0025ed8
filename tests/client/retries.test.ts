// Tests which requests packages/client repeats, and when. The requests pass through a proxy, which simulates the
// failures that a test chooses.
import { BookingsApiError, type BookingsClient, BookingsConnectionError, type RetryOptions } from '@bay-booking/client';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ClientSystem, newBooking, northToken, startClientSystem } from '../support/client-system.ts';
import { type HttpProxy, startHttpProxy } from '../support/http-proxy.ts';

let fixture: ClientSystem;
let proxy: HttpProxy;
let client: BookingsClient;

/** Creates a client that sends its requests to bookings through the proxy, and its requests to auth directly. */
async function createProxiedClient(retry: RetryOptions = {}): Promise<BookingsClient> {
  const scope = 'https://bay-booking.example/golf/bookings';
  const auth = { ...northToken, issuer: fixture.auth.base, scope };
  const created = fixture.createClient({ baseUrl: proxy.base, auth, retry, timeoutMs: 3_000 });
  proxy.next();
  await created.locations.get('loc-north-1');
  return created;
}

beforeAll(async () => {
  fixture = await startClientSystem();
  proxy = await startHttpProxy(fixture.baseUrl);
  client = await createProxiedClient();
}, 90_000);
afterAll(async () => {
  await proxy?.close();
  await fixture?.stop();
}, 60_000);

const methods = () => proxy.requests.map(({ method }) => method);
const unavailable = { status: 503, headers: { 'Retry-After': '0' } };

describe('GET', () => {
  test('is repeated after 503, 429, 502, 500 and a lost response', async () => {
    for (const action of [
      unavailable,
      { status: 429, headers: { 'Retry-After': '0' } },
      { status: 502 },
      { status: 500 },
      'lose',
    ] as const) {
      proxy.next(action);
      expect((await client.locations.get('loc-north-1')).id).toBe('loc-north-1');
      expect(methods()).toEqual(['GET', 'GET']);
    }
  });

  test('is repeated at most three times, and then fails with the last error', async () => {
    proxy.next(unavailable, unavailable, unavailable, unavailable);
    const error = await client.locations.get('loc-north-1').catch((thrown) => thrown);
    expect(error).toMatchObject({ name: 'BookingsApiError', status: 503, problems: [], message: 'HTTP status 503' });
    expect(proxy.requests).toHaveLength(4);
    proxy.next('lose', 'lose', 'lose', 'lose');
    await expect(client.locations.get('loc-north-1')).rejects.toBeInstanceOf(BookingsConnectionError);
    expect(proxy.requests).toHaveLength(4);
  });

  test('waits for Retry-After', async () => {
    proxy.next({ status: 429, headers: { 'Retry-After': '1' } });
    await client.locations.get('loc-north-1');
    const [first, second] = proxy.requests;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_000);
  });

  test('is not repeated when Retry-After is longer than maxTotalMs allows', async () => {
    const patient = await createProxiedClient({ maxTotalMs: 5_000 });
    proxy.next({ status: 503, headers: { 'Retry-After': '6' } });
    await expect(patient.locations.get('loc-north-1')).rejects.toBeInstanceOf(BookingsApiError);
    expect(proxy.requests).toHaveLength(1);
  });

  test('is not repeated after an error that another attempt cannot correct', async () => {
    proxy.next();
    await expect(client.locations.get('none')).rejects.toMatchObject({ status: 404 });
    expect(proxy.requests).toHaveLength(1);
  });

  test('treats a redirect as an error, so that no other host gets the token', async () => {
    proxy.next({ status: 307, headers: { Location: 'http://127.0.0.1:9/' } });
    await expect(client.locations.get('loc-north-1')).rejects.toMatchObject({ name: 'BookingsApiError', status: 307 });
    expect(proxy.requests).toHaveLength(1);
  });

  test('ends when its signal is aborted between two attempts', async () => {
    const controller = new AbortController();
    proxy.next({ status: 503, headers: { 'Retry-After': '30' } });
    const call = client.locations.get('loc-north-1', { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 100);
    await expect(call).rejects.toThrow('enough');
  });
});

describe('POST', () => {
  test('with an Idempotency-Key is repeated after a lost response, and creates one booking', async () => {
    proxy.next('lose', 'lose');
    const booking = newBooking();
    const { id } = await client.bookings.create(booking);
    expect(new Set(proxy.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(methods()).toEqual(['POST', 'POST', 'POST']);
    const found = await client.bookings
      .search({ bayIds: [booking.bayId], startDate: booking.startDate, endDate: booking.endDate })
      .toArray();
    expect(found.map((item) => item.id)).toEqual([id]);
  });

  test('without an Idempotency-Key is repeated only after 429', async () => {
    const { id } = await client.webhooks.create({ url: 'http://127.0.0.1:9/hook' });
    proxy.next({ status: 429, headers: { 'Retry-After': '0' } });
    await client.webhooks.rotateSecret(id);
    expect(proxy.requests).toHaveLength(2);
    for (const action of [unavailable, 'lose'] as const) {
      proxy.next(action);
      await expect(client.webhooks.rotateSecret(id)).rejects.toThrow();
      expect(proxy.requests).toHaveLength(1);
    }
  });
});

describe('PUT', () => {
  test('is repeated after a lost response', async () => {
    const booking = await client.bookings.create(newBooking());
    proxy.next('lose');
    expect((await client.bookings.update(booking.id, { ...booking, userAlias: 'Bob' })).userAlias).toBe('Bob');
    expect(methods()).toEqual(['PUT', 'PUT']);
  });

  test('with ifMatch is not repeated after a lost response, because the first attempt may have changed the version', async () => {
    const booking = await client.bookings.create(newBooking());
    proxy.next('lose');
    const update = client.bookings.update(booking.id, { ...booking, userAlias: 'Bob' }, { ifMatch: booking.etag });
    await expect(update).rejects.toBeInstanceOf(BookingsConnectionError);
    expect(methods()).toEqual(['PUT']);
    expect((await client.bookings.get(booking.id)).userAlias).toBe('Bob');
  });
});

describe('DELETE', () => {
  test('succeeds when the response to the first attempt was lost', async () => {
    const { id } = await client.bookings.create(newBooking());
    proxy.next('lose');
    await client.bookings.delete(id);
    expect(methods()).toEqual(['DELETE', 'DELETE']);
  });

  test('of a resource that does not exist fails with ERR00404', async () => {
    proxy.next();
    await expect(client.bookings.delete('none')).rejects.toMatchObject({ status: 404 });
    proxy.next({ status: 429, headers: { 'Retry-After': '0' } });
    await expect(client.bookings.delete('none')).rejects.toMatchObject({ status: 404 });
  });
});

test('a request without a response ends after timeoutMs', async () => {
  const error = await client
    .request('listBookingChanges', { headers: { Prefer: 'wait=20' }, timeoutMs: 200 })
    .then(async ({ data }) => {
      const { searchParams } = new URL(data.next);
      const query = { afterChangeNumber: Number(searchParams.get('afterChangeNumber')) };
      const once = await createProxiedClient({ maxAttempts: 1 });
      return once.request('listBookingChanges', { query, headers: { Prefer: 'wait=20' }, timeoutMs: 200 });
    })
    .catch((thrown) => thrown);
  expect(error).toMatchObject({ name: 'BookingsConnectionError', cause: { name: 'TimeoutError' } });
});
