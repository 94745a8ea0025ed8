// Many at once: the database is the guard, and nobody waits in a circle. Contract section 7.

import { query } from '@bay-booking/service/database/database';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { isDistributed } from './support/lock-waits.ts';
import { closeExtraSystems, createExtraSystem, createTestSystem, type TestSystem } from './support/test-system.ts';

afterEach(closeExtraSystems);

let system: TestSystem;
beforeAll(async () => {
  system = await createTestSystem();
});
afterAll(() => system.close());

const post = (body: unknown, headers: Record<string, string> = {}) =>
  system.call('POST', '/api/bookings', { body, headers });
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

async function deadlocks(): Promise<number> {
  const [row] = await query<{ deadlocks: string }>(
    system.db,
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  return Number(row?.deadlocks);
}

describe('64 clients', () => {
  test('racing for one bookingBody, 20 rounds: one 201 and 63 BOOK00002 each', async () => {
    for (let round = 0; round < 20; round += 1) {
      const body = bookingBody({ bayId: 'bay-n1-01' });
      const answers = await Promise.all(times(64, (client) => post({ ...body, userAlias: `client ${client}` })));
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      const lost = answers.filter(({ status }) => status === 400).map(errorCodes);
      expect(lost).toEqual(times(63, () => ['BOOK00002']));
    }
  });

  test('racing for one slot with an externalBookingId each: one 201, and the others may use theirs again', async () => {
    const body = bookingBody({ bayId: 'bay-n1-02' });
    const answers = await Promise.all(times(64, (client) => post({ ...body, externalBookingId: `race-${client}` })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 400).map(errorCodes)).toEqual(times(63, () => ['BOOK00002']));
    const [row] = await query<{ count: number }>(
      system.db,
      "select count(*)::int as count from booking_reference where external_booking_id like 'race-%'",
    );
    expect(row?.count).toBe(1);
  });

  test('with one externalBookingId on bays of two facilities: one 201 and 63 BOOK00001', async () => {
    for (let round = 0; round < 5; round += 1) {
      const bays = ['bay-n1-03', 'bay-n1-04', 'bay-s1-01', 'bay-s1-02'];
      const answers = await Promise.all(
        times(64, (client) =>
          post(bookingBody({ bayId: bays[client % 4] as string, externalBookingId: `same-${round}` })),
        ),
      );
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 400).map(errorCodes)).toEqual(times(63, () => ['BOOK00001']));
    }
  });

  test('with one request, repeated: one 201, all others BOOK00001 first', async () => {
    const body = bookingBody({ bayId: 'bay-n1-05', externalBookingId: 'repeated' });
    const answers = await Promise.all(times(64, () => post(body)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status === 400)) {
      expect(errorCodes(answer)).toEqual(['BOOK00001', 'BOOK00002']);
    }
  });

  test('with one Idempotency-Key: one booking, and every 201 is the same', async () => {
    const body = bookingBody({ bayId: 'bay-n1-06' });
    const answers = await Promise.all(times(64, () => post(body, { 'Idempotency-Key': 'one-key' })));
    for (const { status } of answers) expect([201, 409]).toContain(status);
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBeGreaterThan(0);
    expect(new Set(made.map(({ text }) => text)).size).toBe(1);
  });
});

describe('If-Match', () => {
  test('of 16 updates sent with the same tag one is 200 and the others 412', async () => {
    const { body, headers } = await post(bookingBody({ bayId: 'bay-n1-07' }));
    const answers = await Promise.all(
      times(16, () =>
        system.call('PUT', `/api/bookings/${body.id}`, {
          body: bookingBody({ bayId: 'bay-n1-07' }),
          headers: { 'If-Match': headers.etag as string },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...times(15, () => 412)]);
  });

  test('of a delete and an update sent with the same tag one succeeds', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { body, headers } = await post(bookingBody({ bayId: 'bay-n1-07', externalBookingId: `either-${round}` }));
      const ifMatch = { 'If-Match': headers.etag as string };
      const answers = await Promise.all([
        system.call('PUT', `/api/bookings/${body.id}`, { body: bookingBody({ bayId: 'bay-s1-03' }), headers: ifMatch }),
        system.call('DELETE', `/api/bookings/${body.id}`, { headers: ifMatch }),
      ]);
      const statuses = answers.map(({ status }) => status);
      expect([
        [200, 412],
        [404, 204],
        [412, 204],
      ]).toContainEqual(statuses);
    }
  });
});

test('no booking is said to overlap another because its bay was opened in that moment', async () => {
  const setBookable = (bookable: boolean) =>
    query(system.db, "update bay set bookable = $1 where facility_id = 'fac-north' and id = 'bay-n2-04'", [bookable]);
  const told = new Set<string>();
  for (let round = 0; round < 60; round += 1) {
    await setBookable(false);
    const client = () => post(bookingBody({ bayId: 'bay-n2-04' }));
    const [, ...answers] = await Promise.all([client().then(() => setBookable(true)), ...times(16, client)]);
    for (const answer of answers) told.add(answer.status === 201 ? '201' : errorCodes(answer).join());
  }
  expect([...told].sort()).toEqual(['201', 'BOOK00003']);
});

