// Does bookings grow beyond one server? A database in use is spread over a coordinator and two workers, its rows move between them, and a
// worker crashes: under load, nothing acknowledged is lost, nobody sees a 500. Needs a PostgreSQL with Citus (docs/operations/scale.md tells how to
// build it); where there is none this says that it is skipped. FAULT_REPORT=1 prints what is measured.
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
import { book, type Load, nextBooking, startLoad, waitForBookings } from './support/booking-load.ts';
import { type CitusDatabase, distribute, startCitusDatabase } from './support/citus-database.ts';
import { runCommand } from './support/commands.ts';
import { queryOnce } from './support/database-server.ts';
import type { Instance } from './support/instance.ts';
import {
  bookOnce,
  expectNoLostOrDoubleBookings,
  printMeasurements,
  recordMeasurement,
  startTestSystemOn,
  type TestSystem,
} from './support/test-system.ts';
import { eventually, timeUntil } from './support/wait.ts';

const programs = findCitus();
const migrations = pathOf(import.meta.dirname, '../apps/bookings/migrations');

if (!programs)
  process.stderr.write('Citus is not tried: no PostgreSQL of this machine has it (docs/operations/scale.md)\n');
(programs ? describe : describe.skip)('spread over a coordinator and two workers', () => {
  let database: CitusDatabase;
  let system: TestSystem<CitusDatabase>;
  let one: Instance;
  let two: Instance;
  let token: string;
  let load: Load | undefined;

  beforeAll(async () => {
    database = await startCitusDatabase(programs as string);
    system = await startTestSystemOn(database);
    ({ one, two, token } = await system.startServices());
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
    load = startLoad([one.base, two.base], token);
    return load;
  };
  const count = async (table: string, where = 'true'): Promise<number> =>
    (await database.query('bookings', `select count(*)::int as count from ${table} where ${where}`)).rows[0].count;
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const start = performance.now();
    await work();
    return Math.round(performance.now() - start);
  };
  /** Lists, and changes of a booking of their own, beside the load. */
  const startOthers = () => {
    const statuses: Record<number, number> = {};
    let stopping = false;
    const ask = async (path: string, method = 'GET', body?: object) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
      const init = {
        method,
        headers,
        signal: AbortSignal.timeout(20_000),
        ...(body && { body: JSON.stringify(body) }),
      };
      const answer = await fetch(one.base + path, init).catch(() => undefined);
      const status = answer?.status ?? 0;
      statuses[status] = (statuses[status] ?? 0) + 1;
      return (await answer?.json().catch(() => undefined)) as { items?: { id: string }[] } | undefined;
    };
    const work = async () => {
      while (!stopping) {
        const found = await ask('/api/bookings?userAlias=load&pageSize=3');
        await ask('/api/bays/bay-n1-01/upcoming-bookings');
        const { externalBookingId: _, ...change } = nextBooking();
        if (found?.items?.[0]) await ask(`/api/bookings/${found.items[0].id}`, 'PUT', change);
      }
    };
    const done = work();
    return async () => {
      stopping = true;
      await done;
      expect(Object.keys(statuses).filter((status) => !['200', '503'].includes(status))).toEqual([]);
      return statuses;
    };
  };

  test('a database in use is spread: the command may die and be run again, and changes nothing when run once more', async () => {
    await database.query('bookings', populate);
    const bookings = await count('booking', "user_alias = 'old'");
    expect(bookings).toBe(20_000);
    expect(await distribute(database)).toMatch(/Citus is not installed/);
    const load = startBookingLoad();
    const stopOthers = startOthers();
    await waitForBookings(load, 50);
    await database.cluster.join('bookings');
    const holder = new pg.Client({ connectionString: database.ownerUrlOf('bookings') });
    await holder.connect();
    // The command waits for this lock after it has spread the tables of facilities, and there it dies.
    await holder.query('begin; lock table booking_reference in share mode');
    const dying = spawn(process.execPath, ['src/commands/distribute.ts'], {
      cwd: pathOf(import.meta.dirname, '../apps/bookings'),
      env: { PATH: process.env.PATH, DATABASE_URL: database.ownerUrlOf('bookings') },
      stdio: 'ignore',
    });
    const half = await timeUntil(async () => (await count('pg_dist_partition')) > 0);
    dying.kill('SIGKILL');
    await once(dying, 'exit');
    await holder.end();
    let printed = '';
    const rest = await timed(async () => {
      printed = await distribute(database);
    });
    expect(printed).toMatch(
      /^booking_reference is distributed by external_booking_id\nidempotency_key is distributed by id\n$/,
    );
    expect(await distribute(database)).toBe('all tables were distributed already\n');
    await waitForBookings(load, 50);
    expect(await count('booking', "user_alias = 'old'")).toBe(bookings);
    expect(await count('booking_reference', "external_booking_id like 'old-%'")).toBe(bookings);
    const others = await stopOthers();
    await expectNoLostOrDoubleBookings(database, load);
    recordMeasurement('spread', { ...load.statuses(), longest: load.longest(), half, rest, others });
    expect(await runCommand('bookings', { DATABASE_URL: database.ownerUrlOf('bookings') }, 'migrate.ts')).toMatch(
      /up to date/,
    );
  }, 120_000);

  test('rows lie on both workers, where the limits of the role hold too', async () => {
    const { rows } = await database.query('bookings', 'select distinct nodeport from citus_shards order by 1');
    expect(rows.map(({ nodeport }) => nodeport)).toEqual(
      database.cluster.workers.map(({ port }) => port).toSorted((a, b) => a - b),
    );
    const client = new pg.Client({ connectionString: database.urlOf('bookings') });
    await client.connect();
    try {
      const limits = await client.query("select result from run_command_on_workers('show lock_timeout')");
      expect(limits.rows).toEqual([{ result: '2s' }, { result: '2s' }]);
    } finally {
      await client.end();
    }
  });

  test('migrations that came later run on tables that are spread already, and the command spreads what they add', async () => {
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
    const spread = await runCommand('bookings', environment, 'distribute.ts');
    expect(spread).toMatch(/^booking_change is distributed by facility_id\n/);
    expect(spread).not.toMatch(/^booking is/m);
    expect(await runCommand('bookings', environment, 'recount.ts')).toMatch(/^0 counts were wrong/);
  }, 60_000);

  test('64 clients racing for one slot, 5 rounds: one 201 and 63 BOOK00002 each', async () => {
    for (let round = 0; round < 5; round += 1) {
      const slot = nextBooking();
      const answers = await Promise.all(
        Array.from({ length: 64 }, (_, client) =>
          book(client % 2 ? one.base : two.base, token, { ...slot, externalBookingId: `race-${round}-${client}` }),
        ),
      );
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(answers.filter(({ codes }) => codes.join() === 'BOOK00002')).toHaveLength(63);
    }
  }, 60_000);

  test('the rows of a facility move to another worker under load', async () => {
    const load = startBookingLoad();
    const stopOthers = startOthers();
    await waitForBookings(load, 50);
    const place = "shardid = get_shard_id_for_distribution_column('booking', 'fac-north')";
    const from = (await database.query('bookings', `select nodeport from citus_shards where ${place}`)).rows[0]
      .nodeport;
    const to = database.cluster.workers.map(({ port }) => port).find((port) => port !== from);
    const moving = await timed(() =>
      database.query(
        'bookings',
        `select citus_move_shard_placement(shardid, '127.0.0.1', $1, '127.0.0.1', $2, 'force_logical')
         from pg_dist_shard where ${place}`,
        [from, to],
      ),
    );
    const during = load.acknowledged.size;
    await waitForBookings(load, 50);
    const others = await stopOthers();
    await expectNoLostOrDoubleBookings(database, load);
    recordMeasurement('rows moved', { ...load.statuses(), longest: load.longest(), moving, during, others });
    expect(await count('citus_shards', `${place} and nodeport = ${to}`)).toBe(1);
  }, 120_000);

  test.each([0, 1])(
    'worker %i crashes and comes back under load: 503 with Retry-After meanwhile',
    async (index) => {
      const worker = database.cluster.workers[index];
      if (!worker) throw new Error('no such worker');
      const load = startBookingLoad();
      const stopOthers = startOthers();
      await waitForBookings(load, 50);
      await worker.crash('SIGQUIT');
      await eventually(async () => (load.statuses()[503] ?? 0) > 20);
      const without = { ...load.statuses() };
      await worker.start();
      const recovery = await timeUntil(async () => (await bookOnce(one.base, token)) === 201);
      await waitForBookings(load, 100);
      const others = await stopOthers();
      await expectNoLostOrDoubleBookings(database, load);
      // What the crash caught between the two phases of a commit is decided by the cluster itself, a little later.
      const settled = await timeUntil(
        async () => (await count('booking_reference')) === (await count('booking', 'external_booking_id is not null')),
      );
      recordMeasurement(`worker ${index} crashed`, {
        ...load.statuses(),
        longest: load.longest(),
        without,
        recovery,
        settled,
        others,
      });
    },
    90_000,
  );
});

/** 20 000 bookings of 20 facilities, none beside another. */
const populate = `
  insert into facility select 'old-' || f, 'Old ' || f, 'UTC' from generate_series(1, 20) f;
  insert into location select 'old-' || f, 'old-loc-' || f, 'Old' from generate_series(1, 20) f;
  insert into bay select 'old-' || f, 'old-bay-' || f, 'old-loc-' || f, 'Old', '', 'RangeBay', true from generate_series(1, 20) f;
  insert into booking (facility_id, id, location_id, bay_id, external_booking_id, user_alias, start_date, end_date, created_at, last_updated_at)
  select 'old-' || f, gen_random_uuid(), 'old-loc-' || f, 'old-bay-' || f, 'old-' || f || '-' || n, 'old',
    timestamptz '2030-01-01Z' + n * interval '1 hour', timestamptz '2030-01-01Z' + (n + 1) * interval '1 hour', now(), now()
  from generate_series(1, 20) f, generate_series(1, 1000) n;
  insert into booking_reference select external_booking_id, facility_id, id from booking where user_alias = 'old'`;
