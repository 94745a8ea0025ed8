// Tests GET /api/bookings and GET /api/bays/{id}/upcoming-bookings (specification, the sections of these requests).
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import { errorCodes, pluck } from './support/booking-requests.ts';
import { importPlaces } from './support/places.ts';
import { baseUrl, useTestSystem } from './support/test-system.ts';

const now = new Date('2030-06-15T12:00:00.000Z');
// The bookings are created at 00:00, because a new booking must not start in the past. The tests run at `now`.
let clock = new Date('2030-06-15T00:00:00Z');
const system = useTestSystem({ now: () => clock });
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
  for (const [name, bayId, start, end, userAlias, correlationId] of bookings) {
    const times = { startDate: `2030-06-15T${start}:00Z`, endDate: `2030-06-15T${end}:00Z` };
    const body = { bayId, userAlias, correlationId, externalBookingId: `ext-${name}`, ...times };
    const response = await system.call('POST', '/api/bookings', { body });
    expect(response.status).toBe(201);
    idsByName.set(name, response.body.id);
  }
  // The default token permits fac-north and fac-south. No search of these tests may find this booking of fac-east.
  const token = await system.token(['fac-east']);
  const times = { startDate: '2030-06-15T13:00:00Z', endDate: '2030-06-15T14:00:00Z' };
  const ids = { bayId: 'bay-e1-01', externalBookingId: 'ext-east', correlationId: 'session-a' };
  const east = await system.call('POST', '/api/bookings', { body: { userAlias: 'Ann', ...ids, ...times }, token });
  expect(east.status).toBe(201);
  clock = now;
});

interface Options {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}
const search = (query: string, options: Options = {}) => system.call('GET', `/api/bookings${query}`, options);
const namesOf = ({ body }: Response): string[] =>
  pluck(body.items, 'externalBookingId').map((id: string) => id.replace('ext-', ''));

