// Tests concurrent requests for the same bookings, bays, ids and keys, and compares the overlap rule of the API with a
// simple implementation, for generated intervals.
import { query } from '@bay-booking/service/database/database';
import { eventually } from '@bay-booking/testkit/wait';
import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import type { Response } from 'supertest';
import { bookingBody, clients, errorCodes, pluck, rounds } from './support/booking-requests.ts';
import { isDistributed, isTransactionWaiting } from './support/lock-waits.ts';
import { closeExtraSystems, createExtraSystem, useTestSystem } from './support/test-system.ts';

// On Citus and busy cores, these tests take minutes.
jest.setTimeout(300_000);

// Each call of `bookingBody` returns a body with another time. The error codes mean: the external id is used already
// (BOOK00001), the time overlaps another booking (BOOK00002), and the bay is not bookable (BOOK00003).
const system = useTestSystem();

const post = (body: unknown, headers: Record<string, string> = {}) =>
  system.call('POST', '/api/bookings', { body, headers });
const repeat = <T>(count: number, create: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => create(index));

/** A code of PostgreSQL (SQLSTATE). */
const deadlockDetected = '40P01';

const countDeadlocks = () =>
  query(system.db, 'select deadlocks from pg_stat_database where datname = current_database()');

/** Expects no failed statement, no deadlock and no bookings that overlap. Closes the extra systems. */
async function expectNoTrouble(errors: readonly string[], deadlocksBefore: unknown): Promise<void> {
  // Citus sometimes reports a deadlock although there is none. The service then runs the transaction again.
  const distributed = await isDistributed(system.db);
  expect(errors.filter((code) => !(distributed && code === deadlockDetected))).toEqual([]);
  // PostgreSQL counts deadlocks in its statistics. A database session may add its deadlocks to the statistics only
  // when it ends, so the test ends all sessions of the system.
  await closeExtraSystems();
  expect(await countDeadlocks()).toEqual(deadlocksBefore);
  const overlaps = `select from booking a join booking b on a.facility_id = b.facility_id and a.bay_id = b.bay_id
    and a.id < b.id and a.start_date < b.end_date and b.start_date < a.end_date`;
  expect(await query(system.db, overlaps)).toEqual([]);
}

describe('of many requests at the same time', () => {
  const count = clients(64);
  /** Sends a request for each number, and expects one 201 and these error codes of all others. */
  async function expectOneWinner(
    bodyOf: (client: number) => object,
    codes: readonly string[],
    path = '/api/bookings',
  ): Promise<void> {
    const responses = await Promise.all(repeat(count, (client) => system.call('POST', path, { body: bodyOf(client) })));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    const rejected = responses.filter(({ status }) => status === 400).map(errorCodes);
    expect(rejected).toEqual(repeat(count - 1, () => codes));
  }

  test('for one time slot, one gets 201 and the others BOOK00002 in every round', async () => {
    for (let round = 0; round < rounds(20); round += 1) {
      const body = bookingBody({ bayId: 'bay-n1-01' });
      await expectOneWinner((client) => ({ ...body, userAlias: `client ${client}` }), ['BOOK00002']);
    }
  });

  test('for groups of two facilities with the same externalBookingIds in any order, one gets 201', async () => {
    const [north, south] = [
      ['bay-n1-03', 'bay-n1-04'],
      ['bay-s1-01', 'bay-s1-02'],
    ];
    for (let round = 0; round < rounds(20); round += 1) {
      const ids = [`shared-${round}-a`, `shared-${round}-b`];
      const groupOf = (client: number) => ({
        bookings: (client % 2 ? ids : ids.toReversed()).map((externalBookingId, n) =>
          bookingBody({ bayId: (client % 4 < 2 ? north : south)?.[n], externalBookingId }),
        ),
      });
      await expectOneWinner(groupOf, ['BOOK00001', 'BOOK00001'], '/api/booking-groups');
    }
  });
});

