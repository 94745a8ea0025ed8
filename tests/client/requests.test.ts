// Tests the requests of packages/client: methods, errors, lists and versions, and which requests it repeats, and when.
import { BookingsApiError, type BookingsClient, BookingsConnectionError, type RetryOptions } from '@bay-booking/client';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { newBooking, useClientSystem } from '../support/client-system.ts';

const system = useClientSystem();
let client: BookingsClient;
/** Has the token of a Facility Manager, who may write opening hours. */
let manager: BookingsClient;
beforeAll(() => {
  client = system.createClient();
  const token = { clientId: 'demo-pat-north-manage', clientSecret: 'demo-pat-north-manage-secret' };
  manager = system.createClient({ auth: { ...token, scope: 'golf/schedule' } });
});

/** Returns the error of a call that must fail with an error response of the service. */
const errorOf = async (promise: Promise<unknown>): Promise<BookingsApiError> => {
  const error = await promise.catch((thrown) => thrown);
  if (!(error instanceof BookingsApiError)) throw new Error('no error of the service', { cause: error });
  return error;
};

test.each([false, true])('people has the names of the ids in histories, with DPoP: %s', async (dpop) => {
  const { people } = dpop
    ? system.createClient({ auth: { clientId: 'demo-pat-north', clientSecret: 'demo-pat-north-secret', dpop } })
    : client;
  expect(await people('fac-north')).toMatchObject({
    people: expect.arrayContaining([expect.objectContaining({ subject: 'acc-bot-north', kind: 'service' })]),
    clients: expect.arrayContaining([
      expect.objectContaining({ clientId: 'demo-pat-north', subject: 'acc-bot-north' }),
    ]),
  });
  const message = expect.stringContaining('the access token does not name this facility');
  expect(await errorOf(people('fac-south'))).toMatchObject({ status: 404, message });
  await expect(people('..')).rejects.toThrow(TypeError);
});

