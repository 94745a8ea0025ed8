// Distributes the database of bookings over a coordinator and two workers while it is in use, moves rows between the
// workers, and crashes each worker under load. No acknowledged booking is lost and no response is a 500.
//
// The tests need a PostgreSQL with Citus (docs/operations/scale.md says how to build it) and are skipped without it.
// FAULT_REPORT=1 prints the measurements.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join as pathOf } from 'node:path';
import { migrate } from '@bay-booking/service/database/migrate';
import { findCitus } from '@bay-booking/testkit/programs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { expectAvailabilityAndHolds, expectChanges, webhookEnvironment } from './support/availability-and-changes.ts';
import { book, type Load, nextBooking, startLoad, waitForBookings } from './support/booking-load.ts';
import { type CitusDatabase, distribute, startCitusDatabase } from './support/citus-database.ts';
import { runCommand } from './support/commands.ts';
import { queryOnce } from './support/database-server.ts';
import { startFeedReader } from './support/feed-reader.ts';
import type { Instance } from './support/instance.ts';
import {
  bookOnce,
  expectNoLostOrDoubleBookings,
  printMeasurements,
  recordMeasurement,
  startTestSystemOn,
  type TestSystem,
} from './support/test-system.ts';
import { eventually, timed, timeUntil } from './support/wait.ts';

const programs = findCitus();
const migrations = pathOf(import.meta.dirname, '../apps/bookings/migrations');

