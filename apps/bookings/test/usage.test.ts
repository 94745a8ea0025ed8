// Tests GET /api/booking-usage: what counts, for whom, and as CSV.
import { query } from '@bay-booking/service/database/database';
import { beforeAll, expect, test } from '@jest/globals';
import { bookingBody, errorCodes, pluck } from './support/booking-requests.ts';
import { useTestSystem } from './support/test-system.ts';

const system = useTestSystem();
const base = 'https://bay-booking.example/golf/';
const interval = 'startDate=2040-05-02T22:00:00Z&endDate=2040-05-04T22:00:00Z';
const find = async (query: string, options = {}) =>
  system.call('GET', `/api/booking-usage?facilityId=fac-north&${interval}&${query}`, options);
const nothing = { openMinutes: 0, occupancy: null, cancelled: 0, noShows: 0 };
const row = (key: string | null, bookings: number, bookedMinutes: number, more: object = {}) =>
  Object.assign({ key, bookings, bookedMinutes }, nothing, more);

beforeAll(async () => {
  const hours = { weekly: { thursday: [{ opens: '08:00', closes: '18:00' }] } };
  for (const id of ['loc-north-1', 'loc-north-2'])
    await system.call('PUT', `/api/booking-locations/${id}/opening-hours`, { body: hours });
  // The facility is closed on Friday. Closures and bays out of service change nothing.
  const body = { locationId: 'loc-north-2', startDate: '2040-05-03T06:00:00Z', endDate: '2040-05-04T06:00:00Z' };
  await system.call('POST', '/api/booking-closures', { body });
  const formula = await system.token(['fac-north'], { client_id: '=1+1' });
  const book = async (bayId: string, from: string, to: string, more = {}, token?: string) => {
    const body = bookingBody({ bayId, startDate: `2040-05-${from}:00Z`, endDate: `2040-05-${to}:00Z`, ...more });
    return (await system.call('POST', '/api/bookings', { body, ...(token && { token }) })).body;
  };
  await book('bay-n1-01', '03T06:00', '03T08:00');
  await book('bay-n1-02', '03T15:00', '03T15:45', { metadata: { attendance: 'no-show' } }, formula);
  // Not in the interval: before it, and at a facility that the request does not name.
  await book('bay-n1-01', '01T06:00', '01T08:00');
  await book('bay-s1-01', '03T06:00', '03T08:00');
  const cancelled = [
    await book('bay-n1-03', '03T06:00', '03T08:00', {}, formula),
    await book('bay-n1-03', '01T06:00', '01T08:00'),
  ];
  // A booking that moved to another facility and one that moved within the facility were not cancelled.
  const moved = await book('bay-n1-04', '03T06:00', '03T08:00');
  const change = { userAlias: 'Ann', startDate: moved.startDate, endDate: moved.endDate };
  await system.call('PUT', `/api/bookings/${moved.id}`, { body: { ...change, bayId: 'bay-s1-02' } });
  for (const { id } of cancelled) await system.call('DELETE', `/api/bookings/${id}`);
});

test('each day has an item, with the opening hours of all bays, also if it is closed', async () => {
  const { status, body, headers } = await find('by=day');
  expect([status, headers.vary, headers['content-type']]).toEqual([200, 'Accept', 'application/json; charset=utf-8']);
  // 16 bays are open for ten hours.
  expect(body).toEqual({
    items: [
      row('2040-05-03', 2, 165, { openMinutes: 9600, occupancy: 0.0172, cancelled: 1, noShows: 1 }),
      row('2040-05-04', 0, 0),
    ],
    facilityId: 'fac-north',
    timeZone: 'Europe/Copenhagen',
    _links: { self: expect.anything() },
  });
});

test('hours, bays and clients are items, and filters select bays', async () => {
  const hours = (await find('by=hour&bayIds=bay-n1-01,bay-n1-02,bay-e1-01,unknown')).body.items;
  expect(hours).toHaveLength(24);
  expect([hours[7], hours[8], hours[17]]).toEqual([
    row('7', 0, 0),
    row('8', 1, 60, { openMinutes: 120, occupancy: 0.5 }),
    row('17', 1, 45, { openMinutes: 120, occupancy: 0.375, noShows: 1 }),
  ]);
  const bays = (await find('by=bay&locationIds=loc-north-1')).body.items;
  expect(pluck(bays, 'key').slice(-2)).toEqual(['bay-n1-10', 'bay-n1-99']);
  expect(bays.slice(1, 4)).toEqual([
    row('bay-n1-02', 1, 45, { openMinutes: 600, occupancy: 0.075, noShows: 1 }),
    row('bay-n1-03', 0, 0, { openMinutes: 600, occupancy: 0, cancelled: 1 }),
    row('bay-n1-04', 0, 0, { openMinutes: 600, occupancy: 0 }),
  ]);
  const unknown = { openMinutes: null };
  expect((await find('by=client')).body.items).toEqual([
    row('=1+1', 1, 45, { ...unknown, cancelled: 1, noShows: 1 }),
    row('client-test', 1, 120, unknown),
  ]);
  const elsewhere = (await find('by=day&locationIds=loc-east-1')).body.items;
  expect(elsewhere).toEqual([row('2040-05-03', 0, 0), row('2040-05-04', 0, 0)]);
});

