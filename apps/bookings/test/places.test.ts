// Tests the endpoints for locations and bays (specification, "Booking location" and "Booking bay").
import { query } from '@bay-booking/service/database/database';
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { importPlaces } from './support/places.ts';
import { baseUrl, createTestSystem } from './support/test-system.ts';

const system = useFixture(() => createTestSystem());

/** Sends a GET request with the default token, which is for fac-north and fac-south. loc-east-1 belongs to fac-east. */
const get = (path: string) => system.call('GET', path);
const idsOf = ({ body }: { body: { items: { id: string }[] } }) => body.items.map(({ id }) => id);

describe('GET /api/booking-locations', () => {
  test('the list has the locations of the token’s facilities, by name, then id', async () => {
    const response = await get('/api/booking-locations');
    expect(response.status).toBe(200);
    expect(response.body.items).toEqual(
      [
        ['loc-north-1', 'North Range, ground floor', 'fac-north', 'Europe/Copenhagen'],
        ['loc-north-2', 'North Range, upper floor', 'fac-north', 'Europe/Copenhagen'],
        ['loc-south-1', 'South Range', 'fac-south', 'America/New_York'],
      ].map(([id, name, facilityId, timeZone]) => ({
        id,
        name,
        facilityId,
        timeZone,
        _links: {
          self: { method: 'GET', href: `${baseUrl}/api/booking-locations/${id}` },
          bays: { method: 'GET', href: `${baseUrl}/api/booking-bays?locationId=${id}` },
        },
      })),
    );
    expect(response.body).toMatchObject({ page: 1, pageSize: 500, pageCount: 1, total: 3 });
  });

  test('ids and facilityIds select locations, alone and together', async () => {
    expect(idsOf(await get('/api/booking-locations?ids=loc-north-2,loc-south-1,loc-east-1'))).toEqual([
      'loc-north-2',
      'loc-south-1',
    ]);
    expect(idsOf(await get('/api/booking-locations?facilityIds=fac-north&facilityIds=fac-east'))).toEqual([
      'loc-north-1',
      'loc-north-2',
    ]);
    expect(idsOf(await get('/api/booking-locations?facilityIds=fac-south&ids=loc-north-1'))).toEqual([]);
  });

  test('the links of a page contain the filters', async () => {
    const { body } = await get('/api/booking-locations?facilityIds=fac-north&pageSize=1&page=2');
    expect(body.items.map(({ id }: { id: string }) => id)).toEqual(['loc-north-2']);
    expect(body).toMatchObject({ total: 2, pageCount: 2 });
    expect(body._links.prev.href).toBe(`${baseUrl}/api/booking-locations?facilityIds=fac-north&page=1&pageSize=1`);
  });

  test('an invalid query parameter returns ERR00002', async () => {
    const response = await get('/api/booking-locations?ids=&page=x');
    expect(response.status).toBe(400);
    expect(errorCodes(response)).toEqual(['ERR00002', 'ERR00002']);
  });
});

describe('GET /api/booking-locations/{id}', () => {
  test('the response has the location with its links', async () => {
    const { status, body } = await get('/api/booking-locations/loc-south-1');
    expect(status).toBe(200);
    expect(body).toEqual((await get('/api/booking-locations?ids=loc-south-1')).body.items[0]);
  });

  test.each(['loc-nowhere', 'loc-east-1', '%00', 'x'.repeat(300)])('the id %s returns 404', async (id) => {
    const response = await get(`/api/booking-locations/${id}`);
    expect(response.status).toBe(404);
    expect(errorCodes(response)).toEqual(['ERR00404']);
  });
});

