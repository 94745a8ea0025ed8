// Tests bookings on Citus: distributes the database over a coordinator and two workers while it is in use, moves rows
// between the workers, and crashes each worker under load. No acknowledged booking may be lost, and no response may be
// a 500.
//
// The tests need a PostgreSQL with Citus, and are skipped without it (docs/operations/scale.md describes how to build
// Citus). FAULT_REPORT=1 prints the measurements.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { migrate } from '@bay-booking/service/database/migrate';
import { queryOnce } from '@bay-booking/testkit/database';
import { findCitus } from '@bay-booking/testkit/programs';
import { eventually } from '@bay-booking/testkit/wait';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { callApi } from './support/api.ts';
import { expectAvailabilityAndHolds, expectChanges } from './support/availability-and-changes.ts';
import { type Load, nextBooking, startLoad, waitForBookings } from './support/booking-load.ts';
import { type CitusDatabase, distribute, startCitusDatabase } from './support/citus-database.ts';
import { nodeEnvironment, runCommand } from './support/commands.ts';
import type { Instance } from './support/instance.ts';
import { recordLoad, timed, timeUntil } from './support/measurements.ts';
import { applyNextRelease } from './support/next-release.ts';
import {
  bookOnce,
  startTestSystemOn,
  stopLoadAndExpectNoLostOrDoubleBookings,
  type TestSystem,
} from './support/test-system.ts';
import { webhookEnvironment } from './support/webhook-receiver.ts';

// The tests wait for conditions. On busy cores, a condition can take minutes.
jest.setTimeout(300_000);

/** The folder with the programs of a PostgreSQL that has Citus. Undefined if this machine has none. */
const programs = findCitus();
const migrations = join(import.meta.dirname, '../apps/bookings/migrations');

/** Creates 20 facilities with 1000 bookings each. `f` is the number of a facility, `n` the number of a booking. */
const createOldBookings = `
  insert into facility select 'old-' || f, 'Old ' || f, 'UTC' from generate_series(1, 20) f;
  insert into location select 'old-' || f, 'old-loc-' || f, 'Old' from generate_series(1, 20) f;
  insert into bay select 'old-' || f, 'old-bay-' || f, 'old-loc-' || f, 'Old', '', 'RangeBay', true
    from generate_series(1, 20) f;
  insert into booking (facility_id, id, location_id, bay_id, external_booking_id, user_alias, start_date, end_date,
    created_at, last_updated_at)
  select 'old-' || f, gen_random_uuid(), 'old-loc-' || f, 'old-bay-' || f, 'old-' || f || '-' || n, 'old',
    timestamptz '2030-01-01Z' + n * interval '1 hour', timestamptz '2030-01-01Z' + (n + 1) * interval '1 hour',
    now(), now()
  from generate_series(1, 20) f, generate_series(1, 1000) n;
  insert into booking_reference select external_booking_id, facility_id, id from booking where user_alias = 'old'`;

