// Tests which requests packages/client repeats, and when. The requests to bookings pass through a proxy, which
// simulates the failures that a test chooses. With the action `lose`, the proxy forwards the request, and closes the
// connection instead of sending the response.
import { BookingsApiError, type BookingsClient, BookingsConnectionError, type RetryOptions } from '@bay-booking/client';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newBooking, northToken, useClientSystem } from '../support/client-system.ts';
import { type HttpProxy, startHttpProxy } from '../support/http-proxy.ts';

const system = useClientSystem();
const location = 'loc-north-1';
const unavailable = { status: 503, headers: { 'Retry-After': '0' } };

let proxy: HttpProxy;
let client: BookingsClient;

/** Creates a client that sends its requests to bookings through the proxy, and its requests to auth directly. */
async function createProxiedClient(retry: RetryOptions = {}): Promise<BookingsClient> {
  const scope = 'https://bay-booking.example/golf/bookings';
  const auth = { ...northToken, issuer: system.auth.base, scope };
  const proxiedClient = system.createClient({ baseUrl: proxy.base, auth, retry, timeoutMs: 3_000 });
  // Without arguments, `setActions` makes the proxy forward all requests.
  proxy.setActions();
  // With this request, the client gets its access token before the test begins.
  await proxiedClient.locations.get(location);
  return proxiedClient;
}

beforeAll(async () => {
  proxy = await startHttpProxy(system.baseUrl);
  client = await createProxiedClient();
});
afterAll(() => proxy?.close());

const methods = () => proxy.requests.map(({ method }) => method);

describe('GET', () => {
  test('a GET is repeated after 503, 429, 502, 500 and a lost response', async () => {
    for (const action of [
      unavailable,
      { ...unavailable, status: 429 },
      { status: 502 },
      { status: 500 },
      'lose',
    ] as const) {
      proxy.setActions(action);
      expect((await client.locations.get(location)).id).toBe(location);
      expect(methods()).toEqual(['GET', 'GET']);
    }
  });

  test('a GET is repeated at most three times, and then fails with the last error', async () => {
    proxy.setActions(unavailable, unavailable, unavailable, unavailable);
    const error = await client.locations.get(location).catch((thrown) => thrown);
    expect(error).toMatchObject({ name: 'BookingsApiError', status: 503, problems: [], message: 'HTTP status 503' });
    expect(proxy.requests).toHaveLength(4);
    proxy.setActions('lose', 'lose', 'lose', 'lose');
    await expect(client.locations.get(location)).rejects.toBeInstanceOf(BookingsConnectionError);
    expect(proxy.requests).toHaveLength(4);
  });

  test('a GET is repeated not before the time in Retry-After', async () => {
    proxy.setActions({ status: 429, headers: { 'Retry-After': '1' } });
    await client.locations.get(location);
    const [first, second] = proxy.requests;
    expect((second?.arrivedAt ?? 0) - (first?.arrivedAt ?? 0)).toBeGreaterThanOrEqual(1_000);
  });

  test('a GET is not repeated when Retry-After is longer than maxTotalMs allows', async () => {
    const proxiedClient = await createProxiedClient({ maxTotalMs: 5_000 });
    proxy.setActions({ status: 503, headers: { 'Retry-After': '6' } });
    await expect(proxiedClient.locations.get(location)).rejects.toBeInstanceOf(BookingsApiError);
    expect(proxy.requests).toHaveLength(1);
  });

  test('a GET is not repeated after an error that another attempt cannot correct', async () => {
    proxy.setActions();
    await expect(client.locations.get('none')).rejects.toMatchObject({ status: 404 });
    expect(proxy.requests).toHaveLength(1);
  });

  test('a GET that is redirected fails, so that no other host gets the token', async () => {
    proxy.setActions({ status: 307, headers: { Location: 'http://127.0.0.1:9/' } });
    await expect(client.locations.get(location)).rejects.toMatchObject({ name: 'BookingsApiError', status: 307 });
    expect(proxy.requests).toHaveLength(1);
  });

  test('a GET ends when the caller aborts its signal between two attempts', async () => {
    const controller = new AbortController();
    proxy.setActions({ status: 503, headers: { 'Retry-After': '30' } });
    const call = client.locations.get(location, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 100);
    await expect(call).rejects.toThrow('enough');
  });
});

