// Tests failures of the database and of instances of bookings, most of them under load. After every failure under load,
// the services must have returned no 500, lost no acknowledged booking and booked no bay twice. They must recover
// without an operator.
//
// The tests run on a single PostgreSQL server. If this machine has Citus, they also run on a Citus cluster.
// FAULT_REPORT=1 prints the measurements for the table in docs/operations/runbook.md.
import { closeSync, openSync } from 'node:fs';
import { findCitus } from '@bay-booking/testkit/programs';
import type { TcpProxy } from '@bay-booking/testkit/tcp-proxy';
import { eventually } from '@bay-booking/testkit/wait';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { book, type Load, nextBooking, startLoad, waitForBookings } from './support/booking-load.ts';
import { startDistributedDatabase } from './support/citus-database.ts';
import type { StoppableDatabase } from './support/database-server.ts';
import type { Instance } from './support/instance.ts';
import { recordLoad, timed, timeUntil } from './support/measurements.ts';
import {
  bookOnce,
  getToken,
  startTestSystem,
  startTestSystemOn,
  stopLoadAndExpectNoLostOrDoubleBookings,
  type TestSystem,
} from './support/test-system.ts';

// The tests wait for conditions. On busy cores, a condition can take minutes.
jest.setTimeout(300_000);

const citus = findCitus();
/** `activity` is the view that lists the sessions of all servers. */
const engines = [
  { engine: 'one PostgreSQL', start: () => startTestSystem(), activity: 'pg_stat_activity' },
  ...(citus
    ? [
        {
          engine: 'Citus',
          start: async () => startTestSystemOn(await startDistributedDatabase(citus)),
          activity: 'citus_stat_activity',
        },
      ]
    : []),
];