test('with Accept: text/csv, the items are CSV in which no cell is a formula, and errors are JSON', async () => {
  const { text, headers } = await find('by=client', { headers: { Accept: 'text/csv' } });
  expect([headers['content-type'], headers.vary]).toEqual(['text/csv; charset=utf-8', 'Accept']);
  expect(text).toBe(
    'key,bookings,bookedMinutes,openMinutes,occupancy,cancelled,noShows\r\n' +
      "'=1+1,1,45,,,1,1\r\nclient-test,1,120,,,0,0\r\n",
  );
  const accepted = async (accept: string) => {
    const response = await find('by=day', { headers: { Accept: accept } });
    return [response.status, response.headers['content-type']?.split(';')[0]];
  };
  expect(await accepted('application/json, text/csv;q=0.9')).toEqual([200, 'application/json']);
  expect(await accepted('text/csv, */*;q=0.1')).toEqual([200, 'text/csv']);
  const refused = await find('by=day', { headers: { Accept: 'text/html' } });
  expect(refused.status).toBe(406);
  expect(refused.body.errors[0].description).toBe('Only application/json and text/csv can be answered.');
  expect(errorCodes(await find('by=week', { headers: { Accept: 'text/csv' } }))).toEqual(['ERR00002']);
});

test.each([
  ['no parameter', '', Array(4).fill('ERR00001')],
  ['a foreign facility', `facilityId=fac-east&by=day&${interval}`, ['ERR00002']],
  ['401 days', 'facilityId=fac-north&by=day&startDate=2040-01-01T00:00Z&endDate=2041-02-04T00:00:01Z', ['ERR00002']],
  ['a late start', 'facilityId=fac-north&by=day&startDate=2040-01-02T00:00Z&endDate=2040-01-01T00:00Z', ['ERR00010']],
])('a request with %s returns 400', async (_title, query, codes) => {
  expect(errorCodes(await system.call('GET', `/api/booking-usage?${query}`))).toEqual(codes);
});

test('a token for one facility needs no facilityId, counts nothing of others, and needs any one of the scopes', async () => {
  const token = await system.token(['fac-east'], { scope: `${base}bookings.read` });
  const { status, body } = await system.call('GET', `/api/booking-usage?${interval}&by=bay`, { token });
  expect([status, ...pluck(body.items, 'key')]).toEqual([200, 'bay-e1-01', 'bay-e1-02', 'bay-e1-03']);
  expect(body.items[0]).toEqual(row('bay-e1-01', 0, 0, { openMinutes: 2880, occupancy: 0 }));
});

test('the largest opening hours are read once for a location, not once for each of its 5000 bays', async () => {
  const token = await system.token(['fac-east']);
  const halfHours = Array.from({ length: 6 }, (_, hour) => ({ opens: `0${hour}:00`, closes: `0${hour}:30` }));
  const dateOf = (day: number) => new Date(Date.UTC(2040, 4, day + 1)).toISOString().slice(0, 10);
  const exceptions = Array.from({ length: 400 }, (_, day) => ({ date: dateOf(day), hours: halfHours }));
  const hours = { token, body: { weekly: {}, exceptions } };
  expect((await system.call('PUT', '/api/booking-locations/loc-east-1/opening-hours', hours)).status).toBe(200);
  await query(
    system.db,
    `insert into bay (facility_id, id, location_id, name, description, kind, bookable)
     select 'fac-east', 'many-' || n, 'loc-east-1', 'Many', '', 'RangeBay', true from generate_series(1, 5000) n`,
  );
  const usage = await system.call('GET', `/api/booking-usage?${interval}&by=day`, { token });
  expect(usage.body.items[1]).toMatchObject({ key: '2040-05-04', openMinutes: 180 * 5_003 });
  const free = await system.call('GET', `/api/booking-availability?locationIds=loc-east-1&${interval}`, { token });
  expect(free.body.items.at(-1).free).toHaveLength(12);
});