describe('GET /api/booking-bays', () => {
  test('the list has the bays of a location, by name, then id, with an empty _links', async () => {
    const response = await get('/api/booking-bays?locationId=loc-north-1');
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ page: 1, pageSize: 1000, pageCount: 1, total: 11 });
    expect(response.body.items[0]).toEqual({
      id: 'bay-n1-01',
      name: 'Bay 1',
      description: 'Bay number 1',
      kind: 'RangeBay',
      bookable: true,
      locationId: 'loc-north-1',
      location: { id: 'loc-north-1', name: 'North Range, ground floor' },
      _links: {},
    });
    expect(response.body.items.at(-1)).toMatchObject({ id: 'bay-n1-99', bookable: false });
  });

  test('without locationId, the list has every bay of the token’s facilities', async () => {
    const { body } = await get('/api/booking-bays');
    // The facility fac-north has 16 bays, and fac-south has 5.
    expect(body.total).toBe(21);
    expect(body._links.self.href).toBe(`${baseUrl}/api/booking-bays?page=1&pageSize=1000`);
  });

  test.each(['loc-nowhere', 'loc-east-1'])(
    "the list is empty for a location that does not exist in the token's facilities: %s",
    async (id) => {
      const { status, body } = await get(`/api/booking-bays?locationId=${id}`);
      expect(status).toBe(200);
      expect(body).toMatchObject({ items: [], total: 0, pageCount: 0 });
    },
  );

  test('a locationId that is empty or repeated returns ERR00002', async () => {
    for (const query of ['locationId=', 'locationId=a&locationId=b']) {
      expect(errorCodes(await get(`/api/booking-bays?${query}`))).toEqual(['ERR00002']);
    }
  });
});

test('locations and bays are ordered by name as people count, in every list and on every page', async () => {
  const names = [
    'Bay',
    'Bay 1',
    'Bay 02',
    'Bay 2',
    'Bay 9b',
    'Bay 10',
    'Bay 10a',
    'Floor 2, bay 11',
    'Floor 10, bay 1',
  ];
  const named = (prefix: string) => names.map((name, index) => ({ id: `${prefix}-${names.length - index}`, name }));
  const locations = named('loc-order').map((location) => ({ ...location, bays: [] as object[] }));
  locations[0]?.bays.push(...named('bay-order'));
  const facility = { id: 'fac-order', name: 'Order', timeZone: 'UTC', locations };
  await importPlaces(system.db, { facilities: [facility] });
  const token = await system.token(['fac-order']);
  const readNames = async (path: string) => {
    const pages = await Promise.all(
      [1, 2, 3].map((page) => system.call('GET', `${path}&pageSize=4&page=${page}`, { token })),
    );
    return pages.flatMap(({ body }) =>
      body.items.map((item: { name?: string; bay: { name: string } }) => (item.bay ?? item).name),
    );
  };
  const day = 'startDate=2040-05-01T00:00:00Z&endDate=2040-05-02T00:00:00Z';
  for (const path of [
    '/api/booking-locations?facilityIds=fac-order',
    `/api/booking-bays?locationId=${locations[0]?.id}`,
    `/api/booking-availability?locationIds=${locations[0]?.id}&${day}`,
  ])
    expect(await readNames(path)).toEqual(names);
});

describe('an import while the service runs', () => {
  test('an import takes effect immediately: a new bay can be booked, and a bay that is no longer bookable cannot', async () => {
    const facilities = (bookable: boolean) => [
      {
        id: 'fac-north',
        name: 'North Range',
        timeZone: 'Europe/Copenhagen',
        locations: [{ id: 'loc-new', name: 'Annex', bays: [{ id: 'bay-new', name: 'New', bookable }] }],
      },
    ];
    // Like the command `import`, this function only writes to the database. The service gets no notification.
    const importBay = (bookable: boolean) => importPlaces(system.db, { facilities: facilities(bookable) });
    // bookingBody returns a new time for each call, so the bookings never overlap.
    const create = () => system.call('POST', '/api/bookings', { body: bookingBody({ bayId: 'bay-new' }) });
    // ERR00012: no bay has this id.
    expect(errorCodes(await create())).toEqual(['ERR00012']);
    await importBay(true);
    expect((await create()).status).toBe(201);
    const searched = await system.call('GET', '/api/bookings?locationIds=loc-new');
    expect(searched.body.total).toBe(1);
    await importBay(false);
    // BOOK00003: the bay exists, but cannot be booked.
    expect(errorCodes(await create())).toEqual(['BOOK00003']);
  });
});