describe.each(engines)('on $engine', ({ engine, start, activity }) => {
  let system: TestSystem<StoppableDatabase>;
  let database: StoppableDatabase;
  let proxy: TcpProxy;
  let auth: Instance;
  let firstInstance: Instance;
  let secondInstance: Instance;
  let token: string;
  let currentLoad: Load | undefined;

  beforeAll(async () => {
    system = await start();
    ({ database, proxy } = system);
    ({ auth, firstInstance, secondInstance, token } = await system.startServices());
  });
  afterEach(async () => {
    await currentLoad?.stop();
    currentLoad = undefined;
  });
  afterAll(() => system?.close());

  /** Starts a load that ends with the test at the latest. */
  const startBookingLoad = (...parameters: Parameters<typeof startLoad>): Load => {
    currentLoad = startLoad(...parameters);
    return currentLoad;
  };
  /** Requests a booking of a bay that is locked until the returned function `unlock` is called. */
  const startSlowRequest = async (base: string) => {
    const lockingClient = new pg.Client({ connectionString: database.urlOf('bookings') });
    await lockingClient.connect();
    await lockingClient.query('begin');
    await lockingClient.query("select from bay where facility_id = 'fac-north' and id = 'bay-n2-01' for update");
    const response = book(base, token, { ...nextBooking(), bayId: 'bay-n2-01' });
    await eventually(async () => {
      const sql = `select from ${activity} where wait_event_type = 'Lock' and usename = 'bookings_service'`;
      return (await database.query('bookings', sql)).rowCount === 1;
    });
    // The end of the connection rolls the transaction back.
    return { response, unlock: () => lockingClient.end() };
  };
  /** Expects one line for each change of the state, and the cause in the line of each request that got a 503. */
  const expectQuietLog = (instance: Instance): void => {
    const lines = instance.log();
    const requests = lines.filter(({ msg }) => msg === 'request');
    const unavailable = requests.filter(({ status }) => status === 503);
    expect(unavailable.length).toBeGreaterThan(0);
    for (const line of unavailable) expect(line).toMatchObject({ cause: expect.stringMatching(/./) });
    const others = lines.filter(({ msg }) => msg !== 'request').map(({ msg }) => msg);
    expect(others.filter((msg) => msg === 'database unavailable')).toHaveLength(1);
    expect(others.filter((msg) => msg === 'database available again')).toHaveLength(1);
    // Each periodic job writes one line for a series of failures.
    expect(others.length).toBeLessThan(30);
  };
  const canBook = (base: string) => async () => (await bookOnce(base, token)) === 201;

  describe('failures of the database', () => {
    // At the end, the test also checks all responses of the load: the statuses, and Retry-After in every 503.
    test('while the database server is stopped, responses are 503 with Retry-After', async () => {
      const load = startBookingLoad([firstInstance.base, secondInstance.base], token);
      await waitForBookings(load, 50);
      const errorsBefore = await firstInstance.metric(/^database_errors_total/);
      await database.stop();
      await eventually(async () => !(await firstInstance.isReady()) && !(await secondInstance.isReady()));
      expect((await fetch(`${firstInstance.base}/health/live`)).status).toBe(200);
      expect((await book(firstInstance.base, token, nextBooking())).codes).toEqual(['ERR00503']);
      expect(await firstInstance.metric(/^database_errors_total/)).toBeGreaterThan(errorsBefore);
      await database.start();
      const recovery = await timeUntil(async () => (await firstInstance.isReady()) && (await secondInstance.isReady()));
      await waitForBookings(load, 50);
      await stopLoadAndExpectNoLostOrDoubleBookings(database, load);
      recordLoad(`${engine}: database stopped`, load, { recovery });
      // About a second, but much longer on busy cores.
      expect(recovery).toBeLessThan(30_000);
      expectQuietLog(firstInstance);
      // Auth uses the same server, and recovers too.
      await eventually(() => getToken(auth.base));
    });

    test('no acknowledged booking is lost when the database server is killed', async () => {
      const load = startBookingLoad([firstInstance.base, secondInstance.base], token);
      await waitForBookings(load, 50);
      await database.kill();
      await database.start();
      const recovery = await timeUntil(canBook(firstInstance.base));
      await waitForBookings(load, 50);
      await stopLoadAndExpectNoLostOrDoubleBookings(database, load);
      recordLoad(`${engine}: database killed`, load, { recovery });
    });

    test('while the database has no free connections, no booking is lost, and a metric counts 53300', async () => {
      // 53300 is the SQLSTATE too_many_connections. PostgreSQL returns this error to a role that is above its limit.
      const load = startBookingLoad([firstInstance.base, secondInstance.base], token);
      await waitForBookings(load, 20);
      await database.query('postgres', 'alter role bookings_service connection limit 0');
      await database.query(
        'postgres',
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'bookings_service'",
      );
      await eventually(async () => (await firstInstance.metric(/^database_errors_total.*53300/)) > 0);
      await database.query('postgres', 'alter role bookings_service connection limit -1'); // no limit
      const recovery = await timeUntil(canBook(firstInstance.base));
      await waitForBookings(load, 50);
      await stopLoadAndExpectNoLostOrDoubleBookings(database, load);
      recordLoad(`${engine}: out of connections`, load, { recovery });
    });

    test('all responses are 201 while the network delays packets by 100 ms in each direction', async () => {
      const load = startBookingLoad([firstInstance.base, secondInstance.base], token);
      proxy.delay(100);
      await waitForBookings(load, 10);
      proxy.delay(0);
      await stopLoadAndExpectNoLostOrDoubleBookings(database, load);
      expect(Object.keys(load.statuses())).toEqual(['201']);
      recordLoad(`${engine}: database slow`, load);
    });

    test('while the network loses all packets, responses are 503 before the client gives up', async () => {
      const workers = 4;
      const load = startBookingLoad([firstInstance.base], token, { workers });
      await waitForBookings(load, 20);
      proxy.freeze();
      await eventually(async () => (load.statuses()[503] ?? 0) >= workers);
      proxy.resume();
      const recovery = await timeUntil(canBook(firstInstance.base));
      await waitForBookings(load, 20);
      await stopLoadAndExpectNoLostOrDoubleBookings(database, load);
      recordLoad(`${engine}: database silent`, load, { recovery });
      // 0 stands for a request without a response. `book` gives up after 20 s.
      expect(load.statuses()).not.toHaveProperty('0');
    });
  });

  describe('failures of an instance of bookings', () => {
    test('on SIGTERM, an instance responds to every accepted request and then exits with code 0', async () => {
      const stopping = await system.startBookings();
      const load = startBookingLoad([stopping.base], token, { retry: false });
      await waitForBookings(load, 50);
      const slow = await startSlowRequest(stopping.base);
      const exit = stopping.stop('SIGTERM');
      const drained = await timed(async () => {
        // A request without a response (status 0) shows that the instance no longer accepts connections.
        await eventually(async () => (load.statuses()[0] ?? 0) > 0);
        await slow.unlock();
        expect((await slow.response).status).toBe(201);
        expect(await exit).toBe(0);
      });
      await stopLoadAndExpectNoLostOrDoubleBookings(database, load);
      expect(Object.keys(load.statuses()).toSorted()).toEqual(['0', '201']);
      recordLoad(`${engine}: bookings told to stop`, load, { drained });
    });

    test('an instance continues to serve requests when the disk of its log is full', async () => {
      // Every write to /dev/full fails with ENOSPC.
      const full = openSync('/dev/full', 'w');
      const instance = await system.startBookings({}, { logTo: full });
      // The instance has its own copy of the file descriptor.
      closeSync(full);
      for (let count = 0; count < 20; count += 1) expect(await bookOnce(instance.base, token)).toBe(201);
      await eventually(async () => (await instance.metric(/^log_writes_failed_total/)) > 0);
      expect(await instance.stop('SIGTERM')).toBe(0);
    });
  });
});
