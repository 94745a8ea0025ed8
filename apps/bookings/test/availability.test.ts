// Tests opening hours, closures and GET /api/booking-availability: their endpoints, and their effect on bookings.
import { query } from '@bay-booking/service/database/database';
import { describe, expect, test } from '@jest/globals';
import { bookingBody, errorCodes, pluck, rounds } from './support/booking-requests.ts';
import { closeExtraSystems, createExtraSystem, useTestSystem } from './support/test-system.ts';

const system = useTestSystem();

const hoursOf = (location: string) => `/api/booking-locations/${location}/opening-hours`;
const put = (location: string, body: object, headers: Record<string, string> = {}) =>
  system.call('PUT', hoursOf(location), { body, headers });
const book = (bayId: string, startDate: string, endDate: string) =>
  system.call('POST', '/api/bookings', { body: bookingBody({ bayId, startDate, endDate }) });
const close = (body: object, headers: Record<string, string> = {}) =>
  system.call('POST', '/api/booking-closures', { body, headers });
/** Returns `booked`, or the code and `moreInfo` of each error. */
const outcome = ({ status, body }: Awaited<ReturnType<typeof book>>) =>
  status === 201 ? 'booked' : body.errors.map((error: Record<string, string>) => `${error.code} ${error.moreInfo}`);
const closureOf = async (response: ReturnType<typeof book>) => (await response).body.errors[0].contextData.closure;

