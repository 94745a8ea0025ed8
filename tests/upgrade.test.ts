// Tests upgrades of bookings under load: from this release to a simulated next release that only adds to the schema,
// and from the previous release to this release. The migrations run while the old instances serve requests.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { queryOnce } from '@bay-booking/testkit/database';
import { useFixture } from '@bay-booking/testkit/fixture';
import { eventually } from '@bay-booking/testkit/wait';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { callApi } from './support/api.ts';
import { type Load, startLoad, waitForBookings } from './support/booking-load.ts';
import { type BookingWriters, startBookingWriters } from './support/booking-writers.ts';
import { runCommand } from './support/commands.ts';
import { startFeedReader } from './support/feed-reader.ts';
import type { Instance } from './support/instance.ts';
import { applyNextRelease } from './support/next-release.ts';
import { checkOutPreviousRelease, type PreviousRelease } from './support/previous-release.ts';
import { getToken, startTestSystem, stopLoadAndExpectNoLostOrDoubleBookings } from './support/test-system.ts';
import {
  type BookingReceiver,
  type LatestEvent,
  startBookingReceiver,
  webhookEnvironment,
} from './support/webhook-receiver.ts';

const system = useFixture(startTestSystem);
let load: Load;
let writers: BookingWriters | undefined;
const receivers: BookingReceiver[] = [];
let token: string;
beforeAll(async () => {
  token = await getToken((await system.startAuth()).base);
});
afterEach(async () => {
  await load?.stop();
  await writers?.stop();
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});

/**
 * Replaces the old instances one by one. `addresses` are the addresses to which the load sends requests. Each new
 * instance gets requests before its old instance stops. `waitForBookings` waits until the load has created a number of
 * further bookings. This number only has to be large enough that every instance gets several requests.
 */
async function replaceInstances(
  oldInstances: readonly Instance[],
  addresses: string[],
  startInstance: () => Promise<Instance>,
): Promise<void> {
  for (const oldInstance of oldInstances) {
    expect(await oldInstance.isReady()).toBe(true);
    addresses.push((await startInstance()).base);
    addresses.splice(addresses.indexOf(oldInstance.base), 1);
    // The old instance gets no further requests. It must complete the requests that it has already got.
    await waitForBookings(load, 30);
    expect(await oldInstance.stop('SIGTERM')).toBe(0);
  }
  await waitForBookings(load, 50);
}

test('no request fails while a migration runs and every instance is replaced', async () => {
  const oldInstances = await Promise.all([system.startBookings(), system.startBookings()]);
  const addresses = oldInstances.map(({ base }) => base);
  // Without retries, `load.statuses()` counts each failed request, and no booking is sent twice.
  load = startLoad(addresses, token, { retry: false });
  await waitForBookings(load, 50);

  const url = system.database.ownerUrlOf('bookings');
  // If `migrate` is called twice at the same time, only one of the calls applies the new migration.
  const applied = await Promise.all([1, 2].map(() => applyNextRelease(url)));
  expect(applied.flat()).toEqual([expect.any(Number)]);
  await waitForBookings(load, 50);
  await replaceInstances(oldInstances, addresses, system.startBookings);
  await stopLoadAndExpectNoLostOrDoubleBookings(system.database, load);
  expect(Object.keys(load.statuses())).toEqual(['201']);
});

const previous: PreviousRelease | undefined = await checkOutPreviousRelease();
if (!previous)
  process.stderr.write('The upgrade from the previous release is skipped: git has no release with this schema\n');
afterAll(() => previous?.remove());

