// Tests the metadata of bookings: in requests, responses, the feed and the search (docs/behaviour.md, "Metadata").
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { createTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
beforeAll(async () => {
  system = await createTestSystem();
});
afterAll(() => system.close());

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

  test('metadata is no unknown field with handling=strict, and its order does not matter to an Idempotency-Key', async () => {
    const body = bookingBody({ metadata: { a: '1', b: '2' } });
    const headers = { Prefer: 'handling=strict', 'Idempotency-Key': 'metadata' };
    const first = await system.call('POST', '/api/bookings', { body, headers });
    expect(first.status).toBe(201);
    const repeated = await system.call('POST', '/api/bookings', {
      body: { ...body, metadata: { b: '2', a: '1' } },
      headers,
    });
    expect(repeated.body).toEqual(first.body);
    const other = { ...body, metadata: { a: '1', b: '3' } };
    expect(errorCodes(await system.call('POST', '/api/bookings', { body: other, headers }))).toEqual(['ERR00422']);
  });
});

describe('search', () => {
  const find = (query: string) => system.call('GET', `/api/bookings?${query}`);

  test('bookings match if every field is equal, with exact totals and links that keep the filter', async () => {
    const create = async (metadata: object, fields: object = {}) =>
      (await system.call('POST', '/api/bookings', { body: bookingBody({ metadata, ...fields }) })).body.id;
    const first = await create({ shop: 'search', order: 'A&B =7', players: '4' });
    const second = await create({ shop: 'search', players: '4' }, { userAlias: 'Zoe' });
    await create({ shop: 'search', players: '40' });
    const south = await create({ shop: 'search', players: '4' }, { bayId: 'bay-s1-01' });
    const idsOf = async (query: string): Promise<string[]> =>
      (await find(query)).body.items.map(({ id }: { id: string }) => id);

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