describe('opening hours', () => {
  const daytime = { weekly: { monday: [{ opens: '07:00', closes: '22:00' }] } };

  test('a location without opening hours is always open, and one of another facility returns 404', async () => {
    expect((await system.call('GET', hoursOf('loc-east-1'))).status).toBe(404);
    expect((await put('loc-east-1', daytime)).status).toBe(404);
    const { status, body, headers } = await system.call('GET', hoursOf('loc-north-1'));
    expect(status).toBe(200);
    expect(headers.etag).toBeDefined();
    expect(body).toMatchObject({ locationId: 'loc-north-1', timeZone: 'Europe/Copenhagen', alwaysOpen: true });
    expect(body).toMatchObject({ weekly: {}, exceptions: [] });
  });

  test('PUT replaces weekly hours and exceptions; DELETE makes the location always open again', async () => {
    const exceptions = [{ date: '2040-12-24', hours: [] }];
    const first = await put('loc-south-1', { ...daytime, exceptions });
    expect([first.status, first.body.exceptions, first.body.alwaysOpen]).toEqual([200, exceptions, false]);
    // A field that the API does not define is ignored.
    const second = await put('loc-south-1', { ...daytime, alwaysOpen: false, unknown: 1 });
    expect([second.body.weekly, second.body.exceptions]).toEqual([daytime.weekly, []]);
    expect((await system.call('GET', hoursOf('loc-south-1'))).body).toEqual(second.body);
    expect((await system.call('DELETE', hoursOf('loc-south-1'))).status).toBe(204);
    expect((await system.call('DELETE', hoursOf('loc-south-1'))).status).toBe(204);
    expect((await system.call('GET', hoursOf('loc-south-1'))).body.alwaysOpen).toBe(true);
  });

  test.each([
    ['a body without weekly', {}, 'ERR00001'],
    ['a time that does not exist', { weekly: { monday: [{ opens: '24:00', closes: '10:00' }] } }, 'ERR00002'],
    ['a repeated date', { weekly: {}, exceptions: [1, 2].map(() => ({ date: '2040-01-01', hours: [] })) }, 'ERR00002'],
    ['a date that does not exist', { weekly: {}, exceptions: [{ date: '2040-02-30', hours: [] }] }, 'ERR00002'],
    ['alwaysOpen: true', { weekly: {}, alwaysOpen: true }, 'ERR00002'],
    [
      'more than six intervals on a day',
      { weekly: { monday: [1, 2, 3, 4, 5, 6, 7].map((hour) => ({ opens: `0${hour}:00`, closes: `0${hour}:30` })) } },
      'ERR00002',
    ],
  ])('PUT returns 400 for %s', async (_title, body, code) => {
    expect(errorCodes(await put('loc-south-1', body))).toEqual([code]);
  });

  test('every invalid part of the hours is reported with its path, and no part of them is stored', async () => {
    const before = (await system.call('GET', hoursOf('loc-south-1'))).body;
    const { status, body } = await put('loc-south-1', {
      weekly: { monday: [{ opens: '07:00' }], tuesday: [{ opens: '7', closes: '10:00' }], someday: [] },
      exceptions: [{ date: '2040-01-01', hours: [] }, { hours: [{ closes: 1, opens: '10:00' }] }],
    });
    expect(status).toBe(400);
    const errors = body.errors as { code: string; description: string; contextData: object }[];
    expect(new Set(errors.map(({ code, contextData }) => [code, contextData]))).toEqual(
      new Set([
        ['ERR00001', { field: 'weekly.monday[0].closes' }],
        ['ERR00001', { field: 'exceptions[1].date' }],
        ['ERR00002', { field: 'weekly.tuesday[0].opens' }],
        ['ERR00002', { field: 'weekly.someday' }],
        ['ERR00002', { field: 'exceptions[1].hours[0].closes' }],
      ]),
    );
    // A description names the field alone.
    expect(errors.find(({ code }) => code === 'ERR00001')?.description).toMatch(/^'(closes|date)' is mandatory\.$/);
    expect((await system.call('GET', hoursOf('loc-south-1'))).body).toEqual(before);
    // The errors of a body are limited.
    const exceptions = Array.from({ length: 20_000 }, () => ({}));
    expect((await put('loc-south-1', { weekly: {}, exceptions })).body.errors).toHaveLength(100);
  });

  test('If-Match on PUT and DELETE returns 412 when the hours have changed since', async () => {
    const { headers } = await system.call('GET', hoursOf('loc-south-1'));
    const ifMatch = { 'If-Match': headers.etag as string };
    expect((await put('loc-south-1', daytime, ifMatch)).status).toBe(200);
    expect((await put('loc-south-1', daytime, ifMatch)).status).toBe(412);
    expect((await system.call('DELETE', hoursOf('loc-south-1'), { headers: ifMatch })).status).toBe(412);
    const current = await system.call('GET', hoursOf('loc-south-1'));
    const ifNoneMatch = { 'If-None-Match': current.headers.etag as string };
    expect((await system.call('GET', hoursOf('loc-south-1'), { headers: ifNoneMatch })).status).toBe(304);
    expect((await system.call('DELETE', hoursOf('loc-south-1'))).status).toBe(204);
  });

  test('a booking outside the hours returns BOOK00003 with moreInfo closed', async () => {
    // Without opening hours, the location is always open.
    expect((await book('bay-n2-01', '2040-01-03T06:00:00Z', '2040-01-03T07:00:00Z')).status).toBe(201);
    // 2040-01-03 is a Tuesday. The time zone of the location is one hour ahead of UTC.
    await put('loc-north-2', { weekly: { tuesday: [{ opens: '07:00', closes: '22:00' }] } });
    const at = async (from: string, to: string) =>
      outcome(await book('bay-n2-02', `2040-01-03T${from}:00Z`, `2040-01-03T${to}:00Z`));
    expect(await at('05:59', '07:00')).toEqual(['BOOK00003 closed']);
    expect(await closureOf(book('bay-n2-02', '2040-01-03T05:00:00Z', '2040-01-03T05:10:00Z'))).toBe('closed');
    expect(await at('06:00', '07:00')).toBe('booked');
    expect(await at('20:30', '21:00')).toBe('booked');
    // The location closes at 21:00 UTC. A booking that begins and ends at this time is outside the hours.
    expect(await at('21:00', '21:00')).toEqual(['BOOK00003 closed']);
    await put('loc-north-2', { weekly: { tuesday: [{ opens: '22:00', closes: '02:00' }] } });
    expect(outcome(await book('bay-n2-02', '2040-01-03T21:00:00Z', '2040-01-04T01:00:00Z'))).toBe('booked');
    await system.call('DELETE', hoursOf('loc-north-2'));
    expect(await at('05:00', '05:30')).toBe('booked');
  });

  test('an update that keeps the bay and the times is not checked against opening hours', async () => {
    const body = bookingBody({ bayId: 'bay-n2-03' });
    const { body: booking } = await system.call('POST', '/api/bookings', { body });
    const closedOnEveryDay = { weekly: {} };
    await put('loc-north-2', closedOnEveryDay);
    const update = (fields: object) =>
      system.call('PUT', `/api/bookings/${booking.id}`, { body: { ...body, ...fields } });
    expect((await update({ userAlias: 'Bob' })).status).toBe(200);
    expect(outcome(await update({ bayId: 'bay-n2-04' }))).toEqual(['BOOK00003 closed']);
    // The location of this bay has no opening hours.
    expect((await update({ bayId: 'bay-n1-04' })).status).toBe(200);
    await system.call('DELETE', hoursOf('loc-north-2'));
  });
});

