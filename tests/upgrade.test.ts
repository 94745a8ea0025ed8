// Tests upgrades of bookings under load: from this release to a simulated next release, and from the previous release
// to this one. The migrations run while the old instances serve requests. Then the instances are replaced one by one.
// No request may fail.
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@bay-booking/service/database/migrate';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type Load, startLoad, waitForBookings } from './support/booking-load.ts';
import { runCommand } from './support/commands.ts';
import { queryOnce } from './support/database-server.ts';
import { startFeedReader } from './support/feed-reader.ts';
import { checkOutPreviousRelease, type PreviousRelease } from './support/previous-release.ts';
import { expectNoLostOrDoubleBookings, getToken, startTestSystem, type TestSystem } from './support/test-system.ts';

const demoPath = 'packages/local/demo/bookings.json';

let system: TestSystem;
let token: string;
let nextRelease: string;
let load: Load;
beforeAll(async () => {
  system = await startTestSystem();
  token = await getToken((await system.startAuth()).base);
  nextRelease = await mkdtemp(join(tmpdir(), 'bay-booking-upgrade-'));
}, 90_000);
afterEach(() => load?.stop());
afterAll(async () => {
  await system?.stop();
  await rm(nextRelease, { recursive: true, force: true });
}, 60_000);

test('no request fails during an expanding migration and the replacement of every instance', async () => {
  const old = await Promise.all([system.startBookings(), system.startBookings()]);
  const balanced = old.map(({ base }) => base);
  load = startLoad(balanced, token, { retry: false });
  await waitForBookings(load, 50);

  await cp(join(import.meta.dirname, '../apps/bookings/migrations'), nextRelease, { recursive: true });
  const number = String((await readdir(nextRelease)).length + 1).padStart(4, '0');
  await writeFile(
    join(nextRelease, `${number}_expand_with_a_note.sql`),
    'alter table booking add column note text; create table note (id int primary key);',
  );
  const url = system.database.ownerUrlOf('bookings');
  const applied = await Promise.all([1, 2].map(() => migrate({ url, directory: nextRelease })));
  expect(applied.flat()).toEqual([Number(number)]);
  await waitForBookings(load, 50);
  for (const instance of old) expect(await instance.isReady()).toBe(true);

  for (const instance of old) {
    balanced.push((await system.startBookings()).base);
    balanced.splice(balanced.indexOf(instance.base), 1);
    // Requests that were sent to the old instance may still be in progress when it stops.
    await waitForBookings(load, 30);
    expect(await instance.stop('SIGTERM')).toBe(0);
  }
  await waitForBookings(load, 50);
  await expectNoLostOrDoubleBookings(system.database, load);
  expect(Object.keys(load.statuses())).toEqual(['201']);
}, 120_000);

const previous: PreviousRelease | undefined = await checkOutPreviousRelease();
if (!previous) process.stderr.write('The upgrade from the previous release is skipped: this clone has no history\n');
afterAll(() => previous?.remove());

(previous ? test : test.skip)(
  'no request fails and no booking is lost during an upgrade from the previous release',
  async () => {
    const release = previous?.folder as string;
    const { database } = system;
    await database.query('postgres', 'create database previous');
    const inPrevious = (url: string) => ({ DATABASE_URL: url.replace(/\/bookings$/, '/previous') });
    const owner = inPrevious(database.ownerUrlOf('bookings'));
    const environment = inPrevious(database.urlOf('bookings', system.proxy.port));
    await queryOnce(
      owner.DATABASE_URL,
      'alter default privileges grant select, insert, update, delete on tables to bookings_service',
    );
    await runCommand('bookings', owner, 'migrate.ts', '', [], release);
    await runCommand('bookings', owner, 'import.ts', await readFile(join(release, demoPath), 'utf8'), ['-'], release);
    const old = await Promise.all([1, 2].map(() => system.startBookings(environment, { release })));
    const balanced = old.map(({ base }) => base);
    load = startLoad(balanced, token, { retry: false });
    await waitForBookings(load, 100);

    const output = await runCommand('bookings', owner, 'migrate.ts');
    expect(output).toMatch(/migrations applied\n$/);
    await waitForBookings(load, 50);
    for (const instance of old) {
      expect(await instance.isReady()).toBe(true);
      balanced.push((await system.startBookings(environment)).base);
      balanced.splice(balanced.indexOf(instance.base), 1);
      await waitForBookings(load, 30);
      expect(await instance.stop('SIGTERM')).toBe(0);
    }
    await waitForBookings(load, 50);
    await load.stop();
    expect(Object.keys(load.statuses())).toEqual(['201']);
    const { rows } = await queryOnce(owner.DATABASE_URL, 'select external_booking_id as id from booking');
    expect(new Set(rows.map(({ id }) => id))).toEqual(load.acknowledged);

    // An old instance does not give numbers to the changes that it processes, so the feed does not contain them. The
    // command `recount` adds these changes to the feed.
    await runCommand('bookings', owner, 'recount.ts');
    const reader = startFeedReader(balanced, token, 'fac-north');
    await reader.stop();
    const reported = [...reader.latest.values()].map(({ booking }) => booking.externalBookingId);
    expect(new Set(reported)).toEqual(load.acknowledged);
  },
  120_000,
);
