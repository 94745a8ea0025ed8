// Upgrades bookings under load: applies the migration of the next release while the old instances serve requests, then
// replaces the instances one by one. No request fails.
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@bay-booking/service/database/migrate';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startLoad, waitForBookings } from './support/booking-load.ts';
import { expectNoLostOrDoubleBookings, getToken, startTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
let nextRelease: string;
beforeAll(async () => {
  system = await startTestSystem();
  nextRelease = await mkdtemp(join(tmpdir(), 'bay-booking-upgrade-'));
}, 90_000);
afterAll(async () => {
  await system?.stop();
  await rm(nextRelease, { recursive: true, force: true });
}, 60_000);

test('no request fails during an expanding migration and the replacement of every instance', async () => {
  const auth = await system.startAuth();
  const old = await Promise.all([system.startBookings(), system.startBookings()]);
  const balanced = old.map(({ base }) => base);
  const load = startLoad(balanced, await getToken(auth.base), { retry: false });
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
  for (const instance of old) expect(await instance.ready()).toBe(true);

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
}, 60_000);