if (!programs) process.stderr.write('The tests of Citus are skipped: no PostgreSQL of this machine has it\n');
(programs ? describe : describe.skip)('distributed over a coordinator and two workers', () => {
  let database: CitusDatabase;
  let system: TestSystem<CitusDatabase>;
  let firstInstance: Instance;
  let secondInstance: Instance;
  let token: string;
  let load: Load | undefined;

  beforeAll(async () => {
    database = await startCitusDatabase(programs as string);
    system = await startTestSystemOn(database);
    ({ firstInstance, secondInstance, token } = await system.startServices(webhookEnvironment));
  }, 90_000);
  afterEach(async () => {
    await load?.stop();
    load = undefined;
  });
  afterAll(async () => {
    await system?.stop();
    printMeasurements();
  }, 60_000);

  const startBookingLoad = (): Load => {
    load = startLoad([firstInstance.base, secondInstance.base], token);
    return load;
  };
  const count = async (table: string, where = 'true'): Promise<number> =>
    (await database.query('bookings', `select count(*)::int as count from ${table} where ${where}`)).rows[0].count;
  /**
   * Starts sending lists and updates in addition to the load. The returned function stops them and checks the statuses.
   */
  const startReadsAndUpdates = () => {
    const statuses: Record<number, number> = {};
    let isStopping = false;
    const request = async (path: string, method = 'GET', body?: object) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
      const init = {
        method,
        headers,
        signal: AbortSignal.timeout(20_000),
        ...(body && { body: JSON.stringify(body) }),
      };
      const response = await fetch(firstInstance.base + path, init).catch(() => undefined);
      const status = response?.status ?? 0;
      statuses[status] = (statuses[status] ?? 0) + 1;
      return (await response?.json().catch(() => undefined)) as { items?: { id: string }[] } | undefined;
    };
    const work = async () => {
      while (!isStopping) {
        const found = await request('/api/bookings?userAlias=load&pageSize=3');
        await request('/api/bays/bay-n1-01/upcoming-bookings');
        const { externalBookingId: _, ...change } = nextBooking();
        if (found?.items?.[0]) await request(`/api/bookings/${found.items[0].id}`, 'PUT', change);
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

  test('a database is distributed under load, and a command that was killed can be repeated', async () => {
    await database.query('bookings', populate);
    const bookings = await count('booking', "user_alias = 'old'");
    expect(bookings).toBe(20_000);
    expect(await distribute(database)).toMatch(/Citus is not installed/);
    const load = startBookingLoad();
    const stopReadsAndUpdates = startReadsAndUpdates();
    await waitForBookings(load, 50);
    await database.cluster.join('bookings');
    const holder = new pg.Client({ connectionString: database.ownerUrlOf('bookings') });
    await holder.connect();
    // After the command has distributed the tables of the facilities, it waits for this lock. The test then kills it.
    await holder.query('begin; lock table booking_reference in share mode');
    const killed = spawn(process.execPath, ['src/commands/distribute.ts'], {
      cwd: pathOf(import.meta.dirname, '../apps/bookings'),
      env: { PATH: process.env.PATH, DATABASE_URL: database.ownerUrlOf('bookings') },
      stdio: 'ignore',
    });
    const untilKilled = await timeUntil(async () => (await count('pg_dist_partition')) > 0);
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    await holder.end();
    let output = '';
    const secondRun = await timed(async () => {
      output = await distribute(database);
    });
    expect(output).toMatch(
      /^booking_reference is distributed by external_booking_id\nidempotency_key is distributed by id\n$/,
    );
    expect(await distribute(database)).toBe('all tables were distributed already\n');
    await waitForBookings(load, 50);
    expect(await count('booking', "user_alias = 'old'")).toBe(bookings);
    expect(await count('booking_reference', "external_booking_id like 'old-%'")).toBe(bookings);
    const otherStatuses = await stopReadsAndUpdates();
    await expectNoLostOrDoubleBookings(database, load);
    recordMeasurement('distributed', {
      ...load.statuses(),
      longest: load.longest(),
      untilKilled,
      secondRun,
      otherStatuses,
    });
    expect(await runCommand('bookings', { DATABASE_URL: database.ownerUrlOf('bookings') }, 'migrate.ts')).toMatch(
      /up to date/,
    );
  }, 120_000);

  test('rows are on both workers, and the timeouts of the role apply on the workers', async () => {
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

  test('later migrations run on distributed tables, and the command distributes the tables that they add', async () => {
    const { urlsOf, join } = database.cluster;
    for (const server of urlsOf('postgres')) await queryOnce(server, 'create database later');
    await join('later');
    const [url] = urlsOf('later');
    const folder = await mkdtemp(pathOf(tmpdir(), 'bay-booking-migrations-'));
    try {
      const first = globSync(pathOf(migrations, '000[1-4]_*.sql'));
      for (const file of first) await copyFile(file, pathOf(folder, basename(file)));
      await migrate({ url, directory: folder });
    } finally {
      await rm(folder, { recursive: true });
    }
    for (const [table, by] of [
      ['facility', 'id'],
      ...['location', 'bay', 'booking'].map((name) => [name, 'facility_id']),
    ])
      await queryOnce(url, 'select create_distributed_table($1::regclass, $2)', [table, by]);
    await queryOnce(url, "insert into facility values ('old', 'Old', 'UTC')");
    const environment = { DATABASE_URL: url };
    expect(await runCommand('bookings', environment, 'migrate.ts')).toMatch(/migrations applied\n$/);
    const output = await runCommand('bookings', environment, 'distribute.ts');
    expect(output).toMatch(/^booking_change is distributed by facility_id\n/);
    expect(output).not.toMatch(/^booking is/m);
    expect(await runCommand('bookings', environment, 'recount.ts')).toMatch(/^0 counts were wrong/);
  }, 60_000);

  test('availability, holds, closures, the change feed and webhooks work on distributed tables', async () => {
    const instances = { writer: firstInstance.base, reader: secondInstance.base, token };
    await expectAvailabilityAndHolds(instances);
    await expectChanges(instances);
  }, 60_000);

  test('the change feed has every booking that was created under load, on both workers', async () => {
    const load = startBookingLoad();
    const reader = startFeedReader([firstInstance.base, secondInstance.base], token, 'fac-north');
    await waitForBookings(load, 200);
    await load.stop();
    await reader.stop();
    expect(reader.outOfOrder).toEqual([]);
    const { rows } = await database.query('bookings', "select id from booking where facility_id = 'fac-north'");
    const reported = [...reader.latest].filter(([, { isDeleted }]) => !isDeleted).map(([key]) => key);
    expect(new Set(reported)).toEqual(new Set(rows.map(({ id }) => `fac-north ${id}`)));
  }, 60_000);

  test('64 clients request one slot at the same time: one gets 201 and 63 get BOOK00002', async () => {
    for (let round = 0; round < 5; round += 1) {
      const slot = nextBooking();
      const responses = await Promise.all(
        Array.from({ length: 64 }, (_, client) =>
          book(client % 2 ? firstInstance.base : secondInstance.base, token, { ...slot, externalBookingId: `race-${round}-${client}` }),
        ),
      );
      expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(responses.filter(({ codes }) => codes.join() === 'BOOK00002')).toHaveLength(63);
    }
  }, 60_000);

  test('the rows of a facility move to another worker under load', async () => {
    const load = startBookingLoad();
    const stopReadsAndUpdates = startReadsAndUpdates();
    await waitForBookings(load, 50);
    const shard = "shardid = get_shard_id_for_distribution_column('booking', 'fac-north')";
    const from = (await database.query('bookings', `select nodeport from citus_shards where ${shard}`)).rows[0]
      .nodeport;
    const to = database.cluster.workers.map(({ port }) => port).find((port) => port !== from);
    const moving = await timed(() =>
      database.query(
        'bookings',
        `select citus_move_shard_placement(shardid, '127.0.0.1', $1, '127.0.0.1', $2, 'force_logical')
         from pg_dist_shard where ${shard}`,
        [from, to],
      ),
    );
    const during = load.acknowledged.size;
    await waitForBookings(load, 50);
    const otherStatuses = await stopReadsAndUpdates();
    await expectNoLostOrDoubleBookings(database, load);
    recordMeasurement('rows moved', { ...load.statuses(), longest: load.longest(), moving, during, otherStatuses });
    expect(await count('citus_shards', `${shard} and nodeport = ${to}`)).toBe(1);
  }, 120_000);

  test.each([0, 1])(
    'worker %i crashes under load: responses are 503 with Retry-After until it is back',
    async (index) => {
      const worker = database.cluster.workers[index];
      if (!worker) throw new Error('no such worker');
      const load = startBookingLoad();
      const stopReadsAndUpdates = startReadsAndUpdates();
      await waitForBookings(load, 50);
      await worker.crash('SIGQUIT');
      await eventually(async () => (load.statuses()[503] ?? 0) > 20);
      const without = { ...load.statuses() };
      await worker.start();
      const recovery = await timeUntil(async () => (await bookOnce(firstInstance.base, token)) === 201);
      await waitForBookings(load, 100);
      const otherStatuses = await stopReadsAndUpdates();
      await expectNoLostOrDoubleBookings(database, load);
      // The cluster finishes the two-phase commits that the crash interrupted a few seconds later.
      const settled = await timeUntil(
        async () => (await count('booking_reference')) === (await count('booking', 'external_booking_id is not null')),
      );
      recordMeasurement(`worker ${index} crashed`, {
        ...load.statuses(),
        longest: load.longest(),
        without,
        recovery,
        settled,
        otherStatuses,
      });
    },
    90_000,
  );
});

/** Creates 20 000 bookings of 20 facilities. */
const populate = `
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
