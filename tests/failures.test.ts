// Tests failures of the database and of instances of bookings under load. In every case, no response is a 500, no
// acknowledged booking is lost, no bay is booked twice, the services recover without an operator, and a metric shows
// the failure.
//
// The tests run on one PostgreSQL, and also on a Citus cluster if this machine has Citus. FAULT_REPORT=1 prints the
// measurements for the table in docs/operations/runbook.md.
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { findCitus } from '@bay-booking/testkit/programs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { book, type Load, loadUser, nextBooking, startLoad, waitForBookings } from './support/booking-load.ts';
import { startDistributedDatabase } from './support/citus-database.ts';
import type { StoppableDatabase } from './support/database-server.ts';
import type { Instance } from './support/instance.ts';
import type { TcpProxy } from './support/tcp-proxy.ts';
import {
  bookOnce,
  expectNoLostOrDoubleBookings as expectNoLostBookings,
  getToken,
  printMeasurements,
  recordMeasurement,
  startTestSystem,
  startTestSystemOn,
  type TestSystem,
} from './support/test-system.ts';
import { eventually, timeUntil } from './support/wait.ts';

const citus = findCitus();
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

afterAll(printMeasurements);

describe.each(engines)('on $engine', ({ engine, start, activity }) => {
  let system: TestSystem<StoppableDatabase>;
  let database: StoppableDatabase;
  let proxy: TcpProxy;
  let auth: Instance;
  let firstInstance: Instance;
  let secondInstance: Instance;
  let token: string;
  let load: Load | undefined;

  beforeAll(async () => {
    system = await start();
    ({ database, proxy } = system);
    ({ auth, firstInstance, secondInstance, token } = await system.startServices());
  }, 120_000);
  afterEach(async () => {
    await load?.stop();
    load = undefined;
  });
  afterAll(() => system?.stop(), 60_000);

  const startBookingLoad = (...parameters: Parameters<typeof startLoad>): Load => {
    load = startLoad(...parameters);
    return load;
  };
  const expectNoLostOrDoubleBookings = (load: Load) => expectNoLostBookings(database, load);
  const canBook = (base: string) => async () => (await bookOnce(base, token)) === 201;

  describe('failures of the database', () => {
    test('the server is stopped and started under load: responses are 503 with Retry-After until it runs again', async () => {
      const load = startBookingLoad([firstInstance.base, secondInstance.base], token);
      await waitForBookings(load, 50);
      const errors = await firstInstance.metric(/^database_errors_total/);
      await database.stop();
      await eventually(async () => !(await firstInstance.isReady()) && !(await secondInstance.isReady()));
      expect((await fetch(`${firstInstance.base}/health/live`)).status).toBe(200);
      expect((await book(firstInstance.base, token, nextBooking())).codes).toEqual(['ERR00503']);
      expect(await firstInstance.metric(/^database_errors_total/)).toBeGreaterThan(errors);
      await database.start();
      const recovery = await timeUntil(async () => (await firstInstance.isReady()) && (await secondInstance.isReady()));
      await waitForBookings(load, 50);
      await expectNoLostOrDoubleBookings(load);
      recordMeasurement(`${engine}: database stopped`, { ...load.statuses(), longest: load.longest(), recovery });
      expect(recovery).toBeLessThan(10_000);
      await eventually(() => getToken(auth.base));
    }, 60_000);

    test('the server is killed under load: no acknowledged booking is lost', async () => {
      const load = startBookingLoad([firstInstance.base, secondInstance.base], token);
      await waitForBookings(load, 100);
      await database.kill();
      await database.start();
      const recovery = await timeUntil(canBook(firstInstance.base));
      await waitForBookings(load, 50);
      await expectNoLostOrDoubleBookings(load);
      recordMeasurement(`${engine}: database killed`, { ...load.statuses(), longest: load.longest(), recovery });
    }, 60_000);

    test('the server has no free connections: responses are 503, and database_errors_total counts 53300', async () => {
      const load = startBookingLoad([firstInstance.base, secondInstance.base], token);
      await waitForBookings(load, 20);
      await database.query('postgres', 'alter role bookings_service connection limit 0');
      await database.query(
        'postgres',
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'bookings_service'",
      );
      await eventually(async () => (await firstInstance.metric(/^database_errors_total.*53300/)) > 0);
      await database.query('postgres', 'alter role bookings_service connection limit -1');
      const recovery = await timeUntil(canBook(firstInstance.base));
      await waitForBookings(load, 50);
      await expectNoLostOrDoubleBookings(load);
      recordMeasurement(`${engine}: out of connections`, { ...load.statuses(), longest: load.longest(), recovery });
    }, 60_000);

    test('the network delays packets by 100 ms in each direction: all responses are 201', async () => {
      const load = startBookingLoad([firstInstance.base, secondInstance.base], token);
      proxy.delay(100);
      await waitForBookings(load, 10);
      proxy.delay(0);
      await expectNoLostOrDoubleBookings(load);
      expect(Object.keys(load.statuses())).toEqual(['201']);
      recordMeasurement(`${engine}: database slow`, { ...load.statuses(), longest: load.longest() });
    }, 60_000);

    test('the network loses all packets: responses are 503 within 10 s, and bookings recovers with the network', async () => {
      const load = startBookingLoad([firstInstance.base], token, { workers: 4 });
      await waitForBookings(load, 20);
      proxy.freeze();
      await eventually(async () => (load.statuses()[503] ?? 0) >= 4);
      proxy.resume();
      const recovery = await timeUntil(canBook(firstInstance.base));
      await waitForBookings(load, 20);
      await expectNoLostOrDoubleBookings(load);
      recordMeasurement(`${engine}: database silent`, { ...load.statuses(), longest: load.longest(), recovery });
      expect(load.longest()).toBeLessThan(10_000);
    }, 60_000);
  });

  describe('failures of an instance of bookings', () => {
    test('the instance is killed under load: the other instance serves its requests', async () => {
      const killed = await system.startBookings();
      const load = startBookingLoad([killed.base, firstInstance.base], token);
      await waitForBookings(load, 50);
      await killed.stop('SIGKILL');
      await waitForBookings(load, 50);
      await expectNoLostOrDoubleBookings(load);
      recordMeasurement(`${engine}: bookings killed`, { ...load.statuses(), longest: load.longest() });
    }, 60_000);

    test('SIGTERM under load: every accepted request gets its response, then the instance exits with 0', async () => {
      const stopping = await system.startBookings();
      const load = startBookingLoad([stopping.base], token, { retry: false });
      await waitForBookings(load, 50);
      // One request takes long, because another transaction locks its bay.
      const holder = new pg.Client({ connectionString: database.urlOf('bookings') });
      await holder.connect();
      await holder.query('begin');
      await holder.query("select from bay where facility_id = 'fac-north' and id = 'bay-n2-01' for update");
      const slow = book(stopping.base, token, { ...nextBooking(), bayId: 'bay-n2-01' });
      await eventually(async () => {
        const sql = `select from ${activity} where wait_event_type = 'Lock' and usename = 'bookings_service'`;
        return (await database.query('bookings', sql)).rowCount === 1;
      });
      const exit = stopping.stop('SIGTERM');
      const start = performance.now();
      await eventually(async () => (load.statuses()[0] ?? 0) > 0);
      await holder.query('rollback');
      await holder.end();
      expect((await slow).status).toBe(201);
      expect(await exit).toBe(0);
      const drained = Math.round(performance.now() - start);
      await load.stop();
      expect(Object.keys(load.statuses()).toSorted()).toEqual(['0', '201']);
      const { rows } = await database.query(
        'bookings',
        `select external_booking_id as id from booking
         where user_alias = '${loadUser}' and created_at > now() - interval '1 minute'`,
      );
      const stored = new Set(rows.map(({ id }) => id));
      expect([...load.acknowledged].filter((id) => !stored.has(id))).toEqual([]);
      recordMeasurement(`${engine}: bookings told to stop`, { ...load.statuses(), drained });
    }, 60_000);

    test('the disk of the log is full: the instance continues to serve requests', async () => {
      const full = openSync('/dev/full', 'w');
      const instance = await system.startBookings({}, { logTo: full });
      closeSync(full);
      for (let count = 0; count < 20; count += 1) expect(await bookOnce(instance.base, token)).toBe(201);
      await eventually(async () => (await instance.metric(/^log_writes_failed_total/)) > 0);
      expect(await instance.stop('SIGTERM')).toBe(0);
    }, 60_000);

    test.each([60_000, -60_000])(
      'the clock of the instance differs by %s ms: the instance accepts the same tokens',
      async (skew) => {
        const preload = join(import.meta.dirname, 'support/skewed-clock.js');
        const instance = await system.startBookings({ NODE_OPTIONS: `--import ${preload}`, SKEW_MS: String(skew) });
        expect(await bookOnce(instance.base, token)).toBe(201);
        await instance.stop('SIGTERM');
      },
      60_000,
    );
  });
});