if (!programs) process.stderr.write('The tests of Citus are skipped: no PostgreSQL of this machine has it\n');
(programs ? describe : describe.skip)('bookings on a Citus cluster with a coordinator and two workers', () => {
  let database: CitusDatabase;
  let system: TestSystem<CitusDatabase>;
  let firstInstance: Instance;
  let secondInstance: Instance;
  let token: string;
  let currentLoad: Load | undefined;

  beforeAll(async () => {
    database = await startCitusDatabase(programs as string);
    system = await startTestSystemOn(database);
    ({ firstInstance, secondInstance, token } = await system.startServices(webhookEnvironment));
  });
  afterEach(async () => {
    await currentLoad?.stop();
    currentLoad = undefined;
  });
  afterAll(async () => {
    await system?.close();
  });

  /** Starts a load. If the test does not stop the load, `afterEach` does. */
  const startBookingLoad = (): Load => {
    currentLoad = startLoad([firstInstance.base, secondInstance.base], token);
    return currentLoad;
  };
  const countRows = async (table: string, where = 'true'): Promise<number> =>
    (await database.query('bookings', `select count(*)::int as count from ${table} where ${where}`)).rows[0].count;
  /**
   * Starts sending requests that list bookings and requests that update bookings, while the load runs. The returned
   * function stops these requests, checks that every response had the status 200 or 503, and returns the number of
   * responses of each status.
   */
  const startReadsAndUpdates = () => {
    const statuses: Record<number, number> = {};
    let isStopping = false;
    const request = async (method: string, path: string, body?: object) => {
      // A request without a response is recorded as status 0, so that the check below fails.
      const response = await callApi<{ items?: { id: string }[] }>(firstInstance.base, token, method, path, body).catch(
        () => undefined,
      );
      const status = response?.status ?? 0;
      statuses[status] = (statuses[status] ?? 0) + 1;
      return response?.body.items?.[0]?.id;
    };
    const work = async () => {
      while (!isStopping) {
        const id = await request('GET', '/api/bookings?userAlias=load&pageSize=3');
        await request('GET', '/api/bays/bay-n1-01/upcoming-bookings');
        // An update cannot change the external id of a booking.
        const { externalBookingId: _, ...change } = nextBooking();
        if (id) await request('PUT', `/api/bookings/${id}`, change);
      }
    };
    const done = work();
    return async () => {
      isStopping = true;
      await done;
      expect(Object.keys(statuses).filter((status) => !['200', '503'].includes(status))).toEqual([]);
      return statuses;
    };
  };

  /**
   * Starts the command that distributes the tables, and kills it after it has distributed the tables of the facilities,
   * but before it has distributed the other tables. Returns the milliseconds until the command was killed.
   */
  const killDistribution = async (): Promise<number> => {
    const lockHolder = new pg.Client({ connectionString: database.ownerUrlOf('bookings') });
    await lockHolder.connect();
    // The command distributes the tables of the facilities first. Then it waits until this lock is released.
    await lockHolder.query('begin; lock table booking_reference in share mode');
    const command = spawn(process.execPath, ['src/commands/distribute.ts'], {
      cwd: join(import.meta.dirname, '../apps/bookings'),
      env: { ...nodeEnvironment, DATABASE_URL: database.ownerUrlOf('bookings') },
      stdio: 'ignore',
    });
    // One transaction distributes all tables of the facilities, so one row here means that all are distributed.
    try {
      return await timeUntil(async () => (await countRows('pg_dist_partition')) > 0);
    } finally {
      command.kill('SIGKILL');
      await once(command, 'exit');
      await lockHolder.end();
    }
  };

  test('a database is distributed under load, and a distribution that was killed can be repeated', async () => {
    await database.query('bookings', createOldBookings);
    const bookings = await countRows('booking', "user_alias = 'old'");
    expect(bookings).toBe(20_000);
    expect(await distribute(database)).toMatch(/Citus is not installed/);
    const load = startBookingLoad();
    const stopReadsAndUpdates = startReadsAndUpdates();
    await waitForBookings(load, 50);
    // Installs Citus in the database, and adds the workers to the cluster.
    await database.cluster.join('bookings');
    const untilKilled = await killDistribution();
    let output = '';
    const secondRun = await timed(async () => {
      output = await distribute(database);
    });
    expect(output).toMatch(
      new RegExp(
        '^booking_reference is distributed by external_booking_id\n' +
          'idempotency_key is distributed by id\n' +
          'booking_hold_client is distributed by id\n$',
      ),
    );
    expect(await distribute(database)).toBe('all tables were distributed already\n');
    await waitForBookings(load, 50);
    expect(await countRows('booking', "user_alias = 'old'")).toBe(bookings);
    expect(await countRows('booking_reference', "external_booking_id like 'old-%'")).toBe(bookings);
    const otherStatuses = await stopReadsAndUpdates();
    await stopLoadAndExpectNoLostOrDoubleBookings(database, load);
    recordLoad('distributed', load, { untilKilled, secondRun, otherStatuses });
    expect(await runCommand('bookings', { DATABASE_URL: database.ownerUrlOf('bookings') }, 'migrate.ts')).toMatch(
      /up to date/,
    );
  });

  test('both workers store rows, and the timeouts of the role apply on the workers', async () => {
    const { rows } = await database.query('bookings', 'select distinct nodeport from citus_shards order by 1');
    expect(rows.map(({ nodeport }) => nodeport)).toEqual(
      database.cluster.workers.map(({ port }) => port).toSorted((a, b) => a - b),
    );
    const client = new pg.Client({ connectionString: database.urlOf('bookings') });
    await client.connect();
    try {
      const timeouts = await client.query("select result from run_command_on_workers('show lock_timeout')");
      expect(timeouts.rows).toEqual([{ result: '2s' }, { result: '2s' }]);
    } finally {
      await client.end();
    }
  });

  test('the command distributes the tables that are not distributed, and migrations run on distributed tables', async () => {
    const { urlsOf } = database.cluster;
    for (const server of urlsOf('postgres')) await queryOnce(server, 'create database later');
    await database.cluster.join('later');
    const [coordinator] = urlsOf('later');
    await migrate({ url: coordinator, directory: migrations });
    await queryOnce(coordinator, "select create_distributed_table('facility', 'id')");
    for (const table of ['location', 'bay', 'booking'])
      await queryOnce(coordinator, "select create_distributed_table($1::regclass, 'facility_id')", [table]);
    await queryOnce(coordinator, "insert into facility values ('old', 'Old', 'UTC')");
    const environment = { DATABASE_URL: coordinator };
    const output = await runCommand('bookings', environment, 'distribute.ts');
    expect(output).toMatch(/^booking_change is distributed by facility_id\n/);
    expect(output).not.toMatch(/^booking is/m);
    expect(await runCommand('bookings', environment, 'recount.ts')).toMatch(/^0 changes added/);
    expect(await applyNextRelease(coordinator)).toHaveLength(1);
  });

  test('availability, holds, closures, the change feed and webhooks work on distributed tables', async () => {
    const instances = { writer: firstInstance.base, reader: secondInstance.base, token };
    await expectAvailabilityAndHolds(instances);
    await expectChanges(instances);
  });

  test('the rows of a facility move to another worker under load', async () => {
    const load = startBookingLoad();
    const stopReadsAndUpdates = startReadsAndUpdates();
    await waitForBookings(load, 50);
    const isShardOfFacility = "shardid = get_shard_id_for_distribution_column('booking', 'fac-north')";
    const { rows } = await database.query('bookings', `select nodeport from citus_shards where ${isShardOfFacility}`);
    const oldPort = rows[0].nodeport;
    const newPort = database.cluster.workers.map(({ port }) => port).find((port) => port !== oldPort);
    const moving = await timed(() =>
      database.query(
        'bookings',
        `select citus_move_shard_placement(shardid, '127.0.0.1', $1, '127.0.0.1', $2, 'force_logical')
         from pg_dist_shard where ${isShardOfFacility}`,
        [oldPort, newPort],
      ),
    );
    const acknowledgedAtEndOfMove = load.acknowledged.size;
    await waitForBookings(load, 50);
    const otherStatuses = await stopReadsAndUpdates();
    await stopLoadAndExpectNoLostOrDoubleBookings(database, load);
    recordLoad('rows moved', load, { moving, acknowledgedAtEndOfMove, otherStatuses });
    expect(await countRows('citus_shards', `${isShardOfFacility} and nodeport = ${newPort}`)).toBe(1);
  });

  test.each([0, 1])(
    'while worker %i has crashed, responses are 503 with Retry-After, and bookings recovers with the worker',
    async (index) => {
      const worker = database.cluster.workers[index];
      if (!worker) throw new Error('no such worker');
      const load = startBookingLoad();
      const stopReadsAndUpdates = startReadsAndUpdates();
      await waitForBookings(load, 50);
      // With SIGQUIT, PostgreSQL ends all its processes immediately, without a clean shutdown.
      await worker.crash('SIGQUIT');
      await eventually(async () => (load.statuses()[503] ?? 0) > 20);
      const statusesDuringFailure = load.statuses();
      await worker.start();
      const recovery = await timeUntil(async () => (await bookOnce(firstInstance.base, token)) === 201);
      await waitForBookings(load, 100);
      const otherStatuses = await stopReadsAndUpdates();
      await stopLoadAndExpectNoLostOrDoubleBookings(database, load);
      // Within a few seconds, the cluster completes the two-phase commits that the crash has interrupted.
      const settled = await timeUntil(
        async () =>
          (await countRows('booking_reference')) === (await countRows('booking', 'external_booking_id is not null')),
      );
      recordLoad(`worker ${index} crashed`, load, { statusesDuringFailure, recovery, settled, otherStatuses });
    },
  );
});