describe('If-Match', () => {
  test('of 16 updates with the same ETag, one gets 200 and the others 412', async () => {
    const { body, headers } = await post(bookingBody({ bayId: 'bay-n1-07' }));
    const ifMatch = { 'If-Match': headers.etag as string };
    const update = () =>
      system.call('PUT', `/api/bookings/${body.id}`, { body: bookingBody({ bayId: 'bay-n1-07' }), headers: ifMatch });
    const responses = await Promise.all(repeat(16, update));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...repeat(15, () => 412)]);
  });

  test('of an update and a deletion with the same ETag, one succeeds', async () => {
    for (let round = 0; round < rounds(10); round += 1) {
      const { body, headers } = await post(bookingBody({ bayId: 'bay-n1-07', externalBookingId: `either-${round}` }));
      const ifMatch = { 'If-Match': headers.etag as string };
      const [update, deletion] = await Promise.all([
        system.call('PUT', `/api/bookings/${body.id}`, { body: bookingBody({ bayId: 'bay-s1-03' }), headers: ifMatch }),
        system.call('DELETE', `/api/bookings/${body.id}`, { headers: ifMatch }),
      ]);
      // If the deletion succeeds, the update gets 404, or 412 if it had found the booking before the deletion.
      expect([
        [200, 412],
        [404, 204],
        [412, 204],
      ]).toContainEqual([update.status, deletion.status]);
    }
  });
});

test('while a bay becomes bookable, requests for free time slots get 201 or BOOK00003, never BOOK00002', async () => {
  const setBookable = (bookable: boolean) =>
    query(system.db, "update bay set bookable = $1 where facility_id = 'fac-north' and id = 'bay-n2-04'", [bookable]);
  const results = new Set<string>();
  for (let round = 0; round < rounds(60) || (results.size < 2 && round < 60); round += 1) {
    await setBookable(false);
    const create = () => post(bookingBody({ bayId: 'bay-n2-04' }));
    const createDuringChange = async () => {
      await create();
      const [, ...responses] = await Promise.all([setBookable(true), ...repeat(8, create)]);
      return responses;
    };
    const [duringChange, ...responses] = await Promise.all([createDuringChange(), ...repeat(16, create)]);
    for (const response of [...duringChange, ...responses])
      results.add(response.status === 201 ? '201' : errorCodes(response).join());
  }
  expect([...results].sort()).toEqual(['201', 'BOOK00003']);
});

test('the total of a page is consistent with its items while bookings are created and deleted', async () => {
  const byAlias = bookingBody({ bayId: 'bay-n2-05', userAlias: 'Alone' });
  const queries = ['userAlias=Alone', 'locationIds=loc-south-1'].flatMap((query) => [query, `${query}&page=2`]);
  let isRunning = true;
  const inconsistent: unknown[] = [];
  const read = async (query: string): Promise<void> => {
    while (isRunning) {
      const { body } = await system.call('GET', `/api/bookings?pageSize=1&${query}`);
      const { items, total, page, pageCount } = body;
      // With one item per page, a page has an item if the total is at least the number of the page.
      const expected = Math.max(0, Math.min(1, total - page + 1));
      if (items.length !== expected || pageCount !== total)
        inconsistent.push({ query, items: items.length, total, pageCount });
    }
  };
  const createAndDelete = async (body: object): Promise<void> => {
    for (let round = 0; round < rounds(40); round += 1) {
      const created = await post(body);
      expect((await system.call('DELETE', `/api/bookings/${created.body.id}`)).status).toBe(204);
    }
  };
  const readers = queries.map(read);
  await Promise.all([createAndDelete(byAlias), createAndDelete(bookingBody({ bayId: 'bay-s1-03' }))]).finally(() => {
    isRunning = false;
  });
  await Promise.all(readers);
  expect(inconsistent).toEqual([]);
});

test('while 8 clients move a booking between facilities, each gets 200, and every request finds the booking', async () => {
  const { body } = await post(bookingBody({ bayId: 'bay-n1-08', externalBookingId: 'on-the-move' }));
  const path = `/api/bookings/${body.id}`;
  let isMoving = true;
  const found: number[] = [];
  const read = async (): Promise<void> => {
    while (isMoving) found.push((await system.call('GET', path)).status);
  };
  const move = async (client: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let round = client; round < client + rounds(40); round += 1) {
      const change = bookingBody({ bayId: round % 2 ? 'bay-n1-08' : 'bay-s1-05' });
      statuses.push((await system.call('PUT', path, { body: change })).status);
    }
    return statuses;
  };
  const readers = repeat(4, read);
  const statuses = await Promise.all(repeat(8, move)).finally(() => {
    isMoving = false;
  });
  await Promise.all(readers);
  expect(new Set(statuses.flat())).toEqual(new Set([200]));
  // Citus reads its nodes without a common snapshot, so a read can miss a booking that moves between two nodes.
  const allowed = (await isDistributed(system.db)) ? [200, 404] : [200];
  expect(new Set(found).difference(new Set(allowed))).toEqual(new Set());
});