describe('errors', () => {
  test('a BookingsApiError has the status, all problems, what the service says about them, and the request id', async () => {
    // The alias is too long (ERR00002), the end is before the start (ERR00010) and in the past (ERR00011), and there is
    // no such bay (ERR00012).
    const invalid = { userAlias: 'x'.repeat(257), bayId: 'none', endDate: '2020-01-01T00:00Z' };
    const booking = { ...newBooking(), externalBookingId: 'e-1', ...invalid };
    const error = await errorOf(client.bookings.create(booking));
    expect(error).toMatchObject({ name: 'BookingsApiError', status: 400, requestId: expect.stringMatching(/./) });
    expect(error.problems.map(({ code }) => code)).toEqual(['ERR00002', 'ERR00010', 'ERR00011', 'ERR00012']);
    expect(error.problems[0]?.contextData).toEqual({ externalBookingId: 'e-1', field: 'userAlias' });
    expect(error.problems[0]?.moreInfo).toMatch(/^userAlias: ./);
    expect(error.message).toContain(`(${error.problems[0]?.moreInfo})`);
    expect([error.has('ERR00012'), error.has('BOOK00002')]).toEqual([true, false]);
    expect(error.message).toContain('ERR00012 No bay found with the given id.');
  });

  test('a client on a plain http page, which has no crypto.randomUUID, creates bookings', async () => {
    Object.defineProperty(crypto, 'randomUUID', { value: undefined, configurable: true });
    try {
      expect((await client.bookings.create(newBooking())).id).toMatch(/./);
    } finally {
      Reflect.deleteProperty(crypto, 'randomUUID');
    }
  });

  test('an id that would change the path of a request is rejected or escaped', async () => {
    for (const id of ['', '.', '..']) await expect(client.bookings.delete(id)).rejects.toThrow(TypeError);
    expect((await errorOf(client.bookings.get('a/../b?c#d'))).has('ERR00404')).toBe(true);
  });

  test('an aborted call throws the reason of its signal', async () => {
    const reason = new Error('no longer needed');
    await expect(client.locations.get('loc-north-1', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

test('the history lists the changes of a booking, and of a facility', async () => {
  const { id } = await client.bookings.create({ ...newBooking(), bayId: 'bay-n1-01' });
  await client.bookings.delete(id);
  const ofBooking = await client.bookings.history(id, { pageSize: 1 }).toArray();
  expect(ofBooking.map(({ action }) => action)).toEqual(['created', 'deleted']);
  expect(ofBooking[0]?.changes.bayId).toEqual({ from: null, to: 'bay-n1-01' });
  const ofBay = client.history.list({ facilityId: 'fac-north', bayIds: ['bay-n1-01'], action: 'deleted' });
  expect(await ofBay.toArray()).toMatchObject([{ bookingId: id, facilityId: 'fac-north', version: 2 }]);
});

test('an erasure needs a token with both scopes, and returns the number of bookings that it changed', async () => {
  const { id } = await client.bookings.create({ ...newBooking(), metadata: { guest: 'Ada' } });
  expect((await errorOf(client.bookings.erase({ ids: [id] }))).status).toBe(403);
  const token = { clientId: 'demo-pat-north-manage', clientSecret: 'demo-pat-north-manage-secret' };
  const eraser = system.createClient({ auth: { ...token, scope: 'golf/bookings golf/schedule' } });
  expect(await eraser.bookings.erase({ ids: [id], dryRun: true })).toEqual({ bookings: 1 });
  expect(await eraser.bookings.erase({ ids: [id] })).toEqual({ bookings: 1 });
});

test('with the option strict, the service rejects unknown fields and parameters', async () => {
  const preferences: (string | null)[] = [];
  const record: typeof fetch = (input, init) => {
    if (new URL(String(input)).pathname.startsWith('/api/')) preferences.push(new Headers(init?.headers).get('Prefer'));
    return fetch(input, init);
  };
  const strict = system.createClient({ strict: true, fetch: record });
  const misspelt = { ...newBooking(), externalBookingID: 'x' };
  expect((await client.bookings.create(misspelt)).id).toMatch(/./);
  const error = await errorOf(strict.bookings.create({ ...misspelt, ...newBooking() }));
  expect(error.problems.map(({ description }) => description)).toEqual(["'externalBookingID' is not known."]);
  const filter = { bayId: 'bay-n1-01' } as object;
  expect((await errorOf(strict.bookings.search(filter).toArray())).has('ERR00002')).toBe(true);
  const booking = await strict.bookings.get((await strict.bookings.create(newBooking())).id);
  const moved = await strict.bookings.update(booking.id, { ...booking, userAlias: 'Bea', metadata: { etag: 'x' } });
  expect(moved).toMatchObject({ userAlias: 'Bea', metadata: { etag: 'x' } });
  const group = await strict.groups.create({ bookings: [newBooking()] });
  expect(await strict.groups.replace(group.id, group)).toEqual(group);
  preferences.length = 0;
  expect((await errorOf(strict.bookings.create({ ...misspelt, ...newBooking() }))).status).toBe(400);
  expect((await errorOf(strict.bookings.search(filter).toArray())).status).toBe(400);
  // The other preference of a request stays.
  const waiting = { query: { facilityId: 'fac-north' }, headers: { Prefer: 'wait=0' } };
  const { headers } = await strict.request('listBookingChanges', waiting);
  expect(headers.get('Preference-Applied')).toBe('handling=strict, wait=0');
  expect(preferences).toEqual(['handling=strict', 'handling=strict', 'wait=0, handling=strict']);
});

describe('lists', () => {
  test('a list iterates over the items of all pages in order, and sends its filters with every page', async () => {
    const correlationId = 'visit, with a comma';
    const created: string[] = [];
    for (let count = 0; count < 5; count += 1)
      created.push((await client.bookings.create({ ...newBooking(), correlationId })).id);
    const query = { correlationIds: [correlationId], pageSize: 2 };
    const found: string[] = [];
    for await (const { id } of client.bookings.search(query)) found.push(id);
    expect(found).toEqual(created);
    const pages: object[] = [];
    for await (const { items, total } of client.bookings.search(query).pages())
      pages.push({ size: items.length, total });
    expect(pages).toEqual([2, 2, 1].map((size) => ({ size, total: 5 })));
  });

  test('an empty array as a filter is a TypeError, because the service would return everything', async () => {
    await expect(client.bookings.search({ ids: [] }).toArray()).rejects.toThrow('ids is an empty array');
  });

  test('metadata is a filter, and an empty object as a filter is a TypeError', async () => {
    const metadata = { order: 'a & b', shop: 'client' };
    const { id } = await client.bookings.create({ ...newBooking(), metadata });
    await client.bookings.create({ ...newBooking(), metadata: { shop: 'client' } });
    const found = await client.bookings.search({ metadata }).toArray();
    expect(found).toMatchObject([{ id, metadata }]);
    await expect(client.bookings.search({ metadata: {} }).toArray()).rejects.toThrow(TypeError);
  });

  test('the client lists locations, bays and upcoming bookings', async () => {
    const locations = await client.locations.list({ facilityIds: ['fac-north'] }).toArray();
    expect(locations.map(({ id }) => id)).toEqual(['loc-north-1', 'loc-north-2']);
    expect((await client.locations.get('loc-north-2')).name).toBe('North Range, upper floor');
    const bays = await client.bays.list({ locationId: 'loc-north-2' }).toArray();
    expect(bays.map(({ id }) => id)).toContain('bay-n2-05');
    const { id } = await client.bookings.create({ ...newBooking(), bayId: 'bay-n2-05' });
    const upcoming = await client.bays.upcomingBookings('bay-n2-05', { pageSize: 1 }).toArray();
    expect(upcoming.map((booking) => booking.id)).toEqual([id]);
  });
});

describe('versions and repeated requests', () => {
  test('with ifMatch, a booking is changed and deleted only in the version that the caller has seen', async () => {
    const first = await client.bookings.create(newBooking());
    const second = await client.bookings.update(first.id, { ...first, userAlias: 'Bob' }, { ifMatch: first.etag });
    expect(second).toMatchObject({ id: first.id, userAlias: 'Bob' });
    expect(second.etag).not.toBe(first.etag);
    expect((await client.bookings.get(first.id)).etag).toBe(second.etag);
    const late = client.bookings.update(first.id, { ...first, userAlias: 'Eve' }, { ifMatch: first.etag });
    expect((await errorOf(late)).has('ERR00412')).toBe(true);
    expect((await errorOf(client.bookings.delete(first.id, { ifMatch: first.etag }))).has('ERR00412')).toBe(true);
    await client.bookings.delete(first.id, { ifMatch: second.etag });
    expect((await errorOf(client.bookings.get(first.id))).has('ERR00404')).toBe(true);
  });

  test('the method request returns the status and the headers of a 304', async () => {
    const { id, etag } = await client.bookings.create(newBooking());
    const response = await client.request('getBooking', { path: { id }, headers: { 'If-None-Match': etag } });
    expect(response).toMatchObject({ status: 304, data: undefined });
    expect(response.headers.get('x-request-id')).toEqual(expect.any(String));
  });
});

describe('availability, holds and opening hours', () => {
  const day = { startDate: '2042-03-03T00:00:00.000Z', endDate: '2042-03-04T00:00:00.000Z' };
  const freeTimes = async (bayId: string, holdId?: string) => {
    const query = { bayIds: [bayId], ...day, ...(holdId && { holdId }) };
    return (await client.availability.search(query).toArray())[0]?.free;
  };

  test('a hold keeps a time free for its owner until it becomes a booking, and can be extended', async () => {
    const time = { bayId: 'bay-n2-02', startDate: '2042-03-03T10:00:00.000Z', endDate: '2042-03-03T11:00:00.000Z' };
    const hold = await client.holds.create(time);
    // The hold divides the free time of the day into two parts, but not for the owner of the hold.
    expect(await freeTimes('bay-n2-02')).toHaveLength(2);
    expect(await freeTimes('bay-n2-02', hold.id)).toHaveLength(1);
    expect((await errorOf(client.bookings.create({ ...time, userAlias: 'Eve' }))).has('BOOK00002')).toBe(true);
    const extended = await client.holds.extend(hold.id, { holdSeconds: 900 });
    expect(Date.parse(extended.expiresAt)).toBeGreaterThan(Date.parse(hold.expiresAt));
    expect((await client.holds.get(hold.id)).expiresAt).toBe(extended.expiresAt);
    await client.bookings.create({ ...time, userAlias: 'Ada', holdId: hold.id });
    expect((await errorOf(client.holds.delete(hold.id))).has('ERR00404')).toBe(true);
  });

  test('opening hours are set, read and deleted', async () => {
    const hours = { weekly: { monday: [{ opens: '08:00', closes: '20:00' }] }, exceptions: [] };
    const { etag } = await manager.locations.setOpeningHours('loc-north-1', hours);
    expect(await client.locations.getOpeningHours('loc-north-1')).toMatchObject({ ...hours, etag, alwaysOpen: false });
    await manager.locations.deleteOpeningHours('loc-north-1', { ifMatch: etag });
    expect((await client.locations.getOpeningHours('loc-north-1')).alwaysOpen).toBe(true);
  });
});

test('a group is tried, created once, read, and deleted in the version that the caller has seen', async () => {
  const bookings = [newBooking(), newBooking()];
  expect(await client.groups.create({ bookings, dryRun: true })).toMatchObject({ bookings: [] });
  const options = { idempotencyKey: crypto.randomUUID() };
  const group = await client.groups.create({ bookings }, options);
  expect(await client.groups.create({ bookings }, options)).toEqual(group);
  const [first] = group.bookings;
  if (!first) throw new Error('the group is empty');
  await client.bookings.update(first.id, { ...first, userAlias: 'Bob' });
  const stale = await errorOf(client.groups.delete(group.id, { ifMatch: group.etag }));
  expect(stale.has('ERR00412')).toBe(true);
  const current = await client.groups.get(group.id);
  expect(current.bookings).toHaveLength(2);
  const [kept] = current.bookings;
  if (!kept) throw new Error('the group is empty');
  expect(await client.groups.replace(group.id, { bookings: [kept], dryRun: true })).toMatchObject({ bookings: [] });
  const replaced = await client.groups.replace(group.id, { bookings: [kept] }, { ifMatch: current.etag });
  expect(replaced.bookings).toEqual([kept]);
  await client.groups.delete(group.id, { ifMatch: replaced.etag });
  expect((await errorOf(client.groups.get(group.id))).has('ERR00404')).toBe(true);
});

describe('repeated requests', () => {
  const location = 'loc-north-1';
  const unavailable = { status: 503, headers: { 'Retry-After': '0' } };

  /** `lose` sends the request and loses its response. An object is the response to a request that is not sent. */
  type Action = 'lose' | { readonly status: number; readonly headers?: Record<string, string> };
  const actions: Action[] = [];
  const requests: { method: string; key: string | null; redirect: string | undefined; at: number }[] = [];
  /** The next requests fail in these ways, one action for each, and further ones succeed. Empties `requests`. */
  const setActions = (...list: readonly Action[]): void => {
    requests.length = 0;
    actions.splice(0, actions.length, ...list);
  };
  const failingFetch: typeof fetch = async (input, init = {}) => {
    if (!new URL(String(input)).pathname.startsWith('/api/')) return fetch(input, init);
    const { method = 'GET', redirect } = init;
    const key = new Headers(init.headers).get('Idempotency-Key');
    requests.push({ method, key, redirect, at: performance.now() });
    const action = actions.shift();
    if (typeof action === 'object') return new Response(null, action);
    const response = await fetch(input, init);
    if (action === 'lose') throw new TypeError('fetch failed');
    return response;
  };
  const createFailingClient = (retry: RetryOptions = {}) =>
    system.createClient({ fetch: failingFetch, retry, timeoutMs: 3_000 });
  let client: BookingsClient;
  beforeAll(() => {
    client = createFailingClient();
  });
  const methods = () => requests.map(({ method }) => method);

  test('a GET is repeated after 503, 429, 502, 500 and a lost response', async () => {
    for (const action of [
      unavailable,
      { ...unavailable, status: 429 },
      { status: 502 },
      { status: 500 },
      'lose',
    ] as const) {
      setActions(action);
      expect((await client.locations.get(location)).id).toBe(location);
      expect(methods()).toEqual(['GET', 'GET']);
    }
  });

  test('a GET is repeated at most three times, and then fails with the last error', async () => {
    setActions(unavailable, unavailable, unavailable, unavailable);
    const error = await client.locations.get(location).catch((thrown) => thrown);
    expect(error).toMatchObject({ name: 'BookingsApiError', status: 503, problems: [], message: 'HTTP status 503' });
    expect(requests).toHaveLength(4);
    setActions('lose', 'lose', 'lose', 'lose');
    await expect(client.locations.get(location)).rejects.toBeInstanceOf(BookingsConnectionError);
    expect(requests).toHaveLength(4);
  });

  test('a GET is repeated not before the time in Retry-After', async () => {
    setActions({ status: 429, headers: { 'Retry-After': '1' } });
    await client.locations.get(location);
    const [first, second] = requests;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_000);
  });

  test('a GET is not repeated when Retry-After is longer than maxTotalMs allows', async () => {
    const impatientClient = createFailingClient({ maxTotalMs: 5_000 });
    setActions({ status: 503, headers: { 'Retry-After': '6' } });
    await expect(impatientClient.locations.get(location)).rejects.toBeInstanceOf(BookingsApiError);
    expect(requests).toHaveLength(1);
  });

  test('a GET that is redirected fails, so that no other host gets the token', async () => {
    setActions({ status: 307, headers: { Location: 'http://127.0.0.1:9/' } });
    await expect(client.locations.get(location)).rejects.toMatchObject({ name: 'BookingsApiError', status: 307 });
    expect(requests).toMatchObject([{ redirect: 'manual' }]);
  });

  test('a GET ends when the caller aborts its signal between two attempts', async () => {
    const controller = new AbortController();
    setActions({ status: 503, headers: { 'Retry-After': '30' } });
    const call = client.locations.get(location, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 100);
    await expect(call).rejects.toThrow('enough');
  });

  test('a POST with an Idempotency-Key is repeated after a lost response, and creates one booking', async () => {
    setActions('lose', 'lose');
    const booking = newBooking();
    const { id } = await client.bookings.create(booking);
    expect(new Set(requests.map(({ key }) => key)).size).toBe(1);
    expect(methods()).toEqual(['POST', 'POST', 'POST']);
    const { bayId, startDate, endDate } = booking;
    const found = await client.bookings.search({ bayIds: [bayId], startDate, endDate }).toArray();
    expect(found).toMatchObject([{ id }]);
  });

  test('a POST without an Idempotency-Key is repeated only after 429', async () => {
    const { id } = await client.webhooks.create({ url: 'http://127.0.0.1:9/hook' });
    setActions({ status: 429, headers: { 'Retry-After': '0' } });
    await client.webhooks.ping(id);
    expect(requests).toHaveLength(2);
    for (const action of [unavailable, 'lose'] as const) {
      setActions(action);
      await expect(client.webhooks.ping(id)).rejects.toThrow();
      expect(requests).toHaveLength(1);
    }
  });

  test('a PUT is repeated after a lost response', async () => {
    const booking = await client.bookings.create(newBooking());
    setActions('lose');
    expect((await client.bookings.update(booking.id, { ...booking, userAlias: 'Bob' })).userAlias).toBe('Bob');
    expect(methods()).toEqual(['PUT', 'PUT']);
  });

  test('a PUT with ifMatch is not repeated after a lost response', async () => {
    const booking = await client.bookings.create(newBooking());
    setActions('lose');
    const update = client.bookings.update(booking.id, { ...booking, userAlias: 'Bob' }, { ifMatch: booking.etag });
    await expect(update).rejects.toBeInstanceOf(BookingsConnectionError);
    expect(methods()).toEqual(['PUT']);
    expect((await client.bookings.get(booking.id)).userAlias).toBe('Bob');
  });

  test('a DELETE succeeds when the response to the first attempt was lost', async () => {
    const { id } = await client.bookings.create(newBooking());
    setActions('lose');
    await client.bookings.delete(id);
    expect(methods()).toEqual(['DELETE', 'DELETE']);
  });

  test('a DELETE of a resource that does not exist fails with 404, and is not repeated', async () => {
    setActions();
    await expect(client.bookings.delete('none')).rejects.toMatchObject({ status: 404 });
    expect(methods()).toEqual(['DELETE']);
    // A service that responds with 429 has not deleted the booking. The client therefore reports the 404 to its second
    // attempt as an error.
    setActions({ status: 429, headers: { 'Retry-After': '0' } });
    await expect(client.bookings.delete('none')).rejects.toMatchObject({ status: 404 });
  });

  test('a request without a response fails after timeoutMs', async () => {
    // With this booking, the feed has at least one change.
    await client.bookings.create(newBooking());
    let position = '';
    for await (const { next } of client.changes.read()) position = next;
    const afterChangeNumber = Number(new URL(position).searchParams.get('afterChangeNumber'));
    const clientWithoutRetries = createFailingClient({ maxAttempts: 1 });
    // At the end of the feed, the service waits for the next change before it responds, here for at most 20 s.
    const request = { query: { afterChangeNumber }, headers: { Prefer: 'wait=20' }, timeoutMs: 200 };
    const error = { name: 'BookingsConnectionError', cause: { name: 'TimeoutError' } };
    await expect(clientWithoutRetries.request('listBookingChanges', request)).rejects.toMatchObject(error);
  });
});