describe('closures', () => {
  const times = { startDate: '2041-05-01T08:00:00.000Z', endDate: '2041-05-01T12:00:00.000Z' };

  test('closures are created, read, updated and deleted, with a link to the bookings that they meet', async () => {
    const booking = await book('bay-n2-02', '2041-05-01T09:00:00Z', '2041-05-01T10:00:00Z');
    const created = await close({ bayIds: ['bay-n1-01'], locationId: null, ...times, reason: 'Maintenance' });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ bayIds: ['bay-n1-01'], locationId: null, reason: 'Maintenance', ...times });
    const path = new URL(created.headers.location as string).pathname;
    const read = await system.call('GET', path);
    expect([read.body, read.headers.etag]).toEqual([created.body, created.headers.etag]);
    const ifMatch = { headers: { 'If-Match': read.headers.etag as string } };
    const updated = await system.call('PUT', path, { body: { locationId: 'loc-north-2', ...times }, ...ifMatch });
    expect(updated.status).toBe(200);
    expect(updated.body).toMatchObject({ id: created.body.id, bayIds: null, locationId: 'loc-north-2', reason: null });
    const { pathname, search } = new URL(updated.body._links.conflicts.href);
    expect(pluck((await system.call('GET', pathname + search)).body.items, 'id')).toEqual([booking.body.id]);
    expect((await system.call('DELETE', path, ifMatch)).status).toBe(412);
    expect((await system.call('DELETE', path)).status).toBe(204);
    expect((await system.call('GET', path)).status).toBe(404);
  });

  test.each([
    ['both bayIds and locationId', { bayIds: ['bay-n1-01'], locationId: 'loc-north-1' }, ['ERR00002']],
    ['neither bayIds nor locationId', {}, ['ERR00002']],
    ['bays of two facilities', { bayIds: ['bay-n1-01', 'bay-s1-01'] }, ['ERR00002']],
    ['a bay of a facility that the token does not contain', { bayIds: ['bay-n1-01', 'bay-e1-01'] }, ['ERR00012']],
    ['a location of a facility that the token does not contain', { locationId: 'loc-east-1' }, ['ERR00002']],
    ['an end before the start', { bayIds: ['bay-n1-01'], endDate: '2041-04-01T08:00:00Z' }, ['ERR00010']],
    ['equal dates', { bayIds: ['bay-n1-01'], endDate: times.startDate }, ['ERR00002']],
    ['no dates', { bayIds: ['bay-n1-01'], startDate: null, endDate: null }, ['ERR00001', 'ERR00001']],
  ])('POST returns 400 for %s', async (_title, body, codes) => {
    expect(errorCodes(await close({ ...times, ...body }))).toEqual(codes);
  });

  test('the list can be filtered by location, bay and interval', async () => {
    const ofBay = (await close({ bayIds: ['bay-n1-05'], ...times })).body.id;
    const ofLocation = (await close({ locationId: 'loc-north-1', ...times })).body.id;
    const find = async (query: string) =>
      pluck((await system.call('GET', `/api/booking-closures?${query}`)).body.items, 'id');
    expect(await find('locationIds=loc-north-1')).toEqual([ofBay, ofLocation]);
    expect(await find('bayIds=bay-n1-06')).toEqual([ofLocation]);
    expect(await find('bayIds=bay-n1-05,bay-s1-01')).toEqual([ofBay, ofLocation]);
    expect(await find('startDate=2041-05-01T12:00:00Z')).toEqual([]);
    expect(await find('endDate=2041-05-01T08:00:00Z')).toEqual([]);
    expect(await find('startDate=2041-05-01T11:59:00Z&endDate=2041-06-01T00:00:00Z')).toEqual([ofBay, ofLocation]);
    for (const id of [ofBay, ofLocation]) await system.call('DELETE', `/api/booking-closures/${id}`);
  });

  test('a booking in a closure returns BOOK00003 with the reason of the closure that begins first', async () => {
    const start = '2041-06-01T10:00:00Z';
    const first = await close({ locationId: 'loc-north-1', startDate: start, endDate: '2041-06-01T13:00:00Z' });
    const at = async (from: string, to: string, bayId = 'bay-n1-07') =>
      outcome(await book(bayId, `2041-06-01T${from}:00Z`, `2041-06-01T${to}:00Z`));
    expect(await at('12:00', '14:00')).toEqual(['BOOK00003 blocked']);
    expect(await at('09:00', '10:00')).toBe('booked');
    expect(await at('10:00', '10:00')).toEqual(['BOOK00003 blocked']);
    const cable = { bayIds: ['bay-n1-07'], reason: 'Cable' };
    const earlier = await close({ ...cable, startDate: '2041-06-01T09:30:00Z', endDate: '2041-06-01T11:00:00Z' });
    expect(await at('10:30', '12:30')).toEqual(['BOOK00003 blocked: Cable']);
    expect(await closureOf(book('bay-n1-07', '2041-06-01T10:30:00Z', '2041-06-01T12:30:00Z'))).toBe('Cable');
    expect(await closureOf(book('bay-n1-08', '2041-06-01T10:30:00Z', '2041-06-01T12:30:00Z'))).toBe('blocked');
    // The booking from 09:00 to 10:00 also conflicts.
    expect(await at('09:00', '12:30')).toEqual(['BOOK00002 ', 'BOOK00003 blocked: Cable']);
    expect(await at('13:00', '14:00')).toBe('booked');
    // The bay bay-n1-99 is not bookable. The error for such a bay has no moreInfo.
    expect(await at('09:00', '10:00', 'bay-n1-99')).toEqual(['BOOK00003 ']);
    for (const { body } of [first, earlier]) await system.call('DELETE', `/api/booking-closures/${body.id}`);
    expect(await at('12:00', '13:00')).toBe('booked');
  });

  test('a facility has at most 1000 closures that have not ended, also with concurrent requests', async () => {
    const other = await createExtraSystem({ sharing: system, poolMax: 16 });
    const insert = `insert into booking_closure (facility_id, id, bay_ids, start_date, end_date, created_at, last_updated_at)
      select 'fac-east', gen_random_uuid(), array['bay-e1-01'], start_date, start_date + interval '1 hour', now(), now()
      from generate_series(now() - interval '50 hours', now() + interval '992 hours', '1 hour') start_date`;
    await query(system.db, insert);
    const token = await system.token(['fac-east', 'fac-north']);
    const call = (method: string, path: string, body?: object) => other.call(method, path, { body, token });
    const create = (body: object) => call('POST', '/api/booking-closures', { ...times, ...body });
    const responses = await Promise.all(Array.from({ length: 16 }, () => create({ bayIds: ['bay-e1-02'] })));
    const created = responses.filter(({ status }) => status === 201);
    const [rejected] = responses.filter(({ status }) => status === 400);
    expect(created.length).toBeGreaterThan(4);
    expect(created.length).toBeLessThan(9);
    expect(errorCodes(rejected as (typeof responses)[number])).toEqual(['CLOS00001']);
    const open = "select from booking_closure where facility_id = 'fac-east' and end_date > now()";
    expect(await query(system.db, open)).toHaveLength(1000);
    const availability = `startDate=${times.startDate}&endDate=2041-05-02T00:00Z&locationIds=loc-east-1`;
    const { items } = (await call('GET', `/api/booking-availability?${availability}`)).body;
    const starts = pluck(items, 'free').map((gaps: object[]) => pluck(gaps, 'startDate').join());
    expect(starts).toEqual([times.startDate, times.endDate, times.startDate]);
    // A closure that has ended does not count. It cannot be moved to the future, and no closure to this facility.
    const ended = await create({ bayIds: ['bay-e1-02'], startDate: '2020-01-01T00:00Z', endDate: '2020-01-02T00:00Z' });
    const elsewhere = await create({ bayIds: ['bay-n1-01'] });
    expect([ended.status, elsewhere.status]).toEqual([201, 201]);
    const replace = (id: string) => call('PUT', `/api/booking-closures/${id}`, { ...times, bayIds: ['bay-e1-03'] });
    for (const { body } of [ended, elsewhere]) expect(errorCodes(await replace(body.id))).toEqual(['CLOS00001']);
    expect((await replace(created[0]?.body.id)).status).toBe(200);
    await call('DELETE', `/api/booking-closures/${created[0]?.body.id}`);
    expect((await replace(elsewhere.body.id)).status).toBe(200);
    expect(other.databaseErrors).toEqual([]);
    await closeExtraSystems();
  });
});