test('clients write bookings, groups, holds, closures and hours of two bays without a deadlock or an overlap', async () => {
  // Each client has its own connection, so that the requests compete in the database and not for a connection.
  const instance = await createExtraSystem({ sharing: system, poolMax: clients(32) });
  const deadlocksBefore = await countDeadlocks();
  const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T;
  const bays = ['bay-n2-01', 'bay-n2-02'];
  const times = () => {
    const start = Date.UTC(2051, 0, 2, Math.floor(Math.random() * 12));
    return { startDate: new Date(start).toISOString(), endDate: new Date(start + 3_600_000).toISOString() };
  };
  const bayAndTimes = () => ({ bayId: pick(bays), ...times() });
  const hours = '/api/booking-locations/loc-north-2/opening-hours';
  const place = () => pick([{ bayIds: bays }, { bayIds: [pick(bays)] }, { locationId: 'loc-north-2' }]);
  /** Both bays at one time, in any order. */
  const group = (reference: string) => {
    const atOneTime = times();
    const inOrder = pick([bays, bays.toReversed()]);
    return inOrder.map((bayId) =>
      bookingBody({ bayId, ...atOneTime, externalBookingId: pick([undefined, `${reference}-${bayId}`]) }),
    );
  };
  const outcomes = new Set<string>();

  const runClient = async (number: number): Promise<void> => {
    const own = {
      bookings: [] as string[],
      'booking-groups': [] as string[],
      'booking-holds': [] as string[],
      'booking-closures': [] as string[],
    };
    const call = async (method: string, path: string, body?: object): Promise<Response> => {
      const response = await instance.call(method, path, { body });
      const [, kind] = /^\/api\/([a-z-]+)/.exec(path) as unknown as [string, string];
      const result = response.status === 400 ? [...new Set(errorCodes(response))].join() : response.status;
      outcomes.add(`${method} ${kind} ${result}`);
      return response;
    };
    const create = async (kind: keyof typeof own, body: object): Promise<void> => {
      const { status, body: created } = await call('POST', `/api/${kind}`, body);
      if (status === 201) own[kind].push(created.id);
    };
    const update = async (kind: keyof typeof own, body: object): Promise<void> => {
      if (own[kind].length > 0) await call('PUT', `/api/${kind}/${pick(own[kind])}`, body);
    };
    const remove = async (kind: keyof typeof own): Promise<void> => {
      const id = own[kind].pop();
      if (id !== undefined) await call('DELETE', `/api/${kind}/${id}`);
    };
    let step = 0;
    const actions = [
      () => call('PUT', hours, { weekly: { monday: [{ opens: '06:00', closes: '12:00' }] } }),
      () => call('DELETE', hours),
      () => create('booking-closures', { ...place(), ...times() }),
      () => update('booking-closures', { ...place(), ...times() }),
      () => remove('booking-closures'),
      () => remove('booking-closures'),
      () => create('booking-holds', bayAndTimes()),
      () => update('booking-holds', { holdSeconds: 30 }),
      () => remove('booking-holds'),
      () => create('bookings', { ...bayAndTimes(), userAlias: 'Ann' }),
      () => create('bookings', { ...bayAndTimes(), userAlias: 'Ann' }),
      () => update('bookings', { ...bayAndTimes(), userAlias: 'Bob' }),
      () => update('bookings', { ...bayAndTimes(), bayId: 'bay-s1-04', userAlias: 'Bob' }),
      () => remove('bookings'),
      () => create('booking-groups', { bookings: group(`mix-${number}-${step}`) }),
      () => create('booking-groups', { bookings: group(`mix-${number}-${step}`) }),
      () => remove('booking-groups'),
    ];
    for (; step < 60; step += 1) await pick(actions)();
  };
  await Promise.all(repeat(clients(32), runClient));

  const reasons = ['BOOK00002', 'BOOK00003', 'BOOK00002,BOOK00003'];
  const statuses = [...outcomes].map((outcome) => outcome.split(' ')[2] as string);
  expect(new Set(statuses).difference(new Set(['200', '201', '204', ...reasons]))).toEqual(new Set());
  for (const outcome of ['201', ...reasons]) expect(outcomes).toContain(`POST bookings ${outcome}`);
  for (const outcome of ['POST booking-groups 201', 'DELETE booking-groups 204']) expect(outcomes).toContain(outcome);
  await expectNoTrouble(instance.databaseErrors, deadlocksBefore);
  // A group is created and deleted completely or not at all.
  const parts = 'select from booking where group_id is not null group by facility_id, group_id having count(*) <> 2';
  expect(await query(system.db, parts)).toEqual([]);
  // The test uses two statements, because Citus cannot join booking_reference with booking: the two tables have
  // different distribution columns.
  const columns = 'external_booking_id as external, facility_id as facility';
  const references = await query(system.db, `select ${columns}, booking_id as id from booking_reference order by 1`);
  const referenced = `select ${columns}, id from booking where external_booking_id is not null order by 1`;
  expect(references).toEqual(await query(system.db, referenced));
});

