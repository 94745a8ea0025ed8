// Tests GET /api/bookings (specification, "GET /api/bookings (list and search)").
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { errorCodes } from './support/booking-requests.ts';
import { baseUrl, createTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
const now = new Date('2030-06-15T12:00:00.000Z');
const idsByName = new Map<string, string>();

/** The bookings of the tests, by name. The times are on 15 June 2030. The booking 'ending' ends exactly at `now`. */
const bookings: [name: string, bayId: string, start: string, end: string, alias: string, correlationId: string][] = [
  ['past', 'bay-n1-01', '08:00', '09:00', 'Ann', 'session-a'],
  ['ending', 'bay-n1-01', '11:00', '12:00', 'Ann', 'session-a'],
  ['running', 'bay-n1-02', '11:30', '12:30', 'Bob', 'session-b'],
  ['next', 'bay-n1-01', '13:00', '14:00', 'Ann', 'session-b'],
  ['later', 'bay-n1-01', '14:00', '15:00', 'Cid', 'session-c'],
  ['instant', 'bay-n1-03', '13:00', '13:00', 'Dee', 'session-c'],
  ['upstairs', 'bay-n2-01', '13:00', '14:00', 'Ann', 'session-d'],
  ['south', 'bay-s1-01', '13:00', '14:00', 'Eve', 'session-d'],
];

beforeAll(async () => {
  // The bookings are created at 00:00, because a new booking must not start in the past. The tests run at `now`.
  let clock = new Date('2030-06-15T00:00:00Z');
  system = await createTestSystem({ now: () => clock });
  for (const [name, bayId, start, end, userAlias, correlationId] of bookings) {
    const times = { startDate: `2030-06-15T${start}:00Z`, endDate: `2030-06-15T${end}:00Z` };
    const body = { bayId, userAlias, correlationId, externalBookingId: `ext-${name}`, ...times };
    const response = await system.call('POST', '/api/bookings', { body });
    expect(response.status).toBe(201);
    idsByName.set(name, response.body.id);
  }
  // The default token permits fac-north and fac-south. No search of these tests may find this booking of fac-east.
  const east = await system.token(['fac-east']);
  const body = {
    bayId: 'bay-e1-01',
    userAlias: 'Ann',
    externalBookingId: 'ext-east',
    correlationId: 'session-a',
    startDate: '2030-06-15T13:00:00Z',
    endDate: '2030-06-15T14:00:00Z',
  };
  expect((await system.call('POST', '/api/bookings', { body, token: east })).status).toBe(201);
  clock = now;
});
afterAll(() => system.close());

const search = (query: string, options: { body?: unknown; headers?: Record<string, string> } = {}) =>
  system.call('GET', `/api/bookings${query}`, options);

async function findNames(
  query: string,
  options: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<string[]> {
  const response = await search(query, options);
  expect(response.status).toBe(200);
  const names = response.body.items.map(({ externalBookingId }: { externalBookingId: string }) =>
    externalBookingId.replace('ext-', ''),
  );
  expect(response.body.total).toBe(names.length);
  return names;
}
const idOf = (name: string): string => idsByName.get(name) as string;
/** These bookings start at the same time. */
const simultaneous = ['next', 'instant', 'upstairs', 'south'];

describe('searches', () => {
  test('a search without filters finds every booking of the token’s facilities, by startDate, then id', async () => {
    const response = await search('');
    const items: { id: string; startDate: string; _links: object }[] = response.body.items;
    expect(items).toHaveLength(bookings.length);
    const keys = items.map(({ startDate, id }) => `${startDate} ${id}`);
    expect(keys).toEqual(keys.toSorted());
    for (const { id, _links } of items) {
      expect(_links).toEqual({ self: { method: 'GET', href: `${baseUrl}/api/bookings/${id}` } });
    }
    const page = { method: 'GET', href: `${baseUrl}/api/bookings?page=1&pageSize=200` };
    expect(response.body).toMatchObject({ page: 1, pageSize: 200, pageCount: 1, total: 8 });
    expect(response.body._links).toEqual({ self: page, first: page, last: page });
    expect(response.headers.link).toBe(
      ['self', 'first', 'last'].map((relation) => `<${page.href}>; rel="${relation}"`).join(', '),
    );
  });

  test('a search by ids accepts repeated, bracketed and comma-separated values, and ignores invalid ids', async () => {
    const [past, south] = [idOf('past'), idOf('south')];
    for (const query of [
      `?ids=${past}&ids=${south}`,
      `?ids[]=${past}&ids[]=${south}`,
      `?ids=${past},${south}`,
      `?ids=${past}%2C${south}`,
    ]) {
      expect(await findNames(query)).toEqual(['past', 'south']);
    }
    expect(await findNames(`?ids=${past},nonsense`)).toEqual(['past']);
    expect(await findNames('?ids=nonsense')).toEqual([]);
  });

  test('a search by external ids, correlation ids, bays or userAlias finds bookings with such a value', async () => {
    expect(await findNames('?externalBookingIds=ext-next,ext-past,ext-nobody')).toEqual(['past', 'next']);
    expect((await findNames('?correlationIds=session-a&correlationIds=session-c')).toSorted()).toEqual(
      ['past', 'ending', 'instant', 'later'].toSorted(),
    );
    expect(await findNames('?bayIds=bay-n1-02,bay-nowhere')).toEqual(['running']);
    expect((await findNames('?userAlias=Ann')).toSorted()).toEqual(['ending', 'next', 'past', 'upstairs']);
    expect(await findNames('?userAlias=ann')).toEqual([]);
  });

  test('a search by text finds parts of the alias, the external id and values of metadata, in upper or lower case', async () => {
    const token = await system.token(['fac-east']);
    const searchEast = (query: string) => system.call('GET', `/api/bookings${query}`, { token });
    const create = async (day: string, fields: object) => {
      const times = { startDate: `2031-0${day}T10:00:00Z`, endDate: `2031-0${day}T11:00:00Z` };
      const body = { bayId: 'bay-e1-01', ...times, ...fields };
      const response = await system.call('POST', '/api/bookings', { body, token });
      expect(response.status).toBe(201);
    };
    await create('3-01', { userAlias: 'José 100%_\\ Straße', externalBookingId: 'ext-one', metadata: { Ada: 'ΟΔΟΣ' } });
    await create('3-02', {
      userAlias: 'ada l',
      externalBookingId: 'ext-two',
      metadata: { a: 'x', b: 'jOSE\u0301', c: 'a "b\\n\nd' },
    });
    await create('4-01', { userAlias: 'Ada', externalBookingId: 'ext-three' });
    const march = '&startDate=2031-03-01T00:00Z&endDate=2031-04-01T00:00Z';
    const find = async (text: string, others = march) =>
      (await searchEast(`?text=${encodeURIComponent(text)}${others}`)).body.items.map(
        ({ externalBookingId }: { externalBookingId: string }) => externalBookingId.replace('ext-', ''),
      );
    expect(await find('ADA')).toEqual(['two']);
    for (const text of ['%_\\', '%', 'STRASSE', 'οδοσ', 'one']) expect(await find(text)).toEqual(['one']);
    for (const text of ['A "b', 'B\\n', '"B\\']) expect(await find(text)).toEqual(['two']);
    for (const text of ['JOSÉ', 'jose\u0301', 'EXT-']) expect(await find(text)).toEqual(['one', 'two']);
    for (const text of ['.*', 'a|b', 'Ada1', 'l ext', 'nd', '\\"', '", "']) expect(await find(text)).toEqual([]);
    expect(await find('ada', `${march.replace('04-01', '04-02')}&bayIds=bay-e1-01&isActive=true`)).toEqual([
      'two',
      'three',
    ]);
    expect(await find('ada', `${march}&locationIds=loc-east-1`)).toEqual(['two']);
    expect(await find('🏌'.repeat(256))).toEqual([]);
    const paged = await searchEast(`?text=ext&pageSize=1&page=2${march}`);
    expect(paged.body).toMatchObject({ total: 2, pageCount: 2 });
    expect(new URL(paged.body._links.prev.href).searchParams.get('text')).toBe('ext');
    expect(errorCodes(await searchEast('?text=a'))).toEqual(['ERR00001', 'ERR00001']);
    expect(errorCodes(await searchEast(`?text=a&startDate=2031-03-01T00:00Z`))).toEqual(['ERR00001']);
  });

  test('a search with several filters finds the bookings that match all of them', async () => {
    expect(await findNames('?userAlias=Ann&correlationIds=session-a&isActive=false')).toEqual(['past', 'ending']);
    expect(await findNames('?locationIds=loc-north-1&bayIds=bay-n2-01')).toEqual([]);
    expect(await findNames('?locationIds=loc-north-2&bayIds=bay-n2-01,bay-n1-01&isActive=true')).toEqual(['upstairs']);
    expect(await findNames(`?ids=${idOf('past')}&isActive=true`)).toEqual([]);
  });

  test('isActive=true finds the bookings whose endDate is after now, and isActive=false the others', async () => {
    const active = ['running', ...simultaneous, 'later'];
    expect((await findNames('?isActive=true')).toSorted()).toEqual(active.toSorted());
    expect(await findNames('?isActive=false')).toEqual(['past', 'ending']);
    expect((await findNames('?isActive=true&locationIds=loc-north-1')).toSorted()).toEqual(
      ['running', 'next', 'instant', 'later'].toSorted(),
    );
  });

  test('a search without isActive finds active and inactive bookings', async () => {
    const north = ['past', 'ending', 'running', 'next', 'later', 'instant'];
    const names = (await findNames('')).toSorted();
    expect(names).toEqual(bookings.map(([name]) => name).toSorted());
    const activeAndOthers = [...(await findNames('?isActive=true')), ...(await findNames('?isActive=false'))];
    expect(activeAndOthers.toSorted()).toEqual(names);
    expect((await findNames('?locationIds=loc-north-1')).toSorted()).toEqual(north.toSorted());
  });

  test('a search with locationIds finds the bookings of these locations, with 50 per page', async () => {
    const response = await search('?locationIds=loc-north-2,loc-south-1');
    expect(response.body).toMatchObject({ total: 2, pageSize: 50 });
    expect(await findNames('?locationIds=loc-nowhere')).toEqual([]);
    expect(await findNames('?locationIds=loc-east-1')).toEqual([]);
  });

  test('a search with locationIds and dates finds bookings that start and end within the interval', async () => {
    // An interval of length 0 contains only bookings of length 0.
    const within = (from: string, to: string) =>
      findNames(`?locationIds=loc-north-1&startDate=2030-06-15T${from}:00Z&endDate=2030-06-15T${to}:00Z`);
    expect(await within('11:00', '12:00')).toEqual(['ending']);
    expect(await within('11:00', '12:30')).toEqual(['ending', 'running']);
    expect((await within('13:00', '13:00')).toSorted()).toEqual(['instant']);
    expect((await within('13:00', '14:00')).toSorted()).toEqual(['instant', 'next']);
    expect(await within('13:30', '14:30')).toEqual([]);
  });

  test('a search with dates and without locationIds finds the bookings that overlap the interval', async () => {
    // An interval includes its start and excludes its end. A booking or interval of length 0 includes its only instant.
    const overlapping = (from: string, to: string) =>
      findNames(`?bayIds=bay-n1-01,bay-n1-03&startDate=2030-06-15T${from}:00Z&endDate=2030-06-15T${to}:00Z`);
    expect(await overlapping('09:00', '11:00')).toEqual([]);
    expect(await overlapping('08:59', '11:01')).toEqual(['past', 'ending']);
    expect((await overlapping('12:00', '13:00')).toSorted()).toEqual([]);
    expect((await overlapping('13:00', '13:00')).toSorted()).toEqual(['instant', 'next']);
    expect((await overlapping('13:30', '14:30')).toSorted()).toEqual(['later', 'next']);
    expect(await overlapping('14:00', '14:00')).toEqual(['later']);
  });

  test('a search with only one date has an interval that is open at the other end', async () => {
    expect(await findNames('?startDate=2030-06-15T14:00:00Z')).toEqual(['later']);
    expect(await findNames('?endDate=2030-06-15T11:00:00Z')).toEqual(['past']);
  });

  test('a search reads endDate from the query, or from a JSON body if the query has none', async () => {
    // The query takes precedence.
    const body = { endDate: '2030-06-15T11:00:00Z', startDate: 'ignored' };
    expect(await findNames('?startDate=2030-06-15T08:00:00Z', { body })).toEqual(['past']);
    expect(await findNames('?startDate=2030-06-15T08:00:00Z&endDate=2030-06-15T12:00:00Z', { body })).toEqual([
      'past',
      'ending',
      'running',
    ]);
    const { _links } = (await search('?startDate=2030-06-15T08:00:00Z', { body })).body;
    expect(decodeURIComponent(_links.self.href)).toContain('endDate=2030-06-15T11:00:00Z');
    expect(await findNames('', { body: {} })).toHaveLength(bookings.length);
    // A proxy can turn a request without a body into one with an empty chunked body.
    const emptyBody = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
    expect(await findNames('', { headers: emptyBody })).toHaveLength(bookings.length);
  });

  test.each([
    ['application/json', '{"endDate":"2030-06-15T12:15:00Z"}'],
    ['application/json', '"2030-06-15T12:15:00Z"'],
    ['application/x-www-form-urlencoded', 'endDate=2030-06-15T12%3A15%3A00Z'],
    ['application/x-www-form-urlencoded', '{"endDate":"2030-06-15T12:15:00Z"}'],
  ])('endDate in a body (%s, %s) means the same as in the query, with and without locationIds', async (type, body) => {
    const inBody = { body, headers: { 'Content-Type': type } };
    for (const [query, expected] of [
      ['?startDate=2030-06-15T10:00:00Z', ['ending', 'running']],
      ['?locationIds=loc-north-1&startDate=2030-06-15T10:00:00Z', ['ending']],
      ['?bayIds=bay-n1-01', ['past', 'ending']],
    ] as const) {
      expect(await findNames(query, inBody)).toEqual(expected);
      expect(await findNames(`${query}&endDate=2030-06-15T12:15:00Z`)).toEqual(expected);
    }
  });

  test('both dates can be in a body, and the links of pages contain them', async () => {
    const body = { startDate: '2030-06-15T10:00:00Z', endDate: '2030-06-15T12:15:00Z' };
    for (const [query, expected] of [
      ['', ['ending', 'running']],
      ['?locationIds=loc-north-1', ['ending']],
    ] as const) {
      expect(await findNames(query, { body })).toEqual(expected);
      const { href } = (await search(query, { body })).body._links.self;
      const next = await system.call('GET', new URL(href).pathname + new URL(href).search);
      expect(next.body.items).toHaveLength(expected.length);
    }
    const invalid = await search('', { body: { ...body, startDate: 'monday' } });
    expect(invalid.body.errors).toMatchObject([{ code: 'ERR00002', contextData: { field: 'startDate' } }]);
  });

  test('a search accepts dates with offsets, with + written as %2B', async () => {
    expect(await findNames('?startDate=2030-06-15T16:00:00%2B02:00&endDate=2030-06-15T15:00:00Z')).toEqual(['later']);
  });

  test('a search ignores unknown parameters, and leaves them out of the links', async () => {
    const { body } = await search('?colour=red&userAlias=Bob');
    expect(body.total).toBe(1);
    expect(body._links.self.href).toBe(`${baseUrl}/api/bookings?userAlias=Bob&page=1&pageSize=200`);
  });

  test('a search accepts arrays with 500 values', async () => {
    const ids = Array.from({ length: 499 }, (_, index) => `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`);
    const response = await search(`?ids=${[...ids, idOf('past')].join('&ids=')}`);
    expect(response.status).toBe(200);
    expect(response.body.total).toBe(1);
    // The links are too long for a header, so only the body has them.
    expect(response.headers.link).toBeUndefined();
    expect(response.body._links.self.href.match(/ids=/g)).toHaveLength(500);
  });

  test('a search finds no bookings if the claim `facilities` of the token is empty, missing or malformed', async () => {
    for (const facilities of [[], undefined, 'fac-north', [1]]) {
      // This claim replaces the list in the first argument. With undefined, the token lacks the claim.
      const token = await system.token([], { facilities });
      const { body } = await system.call('GET', '/api/bookings', { token });
      expect(body).toMatchObject({ items: [], total: 0, pageCount: 0 });
    }
  });
});

describe('pages', () => {
  test('pages contain every booking once for every page size, with next and prev if those pages exist', async () => {
    const allIds = (await search('')).body.items.map(({ id }: { id: string }) => id);
    for (const size of [1, 2, 3, 8, 1000]) {
      const ids: string[] = [];
      let path: string | undefined = `/api/bookings?pageSize=${size}`;
      let page = 0;
      while (path) {
        const { body } = await system.call('GET', path);
        page += 1;
        expect(body).toMatchObject({
          page,
          pageSize: size,
          pageCount: Math.ceil(bookings.length / size),
          total: bookings.length,
        });
        expect(body._links.prev === undefined).toBe(page === 1);
        ids.push(...body.items.map(({ id }: { id: string }) => id));
        path = body._links.next?.href.slice(baseUrl.length);
      }
      expect(ids).toEqual(allIds);
    }
  });

  test('pages have links that contain every filter', async () => {
    const query = [
      'ids=a&externalBookingIds=x%26y&externalBookingIds[]=p%2Cq&correlationIds=c&bayIds=b&locationIds=loc-north-1',
      'userAlias=Ann%20%C3%86&isActive=true&startDate=2030-06-15T08:00:00Z&endDate=2030-06-15T18:00:00%2B02:00',
      'page=3&pageSize=7',
    ].join('&');
    const { body } = await search(`?${query}`);
    const parameters = new URL(body._links.first.href).searchParams;
    expect([...parameters]).toEqual([
      ['ids', 'a'],
      ['externalBookingIds', 'x&y'],
      ['externalBookingIds[]', 'p,q'],
      ['correlationIds', 'c'],
      ['bayIds', 'b'],
      ['locationIds', 'loc-north-1'],
      ['userAlias', 'Ann Æ'],
      ['isActive', 'true'],
      ['startDate', '2030-06-15T08:00:00Z'],
      ['endDate', '2030-06-15T18:00:00+02:00'],
      ['page', '1'],
      ['pageSize', '7'],
    ]);
  });

  test('pages after the last one are empty and have the total', async () => {
    for (const page of ['3', '99999999999999999999']) {
      const { body, status } = await search(`?pageSize=5&page=${page}`);
      expect(status).toBe(200);
      expect(body).toMatchObject({ items: [], total: 8, pageCount: 2 });
      expect(body._links.last.href).toContain('page=2&');
      expect(body._links.prev.href).toContain('page=2&');
      expect(body._links).not.toHaveProperty('next');
    }
  });
});

describe('400 for an invalid search', () => {
  test.each([
    ['page', 'page=0'],
    ['page', 'page=-1'],
    ['page', 'page=1.5'],
    ['page', 'page=one'],
    ['page', 'page='],
    ['page', 'page=1&page=2'],
    ['pageSize', 'pageSize=0'],
    ['pageSize', 'pageSize=1e2'],
    ['pageSize', 'pageSize=1001'],
    ['isActive', 'isActive=yes'],
    ['isActive', 'isActive=true&isActive=false'],
    ['startDate', 'startDate=2030-06-15'],
    ['startDate', 'startDate=2030-06-15T16:00:00+02:00'],
    ['endDate', 'endDate=2030-06-15T16'],
    // An empty id is invalid. An id in the wrong format, such as `a`, is accepted and finds nothing.
    ['ids', 'ids='],
    ['ids', 'ids=,'],
    ['endDate', 'text=a&startDate=2030-06-15T00:00Z&endDate=2031-07-20T00:01Z'],
    ['text', 'text=&startDate=2030-06-15T00:00Z&endDate=2030-06-16T00:00Z'],
    ['bayIds', 'bayIds[]='],
    ['bayIds', `bayIds=${'x'.repeat(257)}`],
    ['userAlias', 'userAlias='],
    ['userAlias', 'userAlias=%00'],
    ['correlationIds', `correlationIds=${Array(501).fill('a').join(',')}`],
  ])('an invalid %s returns ERR00002: ?%s', async (field, query) => {
    const response = await search(`?${query}`);
    expect(response.status).toBe(400);
    expect(errorCodes(response)).toEqual(['ERR00002']);
    expect(response.body.errors[0]).toMatchObject({
      description: `'${field}' is invalid.`,
      // A search has no external booking id.
      contextData: { externalBookingId: '' },
    });
  });

  test('a date with an unencoded + gets a hint', async () => {
    const { body } = await search('?startDate=2030-06-15T16:00:00+02:00');
    expect(body.errors[0].moreInfo).toContain('%2B');
  });

  test('with locationIds, one date without the other returns ERR00001', async () => {
    const [start, end] = ['startDate=2030-06-15T08:00:00Z', 'endDate=2030-06-15T18:00:00Z'];
    for (const [query, missing] of [
      [start, 'endDate'],
      [end, 'startDate'],
    ]) {
      const response = await search(`?locationIds=loc-north-1&${query}`);
      expect(response.status).toBe(400);
      expect(response.body.errors[0]).toMatchObject({ code: 'ERR00001', description: `'${missing}' is mandatory.` });
    }
    const body = { endDate: '2030-06-15T18:00:00Z' };
    expect((await search(`?locationIds=loc-north-1&${start}`, { body })).status).toBe(200);
  });

  test('an endDate before startDate is invalid', async () => {
    const response = await search('?startDate=2030-06-15T18:00:00Z&endDate=2030-06-15T08:00:00Z');
    expect(response.status).toBe(400);
    expect(response.body.errors[0].description).toBe("'endDate' is invalid.");
  });

  test('all errors are reported together', async () => {
    const response = await search(
      '?page=0&isActive=2&startDate=x&locationIds=loc-north-1&endDate=2030-06-15T08:00:00Z',
    );
    expect(response.body.errors.map(({ description }: { description: string }) => description).toSorted()).toEqual([
      "'isActive' is invalid.",
      "'page' is invalid.",
      "'startDate' is invalid.",
    ]);
  });

  test('an invalid endDate in a JSON body returns ERR00002, and an array as body returns ERR00003', async () => {
    expect(errorCodes(await search('', { body: { endDate: 5 } }))).toEqual(['ERR00002']);
    expect(errorCodes(await search('', { body: '[1]' }))).toEqual(['ERR00003']);
  });

  test.each([
    ['text/plain', 'endDate=1'],
    ['application/json', '{'],
    ['application/x-www-form-urlencoded', '{'],
    ['application/json', '[]'],
    ['application/json', '5'],
    ['multipart/form-data; boundary=x', '--x--'],
    ['application/xml', '<endDate/>'],
  ])(
    'a search body that cannot be read returns ERR00003, even if the query has endDate: %s, %s',
    async (type, body) => {
      for (const query of ['', '?endDate=2030-01-01T00:00:00Z']) {
        const response = await search(query, { body, headers: { 'Content-Type': type } });
        expect(response.status).toBe(400);
        expect(errorCodes(response)).toEqual(['ERR00003']);
      }
    },
  );
});