async function findNames(query: string, options: Options = {}): Promise<string[]> {
  const response = await search(query, options);
  expect(response.status).toBe(200);
  const names = namesOf(response);
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
    for (const { id, _links } of items)
      expect(_links).toEqual({ self: { method: 'GET', href: `${baseUrl}/api/bookings/${id}` } });
    const page = { method: 'GET', href: `${baseUrl}/api/bookings?page=1&pageSize=200` };
    expect(response.body).toMatchObject({ page: 1, pageSize: 200, pageCount: 1, total: 8 });
    expect(response.body._links).toEqual({ self: page, first: page, last: page });
    expect(response.headers.link).toBe(
      ['self', 'first', 'last'].map((relation) => `<${page.href}>; rel="${relation}"`).join(', '),
    );
  });

  test('a search by ids ignores invalid ids', async () => {
    expect(await findNames(`?ids=${idOf('past')},${idOf('south')},nonsense`)).toEqual(['past', 'south']);
    expect(await findNames('?ids=nonsense')).toEqual([]);
  });

  test('a search by external ids, correlation ids, bays or userAlias finds bookings with such a value', async () => {
    expect(await findNames('?externalBookingIds=ext-next,ext-past,ext-nobody')).toEqual(['past', 'next']);
    const ofTwoSessions = await findNames('?correlationIds=session-a&correlationIds=session-c');
    expect(ofTwoSessions.toSorted()).toEqual(['ending', 'instant', 'later', 'past']);
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
    const metadata = { a: 'x', b: 'jOSE\u0301', c: 'a "b\\n\nd' };
    await create('3-02', { userAlias: 'ada l', externalBookingId: 'ext-two', metadata });
    await create('4-01', { userAlias: 'Ada', externalBookingId: 'ext-three' });
    const march = '&startDate=2031-03-01T00:00Z&endDate=2031-04-01T00:00Z';
    const find = async (text: string, others = march) =>
      namesOf(await searchEast(`?text=${encodeURIComponent(text)}${others}`));
    expect(await find('ADA')).toEqual(['two']);
    for (const text of ['%_\\', '%', 'STRASSE', 'οδοσ', 'one']) expect(await find(text)).toEqual(['one']);
    for (const text of ['A "b', 'B\\n', '"B\\']) expect(await find(text)).toEqual(['two']);
    for (const text of ['JOSÉ', 'jose\u0301', 'EXT-']) expect(await find(text)).toEqual(['one', 'two']);
    for (const text of ['.*', 'a|b', 'Ada1', 'l ext', 'nd', '\\"', '", "']) expect(await find(text)).toEqual([]);
    const longer = `${march.replace('04-01', '04-02')}&bayIds=bay-e1-01&isActive=true`;
    expect(await find('ada', longer)).toEqual(['two', 'three']);
    expect(await find('ada', `${march}&locationIds=loc-east-1`)).toEqual(['two']);
    expect(await find('🏌'.repeat(256))).toEqual([]);
    const paged = await searchEast(`?text=ext&pageSize=1&page=2${march}`);
    expect(paged.body).toMatchObject({ total: 2, pageCount: 2 });
    expect(new URL(paged.body._links.prev.href).searchParams.get('text')).toBe('ext');
    expect(errorCodes(await searchEast('?text=a'))).toEqual(['ERR00001', 'ERR00001']);
    expect(errorCodes(await searchEast(`?text=a&startDate=2031-03-01T00:00Z`))).toEqual(['ERR00001']);
  });

  test('isActive=true finds the bookings whose endDate is after now, and isActive=false the others', async () => {
    const active = ['running', ...simultaneous, 'later'];
    expect((await findNames('?isActive=true')).toSorted()).toEqual(active.toSorted());
    expect(await findNames('?isActive=false')).toEqual(['past', 'ending']);
    const inNorth = await findNames('?isActive=true&locationIds=loc-north-1');
    expect(inNorth.toSorted()).toEqual(['instant', 'later', 'next', 'running']);
  });

  test('a search with locationIds finds the bookings of these locations, with 50 per page', async () => {
    const response = await search('?locationIds=loc-north-2,loc-south-1');
    expect(response.body).toMatchObject({ total: 2, pageSize: 50 });
    expect(await findNames('?locationIds=loc-nowhere')).toEqual([]);
    expect(await findNames('?locationIds=loc-east-1')).toEqual([]);
  });

  test('a search reads dates from the query, or from a JSON body if the query has none', async () => {
    // The query takes precedence.
    const body = { endDate: '2030-06-15T11:00:00Z', startDate: 'ignored' };
    const start = '?startDate=2030-06-15T08:00:00Z';
    expect(await findNames(start, { body })).toEqual(['past']);
    const both = await findNames(`${start}&endDate=2030-06-15T12:00:00Z`, { body });
    expect(both).toEqual(['past', 'ending', 'running']);
    const instant = { startDate: '2030-06-15T13:00:00Z', endDate: '2030-06-15T13:00:00Z' };
    expect((await findNames('', { body: instant })).toSorted()).toEqual(simultaneous.toSorted());
    const dates = { startDate: '2030-06-15T10:00:00Z', endDate: '2030-06-15T12:15:00Z' };
    const { items, _links } = (await search('?locationIds=loc-north-1', { body: dates })).body;
    expect(items).toMatchObject([{ id: idOf('ending') }]);
    expect(Object.fromEntries(new URL(_links.self.href).searchParams)).toMatchObject(dates);
    expect(errorCodes(await search('', { body: { ...dates, startDate: 'monday' } }))).toEqual(['ERR00002']);
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

describe('400 for an invalid search', () => {
  test.each([
    ['page', 'page=0'],
    ['pageSize', 'pageSize=1001'],
    ['isActive', 'isActive=yes'],
    ['startDate', 'startDate=2030-06-15'],
    ['startDate', 'startDate=2030-06-15T16:00:00+02:00'],
    // An empty id is invalid. An id in the wrong format, such as `a`, is accepted and finds nothing.
    ['ids', 'ids='],
    ['ids', 'ids=,'],
    ['endDate', 'text=a&startDate=2030-06-15T00:00Z&endDate=2031-07-20T00:01Z'],
    ['text', 'text=&startDate=2030-06-15T00:00Z&endDate=2030-06-16T00:00Z'],
    ['bayIds', `bayIds=${'x'.repeat(257)}`],
    ['userAlias', 'userAlias='],
    ['userAlias', 'userAlias=%00'],
    ['correlationIds', `correlationIds=${Array(501).fill('a').join(',')}`],
  ])('an invalid %s returns ERR00002: ?%s', async (field, query) => {
    const response = await search(`?${query}`);
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
    for (const query of [start, end]) {
      const response = await search(`?locationIds=loc-north-1&${query}`);
      expect(errorCodes(response)).toEqual(['ERR00001']);
      const missing = query === start ? 'endDate' : 'startDate';
      expect(response.body.errors[0].description).toBe(`'${missing}' is mandatory.`);
    }
    const body = { endDate: '2030-06-15T18:00:00Z' };
    expect((await search(`?locationIds=loc-north-1&${start}`, { body })).status).toBe(200);
  });

  test('all errors are reported together', async () => {
    const endDate = '2030-06-15T08:00:00Z';
    const { body } = await search(`?page=0&isActive=2&startDate=x&locationIds=loc-north-1&endDate=${endDate}`);
    const invalid = ['isActive', 'page', 'startDate'].map((name) => `'${name}' is invalid.`);
    expect(pluck(body.errors, 'description').toSorted()).toEqual(invalid);
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
      for (const query of ['', '?endDate=2030-01-01T00:00:00Z'])
        expect(errorCodes(await search(query, { body, headers: { 'Content-Type': type } }))).toEqual(['ERR00003']);
    },
  );
});

describe('GET /api/bays/{id}/upcoming-bookings', () => {
  const hourMilliseconds = 3_600_000;

  let now = new Date('2030-01-01T00:00:00Z');
  const system = useTestSystem({ now: () => now });
  beforeEach(() => {
    now = new Date('2030-01-01T00:00:00Z');
  });

  const book = async (bayId: string, startDate: string, endDate: string, options: object = {}): Promise<string> => {
    const body = { bayId, userAlias: 'Ann', startDate, endDate };
    const response = await system.call('POST', '/api/bookings', { body, ...options });
    expect(response.status).toBe(201);
    return response.body.id;
  };
  const upcoming = async (bayId: string, query = '', options: object = {}): Promise<string[]> => {
    const response = await system.call('GET', `/api/bays/${bayId}/upcoming-bookings${query}`, options);
    expect(response.status).toBe(200);
    return pluck(response.body.items, 'id');
  };

  describe('a bay of the token’s facilities', () => {
    test('the list includes every booking in progress at query time, and none that has ended', async () => {
      const ended = await book('bay-n1-01', '2030-06-15T10:00:00Z', '2030-06-15T12:00:00Z');
      const running = await book('bay-n1-01', '2030-06-15T12:00:00Z', '2030-06-15T13:00:00Z');
      const next = await book('bay-n1-01', '2030-06-16T12:00:00Z', '2030-06-16T13:00:00Z');
      await book('bay-n1-02', '2030-06-15T12:00:00Z', '2030-06-15T13:00:00Z');
      now = new Date('2030-06-15T11:59:59.999Z');
      expect(await upcoming('bay-n1-01')).toEqual([ended, running, next]);
      now = new Date('2030-06-15T12:00:00.000Z');
      expect(await upcoming('bay-n1-01')).toEqual([running, next]);
      now = new Date('2030-06-15T13:00:00.000Z');
      expect(await upcoming('bay-n1-01')).toEqual([next]);
    });

    test('a booking whose startDate equals its endDate is upcoming until that instant has passed', async () => {
      const instant = await book('bay-n1-03', '2030-06-15T12:00:00Z', '2030-06-15T12:00:00Z');
      now = new Date('2030-06-15T12:00:00.000Z');
      expect(await upcoming('bay-n1-03')).toEqual([instant]);
      now = new Date('2030-06-15T12:00:00.001Z');
      expect(await upcoming('bay-n1-03')).toEqual([]);
    });

    test('a page has 10 bookings by default, and its links contain todayOnly', async () => {
      for (let hour = 0; hour < 12; hour += 1) {
        const digits = String(hour).padStart(2, '0');
        await book('bay-n1-04', `2030-06-15T${digits}:00:00Z`, `2030-06-15T${digits}:30:00Z`);
      }
      const first = await system.call('GET', '/api/bays/bay-n1-04/upcoming-bookings');
      expect(first.body).toMatchObject({ page: 1, pageSize: 10, pageCount: 2, total: 12 });
      expect(first.body.items).toHaveLength(10);
      for (const { id, _links } of first.body.items)
        expect(_links).toEqual({ self: { method: 'GET', href: `${baseUrl}/api/bookings/${id}` } });
      now = new Date('2030-06-15T00:00:00Z');
      const path = '/api/bays/bay-n1-04/upcoming-bookings?todayOnly=true&page=2&pageSize=5';
      const second = await system.call('GET', path);
      expect(second.body).toMatchObject({ page: 2, pageSize: 5, pageCount: 3, total: 12 });
      expect(second.body._links.self.href).toBe(`${baseUrl}${path}`);
      expect(second.body._links.next.href).toBe(`${baseUrl}${path.replace('page=2', 'page=3')}`);
    });
  });

  describe('the time zone of a facility', () => {
    const importTimeZone = (timeZone: string) => {
      const bays = ['bay-zone', 'bay-night'].map((id) => ({ id, name: 'Bay' }));
      const locations = [{ id: 'loc-zone', name: 'Range', bays }];
      return importPlaces(system.db, { facilities: [{ id: 'fac-zone', name: 'Range', timeZone, locations }] });
    };
    let token: string;
    beforeAll(async () => {
      await importTimeZone('UTC');
      token = await system.token(['fac-zone']);
    });
    const bookInstant = (date: string) => book('bay-zone', date, date, { token });
    const find = (todayOnly: boolean, bayId = 'bay-zone') => upcoming(bayId, `?todayOnly=${todayOnly}`, { token });

    test.each([
      // Each row has a time zone, and times of a day from its first to its last second.
      ['America/New_York', '2030-06-15T04:00:00Z', '2030-06-15T20:00:00Z', '2030-06-16T03:59:59Z'],
      // On these days the clocks change. The first day has 23 hours, and the second day has 25.
      ['Europe/Copenhagen', '2030-03-30T23:00:00Z', '2030-03-31T12:00:00Z', '2030-03-31T21:59:59Z'],
      ['Europe/Copenhagen', '2031-10-25T22:00:00Z', '2031-10-26T12:00:00Z', '2031-10-26T22:59:59Z'],
      // In this time zone midnight occurs twice on the day, which begins at the first occurrence.
      [
        'Atlantic/Azores',
        '2030-10-27T00:00:00Z',
        '2030-10-27T00:59:59Z',
        '2030-10-27T01:00:00Z',
        '2030-10-28T00:59:59Z',
      ],
      // In this time zone midnight does not occur on the day, which begins at 01:00.
      ['America/Santiago', '2030-09-08T04:00:00Z', '2030-09-08T04:59:59Z', '2030-09-09T02:59:59Z'],
      // The rules for this time zone changed in 2026. Those of PostgreSQL may be older than those of Node.
      ['Africa/Casablanca', '2030-05-02T00:00:00Z', '2030-05-02T12:00:00Z', '2030-05-02T23:59:59Z'],
    ])('todayOnly=true selects the whole day in the time zone of the last import: %s', async (timeZone, ...day) => {
      await importTimeZone(timeZone);
      const [start, end] = [Date.parse(day[0] as string), Date.parse(day.at(-1) as string)];
      const bookingOfDayBefore = await bookInstant(new Date(start - 1_000).toISOString());
      const bookingsOfDay = await Promise.all(day.map(bookInstant));
      const night = [start - hourMilliseconds, start + 1].map((time) => new Date(time).toISOString());
      const running = await book('bay-night', ...(night as [string, string]), { token });
      now = new Date(start - hourMilliseconds);
      expect(await find(true)).toEqual([bookingOfDayBefore]);
      now = new Date(start);
      const next = await bookInstant(new Date(end + 1_000).toISOString());
      expect(await find(true)).toEqual(bookingsOfDay);
      expect((await find(false)).slice(0, day.length + 1)).toEqual([...bookingsOfDay, next]);
      expect(await find(true, 'bay-night')).toEqual([running]);
    });
  });

  test.each(['todayOnly=yes', 'todayOnly=', 'page=0', 'pageSize=x'])(
    'the query ?%s returns ERR00002',
    async (query) => {
      const response = await system.call('GET', `/api/bays/bay-n1-01/upcoming-bookings?${query}`);
      expect(errorCodes(response)).toEqual(['ERR00002']);
    },
  );

  // `bay-e1-01` belongs to a facility that the token does not contain. PostgreSQL rejects a text with the character
  // NUL (`%00`).
  test.each(['bay-nowhere', 'bay-e1-01', '%00'])(
    "a bay that does not exist in the token's facilities returns 404: %s",
    async (id) => {
      expect(errorCodes(await system.call('GET', `/api/bays/${id}/upcoming-bookings`))).toEqual(['ERR00404']);
    },
  );
});
