// Tests GET, HEAD, PUT and DELETE /api/bookings/{id} (specification, "Errors" and the sections of these requests), and
// the metadata of bookings (docs/behaviour.md, "Metadata").
import { describe, expect, test } from '@jest/globals';
import { bookingBody, errorCodes, pluck } from './support/booking-requests.ts';
import { useTestSystem } from './support/test-system.ts';

// The default token of the system permits fac-north and fac-south. The bay bay-e1-01 is in fac-east, and bay-n1-99 is
// not bookable (support/places.ts). Each call of `bookingBody` returns a body with another time, in 2040 or later.
const system = useTestSystem();

type Headers = Record<string, string>;
const create = async (fields: Record<string, unknown> = {}) => {
  const response = await system.call('POST', '/api/bookings', { body: bookingBody(fields) });
  expect(response.status).toBe(201);
  return { ...response.body, etag: response.headers.etag as string };
};
const get = (id: string, headers: Headers = {}) => system.call('GET', `/api/bookings/${id}`, { headers });
const put = (id: string, body: unknown, headers: Headers = {}) =>
  system.call('PUT', `/api/bookings/${id}`, { body, headers });
const remove = (id: string, headers: Headers = {}) => system.call('DELETE', `/api/bookings/${id}`, { headers });

describe('PUT', () => {
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

  test('externalBookingId and correlationId cannot be changed and are ignored, also if they are used or invalid', async () => {
    const booking = await create({ externalBookingId: 'ext-2', correlationId: 'session-2' });
    const { body } = await put(booking.id, { ...bookingBody(), externalBookingId: 'other', correlationId: 7 });
    expect(body).toMatchObject({ externalBookingId: 'ext-2', correlationId: 'session-2' });
    const other = await create({ externalBookingId: 'other' });
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
    const { id, createdAt } = booking;
    expect(moved.body).toMatchObject({ id, createdAt, externalBookingId: 'ext-move', ...change });
    expect((await get(id)).body).toEqual(moved.body);
    const statusFor = async (facility: string) =>
      (await system.call('GET', `/api/bookings/${id}`, { token: await system.token([facility]) })).status;
    expect([await statusFor('fac-north'), await statusFor('fac-south')]).toEqual([404, 200]);
    const found = await system.call('GET', '/api/bookings?externalBookingIds=ext-move');
    expect(found.body.items).toHaveLength(1);
    const body = bookingBody({ externalBookingId: 'ext-move' });
    expect(errorCodes(await system.call('POST', '/api/bookings', { body }))).toEqual(['BOOK00001']);
    const ifMatch = { 'If-Match': moved.headers.etag as string };
    expect((await put(id, bookingBody({ bayId: 'bay-n1-03' }), ifMatch)).status).toBe(200);
    expect((await remove(booking.id)).status).toBe(204);
    expect((await remove(booking.id)).status).toBe(404);
    await create({ externalBookingId: 'ext-move' });
  });

  test('every error has the externalBookingId of the booking', async () => {
    const contextData = { externalBookingId: 'ext-errors' };
    const { id } = await create(contextData);
    const response = await put(id, { ...bookingBody({ bayId: 'bay-n1-99' }), userAlias: undefined });
    expect(response.status).toBe(400);
    expect(response.body.errors).toMatchObject([
      { code: 'ERR00001', description: "'userAlias' is mandatory.", contextData },
      { code: 'BOOK00003', contextData },
    ]);
    for (const body of ['[1]', 'null', '{'])
      expect((await put(id, body)).body.errors).toMatchObject([{ code: 'ERR00003', contextData }]);
  });

  test.each(['bay-n1-04', 'bay-s1-02'])(
    'an interval that overlaps another booking of bay %s returns BOOK00002, and the booking stays as it is',
    async (bayId) => {
      const other = await create({ bayId });
      const { etag, ...booking } = await create({ bayId: 'bay-n1-05', externalBookingId: `ext-overlap-${bayId}` });
      const change = { bayId, userAlias: 'Ann', startDate: other.startDate, endDate: other.endDate };
      expect(errorCodes(await put(booking.id, change))).toEqual(['BOOK00002']);
      const { body, headers } = await get(booking.id);
      expect([body, headers.etag]).toEqual([booking, etag]);
    },
  );
});

test('GET returns the booking with Cache-Control: private, no-cache, also for an id in upper case', async () => {
  const { etag, ...booking } = await create();
  const response = await get(booking.id);
  expect(response.status).toBe(200);
  expect(response.body).toEqual(booking);
  expect(response.headers).toMatchObject({ etag, 'cache-control': 'private, no-cache' });
  expect((await get(booking.id.toUpperCase())).body).toEqual(booking);
});