test('a closure applies to every request that begins after its creation, also at another instance', async () => {
  // The other instance handles all requests of a round at the same time, because it has a connection for each.
  const concurrentRequests = 16;
  const other = await createExtraSystem({ sharing: system, poolMax: concurrentRequests });
  const statuses = new Set<number>();
  for (let round = 0; round < rounds(10); round += 1) {
    const day = Date.UTC(2042, 0, 1 + round);
    const at = (minutes: number) => new Date(day + minutes * 60_000).toISOString();
    const bookAt = (slot: number) => {
      const dates = { startDate: at(slot * 10), endDate: at(slot * 10 + 10) };
      return other.call('POST', '/api/bookings', { body: bookingBody({ bayId: 'bay-s1-03', ...dates }) });
    };
    // These requests are not awaited yet, so the closure is created while they run.
    const during = Array.from({ length: concurrentRequests }, (_, slot) => bookAt(slot));
    const closure = await close({ locationId: 'loc-south-1', startDate: at(0), endDate: at(24 * 60) });
    const after = await Promise.all(Array.from({ length: 8 }, (_, slot) => bookAt(concurrentRequests + slot)));
    expect(closure.status).toBe(201);
    expect(after.map(outcome)).toEqual(after.map(() => ['BOOK00003 blocked']));
    for (const { status } of await Promise.all(during)) statuses.add(status);
  }
  expect([...statuses].filter((status) => status !== 201 && status !== 400)).toEqual([]);
  expect(other.databaseErrors).toEqual([]);
  await closeExtraSystems();
});

