// Tests that a device code stays usable if the database is unavailable for a while (docs/behaviour-auth.md, "Device
// sign-in").
import { useFixture } from '@bay-booking/testkit/fixture';
import { beforeEach, expect, test } from '@jest/globals';
import { startAuthServer } from '../auth-server.ts';
import { allow, createDevice, screen, screenScope } from '../device-fixture.ts';
import { openBrowser, player } from '../flows.ts';

const server = useFixture(() => startAuthServer());
const device = createDevice(server);
// A remembered consent has no page.
beforeEach(() => server.db('consent').del());

/** Runs `work` while the server has no connection to its database. */
async function whileDisconnected<T>(work: () => Promise<T>): Promise<T> {
  await server.disconnectDatabase();
  try {
    return await work();
  } finally {
    await server.reconnectDatabase();
  }
}

test('without a database, a poll and a request for codes get 503, and the code stays usable', async () => {
  const codes = await device.start();
  const unavailable = { status: 503, error: 'temporarily_unavailable' };
  expect(await whileDisconnected(() => device.poll(codes))).toMatchObject(unavailable);
  const request = () => server.post('/connect/deviceauthorization', { ...screen, scope: screenScope });
  const response = await whileDisconnected(request);
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('2');
  expect(await device.poll(codes)).toMatchObject({ error: 'authorization_pending' });
});

test('after a poll that fails, an approved code can still be exchanged', async () => {
  const codes = await device.start();
  await device.connect(codes);
  expect(await whileDisconnected(() => device.poll(codes))).toMatchObject({ status: 503 });
  expect(await device.poll(codes)).toMatchObject({ status: 200 });
});

test('without a database, the pages return 503, and the sign-in can continue afterwards', async () => {
  const codes = await device.start();
  const browser = openBrowser(server);
  const page = await browser.open(`${server.origin}/device`);
  const failed = await whileDisconnected(() => browser.send(page, { user_code: codes.user_code }));
  expect(failed.status).toBe(503);
  const entered = await browser.send(page, { user_code: codes.user_code });
  expect((await whileDisconnected(() => browser.send(entered, {}, allow))).status).toBe(503);
  const consent = await browser.send(await browser.send(entered, {}, allow), player);
  expect((await whileDisconnected(() => browser.send(consent, {}, allow))).status).toBe(503);
  expect(await device.poll(codes)).toMatchObject({ error: 'authorization_pending' });
  expect((await browser.send(consent, {}, allow)).title).toMatch(/^Demo screen is connected/);
  // A device must wait for 5 s between two polls. A poll that failed with 503 does not count.
  await device.passTime(5);
  expect(await device.poll(codes)).toMatchObject({ status: 200 });
});

test('if the decision cannot be stored, the page returns 500, and the user can enter the code again', async () => {
  const codes = await device.start();
  const browser = openBrowser(server);
  const consent = await browser.send(
    await browser.send(await device.enter(codes.user_code, browser), {}, allow),
    player,
  );
  // With this constraint, the database rejects the decision. With `not valid`, existing rows are not checked.
  await server.db.raw(`alter table oidc_artifact add constraint not_decided check (account_id is null or
    model <> 'DeviceCode') not valid`);
  const failed = await browser.send(consent, {}, allow);
  await server.db.raw('alter table oidc_artifact drop constraint not_decided');
  expect(failed.status).toBe(500);
  expect(failed.html).toContain('Something went wrong on our side.');
  expect(await device.poll(codes)).toMatchObject({ error: 'authorization_pending' });
  expect((await device.connect(codes)).title).toMatch(/^Demo screen is connected/);
});