describe('POST', () => {
  test('a POST with an Idempotency-Key is repeated after a lost response, and creates one booking', async () => {
    proxy.setActions('lose', 'lose');
    const booking = newBooking();
    const { id } = await client.bookings.create(booking);
    expect(new Set(proxy.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(methods()).toEqual(['POST', 'POST', 'POST']);
    const { bayId, startDate, endDate } = booking;
    const found = await client.bookings.search({ bayIds: [bayId], startDate, endDate }).toArray();
    expect(found).toMatchObject([{ id }]);
  });

  test('a POST without an Idempotency-Key is repeated only after 429', async () => {
    const { id } = await client.webhooks.create({ url: 'http://127.0.0.1:9/hook' });
    proxy.setActions({ status: 429, headers: { 'Retry-After': '0' } });
    await client.webhooks.ping(id);
    expect(proxy.requests).toHaveLength(2);
    for (const action of [unavailable, 'lose'] as const) {
      proxy.setActions(action);
      await expect(client.webhooks.ping(id)).rejects.toThrow();
      expect(proxy.requests).toHaveLength(1);
    }
  });
});

describe('PUT', () => {
  test('a PUT is repeated after a lost response', async () => {
    const booking = await client.bookings.create(newBooking());
    proxy.setActions('lose');
    expect((await client.bookings.update(booking.id, { ...booking, userAlias: 'Bob' })).userAlias).toBe('Bob');
    expect(methods()).toEqual(['PUT', 'PUT']);
  });

  test('a PUT with ifMatch is not repeated after a lost response', async () => {
    const booking = await client.bookings.create(newBooking());
    proxy.setActions('lose');
    const update = client.bookings.update(booking.id, { ...booking, userAlias: 'Bob' }, { ifMatch: booking.etag });
    await expect(update).rejects.toBeInstanceOf(BookingsConnectionError);
    expect(methods()).toEqual(['PUT']);
    expect((await client.bookings.get(booking.id)).userAlias).toBe('Bob');
  });
});

describe('DELETE', () => {
  test('a DELETE succeeds when the response to the first attempt was lost', async () => {
    const { id } = await client.bookings.create(newBooking());
    proxy.setActions('lose');
    await client.bookings.delete(id);
    expect(methods()).toEqual(['DELETE', 'DELETE']);
  });

  test('a DELETE of a resource that does not exist fails with 404', async () => {
    proxy.setActions();
    await expect(client.bookings.delete('none')).rejects.toMatchObject({ status: 404 });
    // A service that responds with 429 has not deleted the booking. The client therefore reports the 404 to its second
    // attempt as an error.
    proxy.setActions({ status: 429, headers: { 'Retry-After': '0' } });
    await expect(client.bookings.delete('none')).rejects.toMatchObject({ status: 404 });
  });
});

test('a request without a response fails after timeoutMs', async () => {
  // With this booking, the feed has at least one change.
  await client.bookings.create(newBooking());
  let position = '';
  for await (const { next } of client.changes.read()) position = next;
  const afterChangeNumber = Number(new URL(position).searchParams.get('afterChangeNumber'));
  const clientWithoutRetries = await createProxiedClient({ maxAttempts: 1 });
  // At the end of the feed, the service waits for the next change before it responds, here for at most 20 s.
  const request = { query: { afterChangeNumber }, headers: { Prefer: 'wait=20' }, timeoutMs: 200 };
  const error = { name: 'BookingsConnectionError', cause: { name: 'TimeoutError' } };
  await expect(clientWithoutRetries.request('listBookingChanges', request)).rejects.toMatchObject(error);
});