test('DELETE returns 204 without a body and ignores that of the request, and a second DELETE returns 404', async () => {
  const { id } = await create();
  const response = await system.call('DELETE', `/api/bookings/${id}`, { body: '{broken' });
  expect([response.status, response.text]).toEqual([204, '']);
  expect((await get(id)).status).toBe(404);
  expect((await remove(id)).status).toBe(404);
});

test.each(['00000000-0000-7000-8000-000000000000', 'not-a-uuid', "'", '%00', '%E0%A4%A'])(
  'a booking with the id %s does not exist: 404 for every method, whether the body is valid or not',
  async (id) => {
    for (const response of [await get(id), await put(id, bookingBody()), await put(id, {}), await remove(id)]) {
      expect(response.status).toBe(404);
      expect(response.body.errors).toEqual([
        { code: 'ERR00404', description: 'Not found.', moreInfo: '', contextData: { externalBookingId: '' } },
      ]);
    }
  },
);

describe('conditional requests', () => {
  test('If-Match may be the current ETag, a list that contains it, or *', async () => {
    const { id, etag } = await create();
    const first = await put(id, bookingBody(), { 'If-Match': etag });
    expect(first.status).toBe(200);
    const second = await put(id, bookingBody(), { 'If-Match': `"other", ${first.headers.etag}` });
    expect(second.status).toBe(200);
    expect((await remove(id, { 'If-Match': '*' })).status).toBe(204);
  });

  test('an old ETag, a weak ETag or a text without an ETag in If-Match returns 412', async () => {
    const { id, etag } = await create({ externalBookingId: 'ext-412' });
    const { body, headers } = await put(id, bookingBody());
    const contextData = { externalBookingId: 'ext-412' };
    for (const condition of [etag, `W/${headers.etag}`, '"x"', 'nonsense']) {
      const ifMatch = { 'If-Match': condition };
      for (const response of [await put(id, bookingBody({ bayId: 'bay-s1-03' }), ifMatch), await remove(id, ifMatch)]) {
        expect(response.status).toBe(412);
        expect(response.body.errors).toMatchObject([{ code: 'ERR00412', contextData }]);
      }
    }
    expect((await get(id)).body).toEqual(body);
  });

  test('If-None-Match with the current ETag, strong or weak, a list that contains it, or * returns 304', async () => {
    const { id, etag } = await create();
    for (const condition of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const headers = { 'If-None-Match': condition };
        const response = await system.call(method, `/api/bookings/${id}`, { headers });
        expect(response.status).toBe(304);
        expect(response.text).toBeFalsy();
        expect(response.headers.etag).toBe(etag);
      }
    }
    await put(id, bookingBody());
    expect((await get(id, { 'If-None-Match': `"x", ${etag}` })).status).toBe(200);
  });
});