describe('availability', () => {
  interface Gap {
    readonly startDate: string;
    readonly endDate: string;
  }

  const find = (query: string) => system.call('GET', `/api/booking-availability?${query}`);
  const day = 'startDate=2040-05-01T00:00:00Z&endDate=2040-05-02T00:00:00Z';
  const at = (time: string) => `2040-05-01T${time}:00.000Z`;
  const post = (path: string, bayId: string, from: string, to: string) =>
    system.call('POST', path, { body: bookingBody({ bayId, startDate: at(from), endDate: at(to) }) });
  /** Returns the gaps of a bay on this day, such as `08:00 10:30`. Times on the next day contain the date. */
  const freeOf = async (bayId: string, query = '') =>
    (await find(`bayIds=${bayId}&${day}${query}`)).body.items[0].free.map(({ startDate, endDate }: Gap) =>
      [startDate, endDate].map((date) => date.replace('2040-05-01T', '').replace(':00.000Z', '')).join(' '),
    );

  test('the response has the bays of a location by name, with gaps clipped to the interval', async () => {
    const { status, body, headers } = await find(`locationIds=loc-north-1&${day}`);
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    expect(headers.etag).toBeUndefined();
    expect(body.items[0]).toEqual({
      bay: { id: 'bay-n1-01', name: 'Bay 1', bookable: true },
      location: {
        id: 'loc-north-1',
        name: 'North Range, ground floor',
        facilityId: 'fac-north',
        timeZone: 'Europe/Copenhagen',
      },
      free: [{ startDate: at('00:00'), endDate: '2040-05-02T00:00:00.000Z' }],
      _links: {},
    });
    const bays = pluck(body.items, 'bay');
    expect(pluck(bays, 'name')).toEqual([...Array.from({ length: 10 }, (_, index) => `Bay ${index + 1}`), 'Bay 99']);
    expect(body).toMatchObject({ page: 1, pageSize: 200, pageCount: 1, total: 11 });
    expect(Object.keys(body).slice(0, 3)).toEqual(['items', 'asOf', '_links']);
    expect(body.items.at(-1)).toMatchObject({ bay: { id: 'bay-n1-99', bookable: false }, free: [] });
  });

  test.each([
    ['neither locationIds nor bayIds', day, ['ERR00001']],
    ['no dates', 'bayIds=a', ['ERR00001', 'ERR00001']],
    ['more than 32 days', 'bayIds=a&startDate=2040-01-01T00:00:00Z&endDate=2040-02-02T00:00:00.001Z', ['ERR00002']],
    ['an end before the start', 'bayIds=a&startDate=2040-01-02T00:00:00Z&endDate=2040-01-01T00:00:00Z', ['ERR00010']],
    ['minMinutes above 1440', `bayIds=a&${day}&minMinutes=1441`, ['ERR00002']],
    ['pageSize above 1000', `bayIds=a&${day}&pageSize=1001`, ['ERR00002']],
  ])('a request with %s returns 400', async (_title, query, codes) => {
    expect(errorCodes(await find(query))).toEqual(codes);
  });

  test('both locationIds and bayIds must match, and bays of other facilities are left out', async () => {
    const ids = async (query: string) => pluck(pluck((await find(`${query}&${day}`)).body.items, 'bay'), 'id');
    expect(await ids('locationIds=loc-north-1&bayIds=bay-n1-02,bay-s1-01')).toEqual(['bay-n1-02']);
    // The token does not permit fac-east. The bays are sorted by name: "Bay 1" (bay-s1-01) and "Bay 2" (bay-n1-02).
    expect(await ids('bayIds=bay-n1-02,bay-s1-01,bay-e1-01,unknown')).toEqual(['bay-s1-01', 'bay-n1-02']);
    expect(await ids('locationIds=loc-east-1')).toEqual([]);
  });

  test('bookings, live holds, closures and closing times make a bay unavailable', async () => {
    await post('/api/bookings', 'bay-s1-01', '10:00', '11:00');
    await post('/api/bookings', 'bay-s1-01', '11:00', '11:00');
    const { body: hold } = await post('/api/booking-holds', 'bay-s1-01', '14:00', '15:00');
    const { body: closure } = await close({ locationId: 'loc-south-1', startDate: at('18:00'), endDate: at('19:00') });
    const [first, last] = ['00:00 10:00', '19:00 2040-05-02T00:00'];
    // The booking from 11:00 to 11:00 occupies this instant, so the next gap begins a millisecond later.
    const afterInstant = '11:00:00.001Z';
    expect(await freeOf('bay-s1-01')).toEqual([first, `${afterInstant} 14:00`, '15:00 18:00', last]);
    expect(await freeOf('bay-s1-01', `&holdId=${hold.id}`)).toContain(`${afterInstant} 18:00`);
    // An unknown hold has no effect. The two gaps between 11:00 and 18:00 are not longer than 180 minutes.
    expect(await freeOf('bay-s1-01', '&holdId=unknown&minMinutes=181')).toEqual([first, last]);
    // Opening hours are in the time zone of the facility, America/New_York, which is four hours behind UTC on this day.
    await put('loc-south-1', { weekly: { tuesday: [{ opens: '08:00', closes: '13:00' }] } });
    expect(await freeOf('bay-s1-01')).toEqual(['12:00 14:00', '15:00 17:00']);
    await system.call('DELETE', hoursOf('loc-south-1'));
    await system.call('DELETE', `/api/booking-closures/${closure.id}`);
  });

  test('gaps never begin before asOf, and equal dates return no gaps', async () => {
    const [startDate, endDate] = [-3_600_000, 3_600_000].map((offset) => new Date(Date.now() + offset).toISOString());
    const { body } = await find(`bayIds=bay-s1-05&startDate=${startDate}&endDate=${endDate}`);
    expect(body.items[0].free).toEqual([{ startDate: body.asOf, endDate }]);
    const equal = await find(`bayIds=bay-s1-05&startDate=${at('10:00')}&endDate=${at('10:00')}`);
    expect(equal.body.items[0].free).toEqual([]);
  });
});