describe('GET and PUT /api/booking-bays/{id}', () => {
  const path = '/api/booking-bays/bay-n1-03';
  const bay = { name: 'Bay 3, left', description: '', bookable: true };
  const put = (body: object, headers: Record<string, string> = {}, id = path) =>
    system.call('PUT', id, { body, headers });

  test('a change is visible at once, in availability and bookings too, and in the audit list with the person', async () => {
    const before = await get(path);
    expect(before.body).toMatchObject({ id: 'bay-n1-03', name: 'Bay 3', bookable: true });
    const out = { name: '  Δοκός <b>', description: 'Net\ntorn', bookable: false };
    const changed = await put(out, { 'If-Match': before.headers.etag as string });
    expect([changed.status, changed.body]).toEqual([200, { ...before.body, ...out }]);
    expect((await get(path)).headers.etag).toBe(changed.headers.etag);
    expect(
      (await system.call('GET', path, { headers: { 'If-None-Match': changed.headers.etag as string } })).status,
    ).toBe(304);
    expect((await get('/api/booking-bays?locationId=loc-north-1')).body.items).toContainEqual(changed.body);
    const booking = await system.call('POST', '/api/bookings', { body: bookingBody({ bayId: 'bay-n1-03' }) });
    expect(errorCodes(booking)).toEqual(['BOOK00003']);
    // Of two clients, the second one based its change on an old state. An equal state is no event.
    expect((await put(bay, { 'If-Match': before.headers.etag as string })).status).toBe(412);
    expect((await put(bay)).status).toBe(200);
    expect((await put(await get(path).then(({ body }) => body))).status).toBe(200);
    expect((await system.call('POST', '/api/bookings', { body: bookingBody({ bayId: 'bay-n1-03' }) })).status).toBe(
      201,
    );
    const { headers } = await get(path);
    const rival = { 'If-Match': headers.etag as string };
    const answers = await Promise.all(['a', 'b'].map((name) => put({ ...bay, name }, rival)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    const [location] = [{ id: 'loc-north-1', name: 'Ground', bays: [{ id: 'bay-n1-03', name: 'Bay 3' }] }];
    const facility = { id: 'fac-north', name: 'North Range', timeZone: 'Europe/Copenhagen', locations: [location] };
    await importPlaces(system.db, { facilities: [facility] });
    expect((await get(path)).body.name).toBe('Bay 3');
    const events = await query(
      system.db,
      `select action, client_id as "clientId", subject, target, changed
      from management_event where subject is not null order by number`,
    );
    const event = { action: 'bay.updated', clientId: 'client-test', subject: 'acc-test', target: 'bays/bay-n1-03' };
    const changedFields = ['name', 'description', 'bookable'];
    expect(events).toEqual([
      { ...event, changed: changedFields },
      { ...event, changed: changedFields },
      { ...event, changed: ['name'] },
    ]);
  });

  test('an invalid bay returns every error, and a foreign or unknown one 404', async () => {
    expect(errorCodes(await put({}))).toEqual(['ERR00001', 'ERR00001', 'ERR00001']);
    const wrong = { name: 'a\u202eb', description: 'x'.repeat(2001), bookable: 'no' };
    expect(errorCodes(await put(wrong))).toEqual(['ERR00002', 'ERR00002', 'ERR00002']);
    expect(errorCodes(await put({ ...bay, name: '' }))).toEqual(['ERR00001']);
    for (const id of ['bay-e1-01', 'unknown', '%00', '__proto__']) {
      expect((await get(`/api/booking-bays/${id}`)).status).toBe(404);
      expect((await put(bay, {}, `/api/booking-bays/${id}`)).status).toBe(404);
    }
  });
});