(previous ? test : test.skip)(
  'an upgrade from the previous release loses no booking, no change number, no event and no count',
  async () => {
    // Without a previous release, this test is skipped.
    const release = previous?.folder as string;
    const { database } = system;
    await database.query('postgres', 'create database previous');
    // Both releases use a new database, which the previous release migrates. The database has the roles of the test
    // system.
    const inPrevious = (url: string) => ({ DATABASE_URL: url.replace(/\/bookings$/, '/previous') });
    const owner = inPrevious(database.ownerUrlOf('bookings'));
    const environment = { ...inPrevious(database.urlOf('bookings', system.proxy.port)), ...webhookEnvironment };
    // The owner's migrations create the tables, and the services use them as the role `bookings_service`.
    await queryOnce(
      owner.DATABASE_URL,
      'alter default privileges grant select, insert, update, delete on tables to bookings_service',
    );
    // The last three parameters are the standard input and the arguments of the command, and the folder of the release.
    await runCommand('bookings', owner, 'migrate.ts', '', [], release);
    const demo = await readFile(join(release, 'packages/local/demo/bookings.json'), 'utf8');
    await runCommand('bookings', owner, 'import.ts', demo, ['-'], release);
    const oldInstances = await Promise.all([1, 2].map(() => system.startBookings(environment, { release })));
    const addresses = oldInstances.map(({ base }) => base);
    const call = <Body>(method: string, path: string, body?: object) =>
      callApi<Body>(addresses[0] as string, token, method, path, body);

    const receiver = await startBookingReceiver();
    receivers.push(receiver);
    const webhook = await call<{ id: string; secret: string }>('POST', '/api/webhooks', { url: receiver.url });
    receiver.setSecret(webhook.body.secret);
    writers = startBookingWriters(addresses, token, 6);
    const { writes } = writers;
    const reader = startFeedReader(addresses, token, 'fac-north');
    const waitForWrites = (count: number) => {
      const target = writes() + count;
      return eventually(async () => writes() >= target);
    };
    await waitForWrites(60);
    // The paused webhook gets its events after the upgrade.
    const setWebhook = (state: string) => call('PUT', `/api/webhooks/${webhook.body.id}`, { url: receiver.url, state });
    expect((await setWebhook('paused')).status).toBe(200);
    await waitForWrites(40);

    const output = await runCommand('bookings', owner, 'migrate.ts');
    expect(output).toMatch(/migrations applied\n$|up to date\n$/);
    for (const oldInstance of oldInstances) {
      addresses.push((await system.startBookings(environment)).base);
      addresses.splice(addresses.indexOf(oldInstance.base), 1);
      expect(await oldInstance.stop('SIGTERM')).toBe(0);
    }
    await waitForWrites(60);
    expect((await setWebhook('active')).status).toBe(200);
    await waitForWrites(40);
    await writers.stop();
    // `stop` reads the feed to its end.
    await reader.stop();
    expect(writers.unexpectedStatuses).toEqual([]);
    expect([reader.outOfOrder, reader.unexpectedStatuses]).toEqual([[], []]);

    const { rows: bookings } = await queryOnce(
      owner.DATABASE_URL,
      "select facility_id || ' ' || id as key, user_alias as alias from booking where facility_id = 'fac-north'",
    );
    const expected = new Map(bookings.map(({ key, alias }) => [key, alias]));
    const livingBookings = (latest: ReadonlyMap<string, LatestEvent>) =>
      new Map(
        [...latest].filter(([, event]) => !event.isDeleted).map(([key, event]) => [key, event.booking.userAlias]),
      );
    expect(livingBookings(reader.latest)).toEqual(expected);
    await eventually(async () => {
      expect(livingBookings(receiver.latest)).toEqual(expected);
      return true;
    });
    // A booking never comes back to a facility in this test, so it is created there once.
    expect([...receiver.created].filter(([, numbers]) => numbers.size > 1)).toEqual([]);
    const wereCreated = [...expected.keys()].filter((key) => receiver.created.has(key));
    expect(wereCreated).toEqual([...expected.keys()]);
    const { body } = await call<{ total: number }>('GET', '/api/bookings?pageSize=1');
    expect(body.total).toBe(expected.size);
    expect(await runCommand('bookings', owner, 'recount.ts')).toBe('0 changes added to the log\n');
  },
);
