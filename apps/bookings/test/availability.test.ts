// Tests GET /api/booking-availability, and that exactly the returned gaps can be booked.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { createTestSystem, type TestSystem } from './support/test-system.ts';

/** The number of random requests. */
const samples = process.env.STRESS ? 10_000 : 1_000;

let system: TestSystem;
beforeAll(async () => {
  system = await createTestSystem();
});
afterAll(() => system.close());

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
  const names = body.items.map(({ bay }: { bay: { name: string } }) => bay.name);
  expect(names).toEqual([...Array.from({ length: 10 }, (_, index) => `Bay ${index + 1}`), 'Bay 99']);
  expect(body).toMatchObject({ page: 1, pageSize: 200, pageCount: 1, total: 11 });
  expect(Object.keys(body).slice(0, 3)).toEqual(['items', 'asOf', '_links']);
  const unbookable = body.items.find(({ bay }: { bay: { id: string } }) => bay.id === 'bay-n1-99');
  expect([unbookable.bay.bookable, unbookable.free]).toEqual([false, []]);
});

test.each([
  ['neither locationIds nor bayIds', day, ['ERR00001']],
  ['no dates', 'bayIds=a', ['ERR00001', 'ERR00001']],
  ['more than 32 days', 'bayIds=a&startDate=2040-01-01T00:00:00Z&endDate=2040-02-02T00:00:00.001Z', ['ERR00002']],
  ['an end before the start', 'bayIds=a&startDate=2040-01-02T00:00:00Z&endDate=2040-01-01T00:00:00Z', ['ERR00010']],
  ['minMinutes above 1440', `bayIds=a&${day}&minMinutes=1441`, ['ERR00002']],
  ['pageSize above 1000', `bayIds=a&${day}&pageSize=1001`, ['ERR00002']],
])('a request with %s returns 400', async (_title, query, codes) => {
  const response = await find(query);
  expect([response.status, errorCodes(response)]).toEqual([400, codes]);
});

test('both locationIds and bayIds must match, and bays of other facilities are left out', async () => {
  const ids = async (query: string) =>
    (await find(`${query}&${day}`)).body.items.map(({ bay }: { bay: { id: string } }) => bay.id);
  expect(await ids('locationIds=loc-north-1&bayIds=bay-n1-02,bay-s1-01')).toEqual(['bay-n1-02']);
  // The token does not permit fac-east. The bays are sorted by name: "Bay 1" (bay-s1-01) and "Bay 2" (bay-n1-02).
  expect(await ids('bayIds=bay-n1-02,bay-s1-01,bay-e1-01,unknown')).toEqual(['bay-s1-01', 'bay-n1-02']);
  expect(await ids('locationIds=loc-east-1')).toEqual([]);
});

test('the links of a page contain every filter', async () => {
  const { body } = await find(`locationIds=loc-north-2&${day}&minMinutes=30&page=2&pageSize=2`);
  expect(body.items.map(({ bay }: { bay: { id: string } }) => bay.id)).toEqual(['bay-n2-03', 'bay-n2-04']);
  expect([body.total, body.pageCount]).toEqual([5, 3]);
  expect(body._links.next.href).toMatch(/locationIds=loc-north-2&.*minMinutes=30&page=3&pageSize=2$/);
});

test('bookings, live holds, closures and closing times make a bay unavailable', async () => {
  await post('/api/bookings', 'bay-s1-01', '10:00', '11:00');
  await post('/api/bookings', 'bay-s1-01', '11:00', '11:00');
  const { body: hold } = await post('/api/booking-holds', 'bay-s1-01', '14:00', '15:00');
  const { body: closure } = await system.call('POST', '/api/booking-closures', {
    body: { locationId: 'loc-south-1', startDate: at('18:00'), endDate: at('19:00') },
  });
  // The booking from 11:00 to 11:00 occupies this instant, so the next gap begins a millisecond later.
  const afterInstant = '11:00:00.001Z';
  expect(await freeOf('bay-s1-01')).toEqual([
    '00:00 10:00',
    `${afterInstant} 14:00`,
    '15:00 18:00',
    '19:00 2040-05-02T00:00',
  ]);
  expect(await freeOf('bay-s1-01', `&holdId=${hold.id}`)).toContain(`${afterInstant} 18:00`);
  // An unknown hold has no effect. The two gaps between 11:00 and 18:00 are not longer than 180 minutes.
  expect(await freeOf('bay-s1-01', '&holdId=unknown&minMinutes=181')).toEqual([
    '00:00 10:00',
    '19:00 2040-05-02T00:00',
  ]);
  // Opening hours are in the time zone of the facility, America/New_York, which is four hours behind UTC on this day.
  await system.call('PUT', '/api/booking-locations/loc-south-1/opening-hours', {
    body: { weekly: { tuesday: [{ opens: '08:00', closes: '13:00' }] } },
  });
  expect(await freeOf('bay-s1-01')).toEqual(['12:00 14:00', '15:00 17:00']);
  await system.call('DELETE', '/api/booking-locations/loc-south-1/opening-hours');
  await system.call('DELETE', `/api/booking-closures/${closure.id}`);
});