test('the constraint of the table rejects an overlap that a program without locks causes, and the log shows it', async () => {
  const body = bookingBody({ bayId: 'bay-n1-10' });
  const program = await system.db.transaction();
  await program.raw(
    `insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date, created_at,
       last_updated_at)
     values ('fac-north', gen_random_uuid(), 'loc-north-1', 'bay-n1-10', 'x', ?, ?, now(), now())`,
    [body.startDate, body.endDate],
  );
  const request = post(body);
  await eventually(() => isTransactionWaiting(system.db));
  await program.commit();
  expect(errorCodes(await request)).toEqual(['BOOK00002']);
  expect(system.logged.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ level: 'error', err: expect.objectContaining({ message: expect.any(String) }) }),
  );
});

describe('overlaps', () => {
  /** `start` and `end` are hours of a day. */
  interface Interval {
    readonly start: number;
    readonly end: number;
  }

  /** An interval does not include its end, unless its start equals its end. */
  function isOverlapping(a: Interval, b: Interval): boolean {
    if (a.start === a.end && b.start === b.end) return a.start === b.start;
    if (a.start === a.end) return b.start <= a.start && a.start < b.end;
    if (b.start === b.end) return isOverlapping(b, a);
    return a.start < b.end && b.start < a.end;
  }

  const intervals = fc.tuple(fc.nat(8), fc.nat(4)).map(([start, length]): Interval => ({ start, end: start + length }));
  const firstDay = Date.UTC(2045, 0, 1);
  const hourMs = 3_600_000;
  const dayMs = 24 * hourMs;
  let day = 0;

  test('generated bookings are accepted if they overlap no other booking, and searches find them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(intervals, { minLength: 1, maxLength: 8 }), intervals, async (requested, searched) => {
        // Each run has its own day, so that bookings of different runs do not overlap.
        day += 1;
        const at = (hour: number) => new Date(firstDay + day * dayMs + hour * hourMs).toISOString();
        const accepted: Interval[] = [];
        for (const interval of requested) {
          const dates = { startDate: at(interval.start), endDate: at(interval.end) };
          const response = await post(bookingBody({ bayId: 'bay-n1-01', ...dates }));
          if (accepted.some((other) => isOverlapping(other, interval)))
            expect(errorCodes(response)).toEqual(['BOOK00002']);
          else {
            expect(response.status).toBe(201);
            accepted.push(interval);
          }
        }
        const query = `startDate=${at(searched.start)}&endDate=${at(searched.end)}`;
        const expectFound = async (filter: string, isExpected: (interval: Interval) => boolean) => {
          const { items } = (await system.call('GET', `/api/bookings?${filter}&${query}`)).body;
          const starts = accepted.filter(isExpected).map(({ start }) => at(start));
          expect(pluck(items, 'startDate')).toEqual(starts.sort());
        };
        // A search by bay finds the bookings that overlap its interval.
        await expectFound('bayIds=bay-n1-01', (interval) => isOverlapping(interval, searched));
        // A search by location finds the bookings that lie inside its interval.
        const isInside = ({ start, end }: Interval) => searched.start <= start && end <= searched.end;
        await expectFound('locationIds=loc-north-1', isInside);
      }),
      { numRuns: 40 },
    );
  }, 60_000);
});
