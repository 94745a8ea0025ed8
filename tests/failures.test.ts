// What happens when a part breaks? Real processes on a real PostgreSQL, and on a Citus cluster where this machine has one: no 500, nothing acknowledged lost, nothing made twice, recovery by
// itself, and a metric that shows it. What is measured here stands in the fault table of docs/operations/runbook.md; FAULT_REPORT=1 prints it.
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { findCitus } from '@bay-booking/testkit/programs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { book, type Load, nextBooking, startLoad, waitForBookings } from './support/booking-load.ts';
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
  let one: Instance;
  let two: Instance;
  let token: string;
  let load: Load | undefined;

  beforeAll(async () => {
    system = await start();
    ({ database, proxy } = system);
    ({ auth, one, two, token } = await system.startServices());
  }, 120_000);
  afterEach(async () => {
    await load?.stop();
    load = undefined;
  });
  afterAll(() => system?.stop(), 60_000);

  const startBookingLoad = (...given: Parameters<typeof startLoad>): Load => {
    load = startLoad(...given);
    return load;
  };
  const expectNoLostOrDoubleBookings = (load: Load) => expectNoLostBookings(database, load);
  const bookable = (base: string) => async () => (await bookOnce(base, token)) === 201;

  describe('the database', () => {
    test('stopped and started again under load: 503 with Retry-After meanwhile', async () => {
      const load = startBookingLoad([one.base, two.base], token);
      await waitForBookings(load, 50);
      const errors = await one.metric(/^database_errors_total/);
      await database.stop();
      await eventually(async () => !(await one.ready()) && !(await two.ready()));
      expect((await fetch(`${one.base}/health/live`)).status).toBe(200);
      expect((await book(one.base, token, nextBooking())).codes).toEqual(['ERR00503']);
      expect(await one.metric(/^database_errors_total/)).toBeGreaterThan(errors);
      await database.start();
      const recovery = await timeUntil(async () => (await one.ready()) && (await two.ready()));
      await waitForBookings(load, 50);
      await expectNoLostOrDoubleBookings(load);
      recordMeasurement(`${engine}: database stopped`, { ...load.statuses(), longest: load.longest(), recovery });
      expect(recovery).toBeLessThan(10_000);
      await eventually(() => getToken(auth.base));
    }, 60_000);

    test('killed under load: what was acknowledged is there afterwards', async () => {
      const load = startBookingLoad([one.base, two.base], token);
      await waitForBookings(load, 100);
      await database.kill();
      await database.start();
      const recovery = await timeUntil(bookable(one.base));
      await waitForBookings(load, 50);
      await expectNoLostOrDoubleBookings(load);
      recordMeasurement(`${engine}: database killed`, { ...load.statuses(), longest: load.longest(), recovery });
    }, 60_000);

    test('out of connections: 503, and 53300 in the metrics', async () => {
      const load = startBookingLoad([one.base, two.base], token);
      await waitForBookings(load, 20);
      await database.query('postgres', 'alter role bookings_service connection limit 0');
      await database.query(
        'postgres',
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'bookings_service'",
      );
      await eventually(async () => (await one.metric(/^database_errors_total.*53300/)) > 0);
      await database.query('postgres', 'alter role bookings_service connection limit -1');
      const recovery = await timeUntil(bookable(one.base));
      await waitForBookings(load, 50);
      await expectNoLostOrDoubleBookings(load);
      recordMeasurement(`${engine}: out of connections`, { ...load.statuses(), longest: load.longest(), recovery });
    }, 60_000);

    test('slow by 100 ms each way: slower answers, and all of them good', async () => {
      const load = startBookingLoad([one.base, two.base], token);
      proxy.delay(100);
      await waitForBookings(load, 10);
      proxy.delay(0);
      await expectNoLostOrDoubleBookings(load);
      expect(Object.keys(load.statuses())).toEqual(['201']);
      recordMeasurement(`${engine}: database slow`, { ...load.statuses(), longest: load.longest() });
    }, 60_000);

    test('silent: 503 within ten seconds, and all is well when it speaks again', async () => {
      const load = startBookingLoad([one.base], token, { workers: 4 });
      await waitForBookings(load, 20);
      proxy.freeze();
      await eventually(async () => (load.statuses()[503] ?? 0) >= 4);
      proxy.thaw();
      const recovery = await timeUntil(bookable(one.base));
      await waitForBookings(load, 20);
      await expectNoLostOrDoubleBookings(load);
      recordMeasurement(`${engine}: database silent`, { ...load.statuses(), longest: load.longest(), recovery });
      expect(load.longest()).toBeLessThan(10_000);
    }, 60_000);
  });

  describe('an instance of bookings', () => {
    test('killed under load: the other one takes over, nothing is lost or made twice', async () => {
      const doomed = await system.startBookings();
      const load = startBookingLoad([doomed.base, one.base], token);
      await waitForBookings(load, 50);
      await doomed.stop('SIGKILL');
      await waitForBookings(load, 50);
      await expectNoLostOrDoubleBookings(load);
      recordMeasurement(`${engine}: bookings killed`, { ...load.statuses(), longest: load.longest() });
    }, 60_000);

    test('told to stop under load: every accepted request is answered, then it exits with 0', async () => {
      const leaving = await system.startBookings();
      const load = startBookingLoad([leaving.base], token, { retry: false });
      await waitForBookings(load, 50);
      // One that takes long: somebody else holds its bay.
      const holder = new pg.Client({ connectionString: database.urlOf('bookings') });
      await holder.connect();
      await holder.query('begin');
      await holder.query("select from bay where facility_id = 'fac-north' and id = 'bay-n2-01' for update");
      const slow = book(leaving.base, token, { ...nextBooking(), bayId: 'bay-n2-01' });
      await eventually(async () => {
        const sql = `select from ${activity} where wait_event_type = 'Lock' and usename = 'bookings_service'`;
        return (await database.query('bookings', sql)).rowCount === 1;
      });
      const exit = leaving.stop('SIGTERM');
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
        "select external_booking_id as id from booking where user_alias = 'load' and created_at > now() - interval '1 minute'",
      );
      const made = new Set(rows.map(({ id }) => id));
      expect([...load.acknowledged].filter((id) => !made.has(id))).toEqual([]);
      recordMeasurement(`${engine}: bookings told to stop`, { ...load.statuses(), drained });
    }, 60_000);

    test('with nowhere to write its log: it serves on', async () => {
      const full = openSync('/dev/full', 'w');
      const mute = await system.startBookings({}, { logTo: full });
      closeSync(full);
      for (let count = 0; count < 20; count += 1) expect(await bookOnce(mute.base, token)).toBe(201);
      await eventually(async () => (await mute.metric(/^log_writes_failed_total/)) > 0);
      expect(await mute.stop('SIGTERM')).toBe(0);
    }, 60_000);

    test.each([60_000, -60_000])(
      'whose clock is %s ms off takes the same tokens',
      async (skew) => {
        const preload = join(import.meta.dirname, 'support/skewed-clock.js');
        const wrong = await system.startBookings({ NODE_OPTIONS: `--import ${preload}`, SKEW_MS: String(skew) });
        expect(await bookOnce(wrong.base, token)).toBe(201);
        await wrong.stop('SIGTERM');
      },
      60_000,
    );
  });
});
