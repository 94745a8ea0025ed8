// Tests GET /api/bays/{id}/upcoming-bookings (specification, "GET /api/bays/{id}/upcoming-bookings").
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { errorCodes } from './support/booking-requests.ts';
import { importPlaces } from './support/places.ts';
import { baseUrl, createTestSystem, type TestSystem } from './support/test-system.ts';

const hourMilliseconds = 3_600_000;

let system: TestSystem;
let now = new Date('2030-01-01T00:00:00Z');
beforeAll(async () => {
  system = await createTestSystem({ now: () => now });
});
afterAll(() => system.close());
beforeEach(() => {
  now = new Date('2030-01-01T00:00:00Z');
});

const book = async (bayId: string, startDate: string, endDate: string): Promise<string> => {
  const response = await system.call('POST', '/api/bookings', {
    body: { bayId, userAlias: 'Ann', startDate, endDate },
  });
  expect(response.status).toBe(201);
  return response.body.id;
};
const upcoming = async (bayId: string, query = ''): Promise<string[]> => {
  const response = await system.call('GET', `/api/bays/${bayId}/upcoming-bookings${query}`);
  expect(response.status).toBe(200);
  return response.body.items.map(({ id }: { id: string }) => id);
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
    for (const { id, _links } of first.body.items) {
      expect(_links).toEqual({ self: { method: 'GET', href: `${baseUrl}/api/bookings/${id}` } });
    }
    now = new Date('2030-06-15T00:00:00Z');
    const path = '/api/bays/bay-n1-04/upcoming-bookings?todayOnly=true&page=2&pageSize=5';
    const second = await system.call('GET', path);
    expect(second.body).toMatchObject({ page: 2, pageSize: 5, pageCount: 3, total: 12 });
    expect(second.body._links.self.href).toBe(`${baseUrl}${path}`);
    expect(second.body._links.next.href).toBe(`${baseUrl}${path.replace('page=2', 'page=3')}`);
  });
});

describe('the calendar day of a facility', () => {
  test.each([
    // The bays bay-n1-… belong to a facility in Copenhagen (UTC+2 in June), the bays bay-s1-… to one in New York
    // (UTC-4).
    ['Europe/Copenhagen', 'bay-n1-05', '2030-06-15T21:59:00Z', '2030-06-15T22:00:00Z'],
    ['America/New_York', 'bay-s1-01', '2030-06-16T03:59:00Z', '2030-06-16T04:00:00Z'],
    // On these days the clocks change. The first day has 23 hours, and the second day has 25.
    ['Europe/Copenhagen, 31 March', 'bay-n1-06', '2030-03-31T21:59:00Z', '2030-03-31T22:00:00Z'],
    ['Europe/Copenhagen, 27 October', 'bay-n1-07', '2030-10-27T22:59:00Z', '2030-10-27T23:00:00Z'],
  ])('todayOnly=true selects the calendar day of the facility in %s', async (_zone, bayId, lastMinute, midnight) => {
    // Between 03:00 and 05:00 on the day that ends at `midnight`. The booking `running` began on the previous day.
    const earlyToday = new Date(Date.parse(midnight) - 20 * hourMilliseconds);
    const afterMidnight = new Date(Date.parse(midnight) + 60_000).toISOString();
    const running = await book(
      bayId,
      new Date(earlyToday.getTime() - 9 * hourMilliseconds).toISOString(),
      new Date(earlyToday.getTime() + 60_000).toISOString(),
    );
    const today = await book(bayId, lastMinute, midnight);
    const tomorrow = await book(bayId, midnight, afterMidnight);
    now = earlyToday;
    expect(await upcoming(bayId, '?todayOnly=true')).toEqual([running, today]);
    expect(await upcoming(bayId, '?todayOnly=false')).toEqual([running, today, tomorrow]);
    now = new Date(midnight);
    expect(await upcoming(bayId, '?todayOnly=true')).toEqual([tomorrow]);
  });
});