test('a page tells no fewer bookings than it shows, whoever creates and deletes meanwhile', async () => {
  const [alone, mine] = [bookingBody({ bayId: 'bay-n2-05', userAlias: 'Alone' }), 'userAlias=Alone'];
  const pages = [mine, `${mine}&page=2`, 'locationIds=loc-south-1', 'locationIds=loc-south-1&page=2'];
  let busy = true;
  const wrong: unknown[] = [];
  const read = async (query: string): Promise<void> => {
    while (busy) {
      const { body } = await system.call('GET', `/api/bookings?pageSize=1&${query}`);
      const { items, total, page, pageCount } = body;
      const shown = Math.max(0, Math.min(1, total - page + 1));
      if (items.length !== shown || pageCount !== total) wrong.push({ query, items: items.length, total, pageCount });
    }
  };
  const change = async (body: object): Promise<void> => {
    for (let round = 0; round < 40; round += 1) {
      const made = await post(body);
      expect((await system.call('DELETE', `/api/bookings/${made.body.id}`)).status).toBe(204);
    }
  };
  const readers = pages.map(read);
  await Promise.all([change(alone), change(bookingBody({ bayId: 'bay-s1-03' }))]).finally(() => {
    busy = false;
  });
  await Promise.all(readers);
  expect(wrong).toEqual([]);
});

describe('a booking that moves between facilities', () => {
  const to = (id: string, bayId: string) => system.call('PUT', `/api/bookings/${id}`, { body: bookingBody({ bayId }) });

  test('is found all the while', async () => {
    const { body } = await post(bookingBody({ bayId: 'bay-n1-08', externalBookingId: 'on-the-move' }));
    let moving = true;
    const found: number[] = [];
    const read = async (): Promise<void> => {
      while (moving) found.push((await system.call('GET', `/api/bookings/${body.id}`)).status);
    };
    const readers = times(4, read);
    for (let round = 0; round < 80; round += 1) {
      expect((await to(body.id, round % 2 ? 'bay-n1-08' : 'bay-s1-05')).status).toBe(200);
    }
    moving = false;
    await Promise.all(readers);
    // A cluster reads its servers one after the other.
    expect(new Set(found).difference(new Set((await isDistributed(system.db)) ? [200, 404] : [200]))).toEqual(
      new Set(),
    );
  });

  test('by 8 clients at once: every move is 200', async () => {
    const { body } = await post(bookingBody({ bayId: 'bay-n1-09' }));
    const client = async (number: number): Promise<number[]> => {
      const statuses: number[] = [];
      for (let round = number; round < number + 10; round += 1) {
        statuses.push((await to(body.id, round % 2 ? 'bay-n1-09' : 'bay-s1-05')).status);
      }
      return statuses;
    };
    const statuses = (await Promise.all(times(8, client))).flat();
    expect(statuses).toEqual(times(80, () => 200));
  });
});

describe('32 clients on one bay and its neighbours', () => {
  test('creating, updating, moving and deleting: no deadlock, no 5xx, no overlap', async () => {
    // Each client has a connection of its own, so that all of them meet in the database.
    const crowd = await createExtraSystem({ sharing: system, poolMax: 32 });
    const before = await deadlocks();
    const hot = ['bay-n2-01', 'bay-n2-01', 'bay-n2-01', 'bay-n2-02', 'bay-s1-04'];
    const statuses = new Map<number, number>();
    const hour = () => Date.UTC(2050, 0, 1) + Math.floor(Math.random() * 12) * 600_000;
    const wish = () => {
      const start = hour();
      return bookingBody({
        bayId: hot[Math.floor(Math.random() * hot.length)] as string,
        startDate: new Date(start).toISOString(),
        endDate: new Date(start + (1 + Math.floor(Math.random() * 3)) * 600_000).toISOString(),
      });
    };
    const client = async (number: number): Promise<void> => {
      const mine: string[] = [];
      for (let step = 0; step < 60; step += 1) {
        const dice = Math.random();
        const id = mine.at(-1);
        const [method, path] =
          id === undefined || dice < 0.4
            ? ['POST', '/api/bookings']
            : [dice < 0.75 ? 'PUT' : 'DELETE', `/api/bookings/${id}`];
        const body =
          method === 'POST' && dice < 0.2 ? { ...wish(), externalBookingId: `mix-${number}-${step}` } : wish();
        const answer = await crowd.call(method as string, path as string, method === 'DELETE' ? {} : { body });
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        if (answer.status === 201) mine.push(answer.body.id);
        if (answer.status === 204) mine.pop();
      }
    };
    await Promise.all(times(32, client));
    expect([...statuses.keys()].filter((status) => ![200, 201, 204, 400].includes(status))).toEqual([]);
    for (const status of [200, 201, 204, 400]) expect(statuses.get(status)).toBeGreaterThan(0);
    // Citus takes all statements outside transactions for one, and so now and then sees a circle where none is: it is tried again.
    const harmless = (await isDistributed(system.db)) ? ['23P01', '40P01'] : ['23P01'];
    expect(crowd.databaseErrors.filter((code) => !harmless.includes(code))).toEqual([]);
    // Sessions report to the view when they end, at the latest.
    await closeExtraSystems();
    expect(await deadlocks()).toBe(before);
    const overlapping = await query(
      system.db,
      `select from booking a join booking b on a.facility_id = b.facility_id and a.bay_id = b.bay_id and a.id < b.id
       and a.start_date < b.end_date and b.start_date < a.end_date`,
    );
    expect(overlapping).toEqual([]);
    // Two reads, since a cluster does not join the tables of facilities with those of none.
    const columns = 'external_booking_id as external, facility_id as facility';
    const references = await query(system.db, `select ${columns}, booking_id as id from booking_reference order by 1`);
    const referenced = `select ${columns}, id from booking where external_booking_id is not null order by 1`;
    expect(references).toEqual(await query(system.db, referenced));
  });
});