describe('metadata', () => {
  const post = (metadata: unknown, headers: Record<string, string> = {}) =>
    system.call('POST', '/api/bookings', { body: bookingBody({ metadata }), headers });
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));

  describe('requests', () => {
    test('POST, GET, the list and the feed return the metadata, with every permitted key and text', async () => {
      const metadata = {
        'A-z_0.9': 'line\nbreak "quoted" 🏌 é',
        empty: '',
        ['k'.repeat(40)]: '🏌'.repeat(500),
        // JSON.parse gives an object this key of its own.
        ...JSON.parse('{ "__proto__": "x", "constructor": "y" }'),
      };
      const created = await post(metadata);
      expect(created.status).toBe(201);
      expect(created.body.metadata).toEqual(metadata);
      const { id } = created.body;
      expect((await system.call('GET', `/api/bookings/${id}`)).body).toEqual(created.body);
      const list = await system.call('GET', `/api/bookings?ids=${id}`);
      expect(list.body.items[0].metadata).toEqual(metadata);
      const feed = await system.call('GET', '/api/booking-changes?facilityId=fac-north');
      expect(feed.body.items.at(-1).data.metadata).toEqual(metadata);
    });

    test('20 keys are permitted, and null, {} and no metadata leave the field out', async () => {
      expect((await post(keys(20))).body.metadata).toEqual(keys(20));
      for (const none of [null, {}, undefined]) {
        const { status, body } = await post(none);
        expect([status, 'metadata' in body]).toEqual([201, false]);
      }
    });

    test.each([
      ['a text', 'x'],
      ['an array', ['x']],
      ['a number as value', { a: 1 }],
      ['null as value', { a: null }],
      ['an object as value', { a: {} }],
      ['an empty key', { '': 'x' }],
      ['a key of 41 characters', { ['k'.repeat(41)]: 'x' }],
      ['a key with a space', { 'a b': 'x' }],
      ['a key with a letter outside ASCII', { é: 'x' }],
      ['a value of 501 characters', { a: 'x'.repeat(501) }],
      ['a NUL character', { a: 'x\0' }],
      ['21 keys', keys(21)],
    ])('%s returns ERR00002 for metadata', async (_name, metadata) => {
      const existing = await post({ a: '1' });
      const path = `/api/bookings/${existing.body.id}`;
      const put = await system.call('PUT', path, { body: { ...existing.body, metadata } });
      for (const response of [await post(metadata), put]) {
        expect(errorCodes(response)).toEqual(['ERR00002']);
        expect(response.body.errors[0].description).toBe("'metadata' is invalid.");
      }
      expect((await system.call('GET', path)).body.metadata).toEqual({ a: '1' });
    });

    test('every invalid key of metadata is named once', async () => {
      const { body } = await post({ 'a b': 5, 'c d': 'x', ok: 'y' });
      expect(body.errors).toMatchObject([
        { moreInfo: expect.stringContaining("'a b'"), contextData: { field: 'metadata.a b' } },
        { moreInfo: expect.stringContaining("'c d'"), contextData: { field: 'metadata.c d' } },
      ]);
      expect((await system.call('GET', '/api/bookings?metadata[a b]=x')).body.errors).toMatchObject([
        { moreInfo: expect.stringContaining("'a b'"), contextData: { field: 'metadata' } },
      ]);
    });

    test('a PUT without metadata keeps it, an object replaces it, and null or {} removes it', async () => {
      const created = (await post({ a: '1', b: '2' })).body;
      const { metadata: _, ...others } = created;
      const put = async (fields: object) =>
        (await system.call('PUT', `/api/bookings/${created.id}`, { body: { ...others, ...fields } })).body.metadata;
      expect(await put({ userAlias: 'Bob' })).toEqual({ a: '1', b: '2' });
      // The metadata stays even if the booking moves to another facility.
      expect(await put({ bayId: 'bay-s1-02' })).toEqual({ a: '1', b: '2' });
      expect(await put({ metadata: { c: '3' } })).toEqual({ c: '3' });
      expect(await put({ metadata: null })).toBeUndefined();
      expect(await put({ metadata: { d: '4' } })).toEqual({ d: '4' });
      expect(await put({ metadata: {} })).toBeUndefined();
      expect(await put({})).toBeUndefined();
    });
  });

  describe('search', () => {
    const find = (query: string) => system.call('GET', `/api/bookings?${query}`);

    test('bookings match if every field is equal, with exact totals and links that keep the filter', async () => {
      const createWith = async (metadata: object, fields: object = {}) => (await create({ metadata, ...fields })).id;
      const first = await createWith({ shop: 'search', order: 'A&B =7', players: '4' });
      const second = await createWith({ shop: 'search', players: '4' }, { userAlias: 'Zoe' });
      await createWith({ shop: 'search', players: '40' });
      const south = await createWith({ shop: 'search', players: '4' }, { bayId: 'bay-s1-01' });
      const idsOf = async (query: string) => pluck((await find(query)).body.items, 'id');

      expect(await idsOf('metadata[shop]=search&metadata[players]=4')).toEqual([first, second, south]);
      expect(await idsOf('metadata%5Border%5D=A%26B%20%3D7')).toEqual([first]);
      expect(await idsOf('metadata[shop]=search&metadata[order]=A%26B%20%3D7&metadata[players]=5')).toEqual([]);
      expect(await idsOf('metadata[shop]=Search')).toEqual([]);
      expect(await idsOf('metadata[shop]=search&userAlias=Zoe')).toEqual([second]);
      expect(await idsOf('metadata[shop]=search&locationIds=loc-south-1&isActive=true')).toEqual([south]);

      const page = await find('metadata[shop]=search&metadata[players]=4&pageSize=1&page=2');
      expect(page.body).toMatchObject({ total: 3, pageCount: 3, page: 2 });
      expect(page.body.items[0].id).toBe(second);
      const next = await find(new URL(page.body._links.next.href).search.slice(1));
      expect(next.body.items[0].id).toBe(south);
      expect(next.body).not.toHaveProperty('_links.next');
    });

    test.each([
      'metadata=x',
      'metadata[]=x',
      'metadata[a b]=x',
      'metadata[a]=1&metadata[a]=2',
      `metadata[a]=${'x'.repeat(501)}`,
      Object.keys(keys(21))
        .map((key) => `metadata[${key}]=v`)
        .join('&'),
    ])('%s returns ERR00002 for metadata', async (query) => {
      const response = await find(query);
      expect(response.body.errors).toMatchObject([{ code: 'ERR00002', description: "'metadata' is invalid." }]);
    });

    test('with handling=strict, metadata[key] is known, and members of other parameters are not', async () => {
      const strict = { headers: { Prefer: 'handling=strict' } };
      expect((await system.call('GET', '/api/bookings?metadata[a]=x&ids[0]=y', strict)).status).toBe(200);
      const response = await system.call('GET', '/api/bookings?userAlias[a]=x', strict);
      expect(response.body.errors[0].description).toBe("'userAlias[a]' is not known.");
    });
  });
});