describe('the time zone of a facility', () => {
  const importTimeZone = (timeZone: string) => {
    const bays = [{ id: 'bay-zone', name: 'Bay' }];
    const facility = { id: 'fac-zone', name: 'Range', timeZone, locations: [{ id: 'loc-zone', name: 'Range', bays }] };
    return importPlaces(system.db, { facilities: [facility] });
  };
  let token: string;
  beforeAll(async () => {
    await importTimeZone('UTC');
    token = await system.token(['fac-zone']);
  });
  const bookInstant = async (startDate: string): Promise<string> => {
    const body = { bayId: 'bay-zone', userAlias: 'Ann', startDate, endDate: startDate };
    const response = await system.call('POST', '/api/bookings', { token, body });
    expect(response.status).toBe(201);
    return response.body.id;
  };
  const findToday = async (): Promise<string[]> => {
    const { body } = await system.call('GET', '/api/bays/bay-zone/upcoming-bookings?todayOnly=true', { token });
    return body.items.map(({ id }: { id: string }) => id);
  };

  test('todayOnly=true uses the time zone of the last import', async () => {
    const evening = await bookInstant('2030-02-01T22:30:00Z');
    const night = await bookInstant('2030-02-01T23:30:00Z');
    now = new Date('2030-02-01T12:00:00Z');
    expect(await findToday()).toEqual([evening, night]);
    // In Oslo (UTC+1), `night` is on the next day.
    await importTimeZone('Europe/Oslo');
    expect(await findToday()).toEqual([evening]);
    // In Kiritimati (UTC+14), `now` and both bookings are on 2 February.
    await importTimeZone('Pacific/Kiritimati');
    expect(await findToday()).toEqual([evening, night]);
  });

  test.each([
    // Each row has a time zone, the last second of a day, and three instants of the next day.
    // In these time zones midnight occurs twice on the next day, which begins at the first occurrence.
    ['Atlantic/Azores', '2030-10-26T23:59:59Z', '2030-10-27T00:00:00Z', '2030-10-27T00:59:59Z', '2030-10-27T01:00:00Z'],
    ['America/Havana', '2030-11-03T03:59:59Z', '2030-11-03T04:00:00Z', '2030-11-03T04:59:59Z', '2030-11-03T05:00:00Z'],
    // In this time zone midnight does not occur on the next day, which begins at 01:00.
    [
      'America/Santiago',
      '2030-09-08T03:59:59Z',
      '2030-09-08T04:00:00Z',
      '2030-09-08T04:59:59Z',
      '2030-09-09T02:59:59Z',
    ],
  ])(
    'todayOnly=true selects the whole day if a change of the clocks repeats or skips midnight: %s',
    async (timeZone, lastSecond, ...nextDay) => {
      await importTimeZone(timeZone);
      const bookingOfFirstDay = await bookInstant(lastSecond);
      const bookingsOfNextDay = await Promise.all(nextDay.map(bookInstant));
      now = new Date(Date.parse(lastSecond) - hourMilliseconds);
      expect(await findToday()).toEqual([bookingOfFirstDay]);
      now = new Date(nextDay[0] as string);
      expect(await findToday()).toEqual(bookingsOfNextDay);
    },
  );
});

describe('400 for an invalid query', () => {
  test.each(['todayOnly=yes', 'todayOnly=', 'page=0', 'pageSize=x'])(
    'the query ?%s returns ERR00002',
    async (query) => {
      const response = await system.call('GET', `/api/bays/bay-n1-01/upcoming-bookings?${query}`);
      expect(response.status).toBe(400);
      expect(errorCodes(response)).toEqual(['ERR00002']);
    },
  );
});

describe('a bay that does not exist', () => {
  // `bay-e1-01` belongs to a facility that the token does not contain. PostgreSQL rejects a text with the character NUL
  // (`%00`).
  test.each(['bay-nowhere', 'bay-e1-01', '%00'])(
    "a bay that does not exist in the token's facilities returns 404: %s",
    async (id) => {
      const response = await system.call('GET', `/api/bays/${id}/upcoming-bookings`);
      expect(response.status).toBe(404);
      expect(errorCodes(response)).toEqual(['ERR00404']);
    },
  );
});