test('gaps never begin before asOf, and equal dates return no gaps', async () => {
  const [startDate, endDate] = [-3_600_000, 3_600_000].map((offset) => new Date(Date.now() + offset).toISOString());
  const { body } = await find(`bayIds=bay-s1-05&startDate=${startDate}&endDate=${endDate}`);
  expect(body.items[0].free).toEqual([{ startDate: body.asOf, endDate }]);
  const equal = await find(`bayIds=bay-s1-05&startDate=${at('10:00')}&endDate=${at('10:00')}`);
  expect(equal.body.items[0].free).toEqual([]);
});

describe('the gaps of availability agree with what can be booked', () => {
  // The tested days include 31 March 2041, the day on which daylight saving time begins in Europe.
  const start = Date.UTC(2041, 2, 28);
  /** The number of slots of ten minutes in five days. */
  const slots = 5 * 24 * 6;
  const slotMs = 600_000;
  const startOfSlot = (slot: number) => new Date(start + slot * slotMs).toISOString();
  const random = (below: number) => Math.floor(Math.random() * below);
  const bays = ['n1', 'n2', 's1'].flatMap((prefix) => [1, 2, 3, 4, 5].map((number) => `bay-${prefix}-0${number}`));
  /** Returns a random interval that is shorter than `maxLength` slots. */
  const range = (maxLength: number) => {
    const from = random(slots - maxLength);
    return { startDate: startOfSlot(from), endDate: startOfSlot(from + random(maxLength)) };
  };

  beforeAll(async () => {
    const hours = { opens: '06:30', closes: '02:30' };
    for (const location of ['loc-north-1', 'loc-south-1']) {
      const body = {
        weekly: Object.fromEntries(['friday', 'saturday', 'sunday', 'monday'].map((name) => [name, [hours]])),
        exceptions: [{ date: '2041-04-01', hours: [{ opens: '10:00', closes: '12:00' }] }],
      };
      const response = await system.call('PUT', `/api/booking-locations/${location}/opening-hours`, { body });
      expect(response.status).toBe(200);
    }
    for (const bayId of bays) {
      const { startDate } = range(6);
      const endDate = new Date(Date.parse(startDate) + 3_600_000).toISOString();
      await system.call('POST', '/api/booking-closures', { body: { bayIds: [bayId], startDate, endDate } });
      for (let count = 0; count < 20; count += 1) {
        await system.call('POST', '/api/bookings', { body: bookingBody({ bayId, ...range(12) }) });
        // The holds do not expire before the end of the test.
        await system.call('POST', '/api/booking-holds', { body: { bayId, ...range(12), holdSeconds: 900 } });
      }
    }
  });

  test('of random intervals, all inside a gap can be booked, and all others are rejected', async () => {
    const { body } = await find(`bayIds=${bays.join()}&startDate=${startOfSlot(0)}&endDate=${startOfSlot(slots)}`);
    const disagreements: unknown[] = [];
    let booked = 0;
    const tryBay = async ({ bay, free }: { bay: { id: string }; free: Gap[] }) => {
      for (let count = 0; count < samples / bays.length; count += 1) {
        const interval = range(30);
        const { startDate, endDate } = interval;
        // A gap does not include its end, so an interval of length 0 at the end of a gap cannot be booked.
        const isInside = free.some(
          (gap) => gap.startDate <= startDate && startDate < gap.endDate && endDate <= gap.endDate,
        );
        const response = await system.call('POST', '/api/bookings', {
          body: bookingBody({ bayId: bay.id, ...interval }),
        });
        if (response.status === 201) {
          booked += 1;
          await system.call('DELETE', `/api/bookings/${response.body.id}`);
        }
        // BOOK00002: another booking or a hold overlaps. BOOK00003: the bay is closed.
        const isExpected = isInside
          ? response.status === 201
          : response.status === 400 && /^BOOK0000[23](?:,BOOK0000[23])*$/.test(errorCodes(response).join());
        if (!isExpected) disagreements.push({ bayId: bay.id, interval, free, errors: response.body.errors });
      }
    };
    await Promise.all(body.items.map(tryBay));
    expect(disagreements).toEqual([]);
    // The test must include many intervals that are inside a gap.
    expect(booked).toBeGreaterThan(samples / 20);
  });
});
