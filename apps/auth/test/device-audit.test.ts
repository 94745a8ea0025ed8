// Tests the audit events and metrics of device sign-in (docs/behaviour.md, "Health, metrics and logs").
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { startAuthServer } from './auth-server.ts';
import { allow, createDevice, deny, deviceCodeGrant, screenScope } from './device-fixture.ts';
import { openBrowser, player } from './flows.ts';

const server = useFixture(() => startAuthServer());
const device = createDevice(server);

interface Event {
  readonly kind: string;
  readonly account: string | null;
  readonly client: string | null;
  readonly detail: Record<string, unknown>;
}

/** Returns the audit events that `work` causes, except the events of a sign-in. */
async function eventsOf(work: () => Promise<unknown>): Promise<readonly Event[]> {
  await server.auth.waitUntilIdle();
  const { rows } = await server.db.raw('select coalesce(max(id), 0) as last from audit_event');
  await work();
  await server.auth.waitUntilIdle();
  const found = await server.db.raw(
    `select kind, account_id as account, client_id as client, detail from audit_event
      where id > ? and kind not like 'sign-in.%' order by id`,
    [rows[0].last],
  );
  return found.rows;
}

const metrics = async () => (await fetch(`${server.origin}/metrics`)).text();

test('the events of a connected device are its request, its consent, its decision and its tokens', async () => {
  const events = await eventsOf(async () => {
    const codes = await device.start();
    await device.poll(codes);
    await device.poll(codes);
    await device.connect(codes);
    // The second poll came too early, so the interval has grown from 5 s to 10 s.
    await device.passTime(10);
    await device.poll(codes);
  });
  expect(events.map(({ kind }) => kind)).toEqual([
    'device-authorization.started',
    'consent.given',
    'device.connected',
    'token.issued',
  ]);
  const [started, , connected, issued] = events;
  expect(started).toMatchObject({ client: 'demo-screen', account: null, detail: { scope: screenScope } });
  expect(connected).toMatchObject({ client: 'demo-screen', account: 'acc-player', detail: { scope: screenScope } });
  expect(issued).toMatchObject({ account: 'acc-player', detail: { grantType: deviceCodeGrant, scope: screenScope } });
  expect(await metrics()).toMatch(
    /auth_tokens_total\{[^}]*grant_type="urn:ietf:params:oauth:grant-type:device_code",outcome="issued"[^}]*\} 1/,
  );
});

test('polls before the decision of the user are counted in the metrics, and are not in the audit trail', async () => {
  const events = await eventsOf(async () => {
    const codes = await device.start();
    for (let poll = 0; poll < 3; poll++) await device.poll(codes);
  });
  expect(events.map(({ kind }) => kind)).toEqual(['device-authorization.started']);
  const text = await metrics();
  for (const error of ['authorization_pending', 'slow_down']) {
    expect(text).toMatch(new RegExp(`http_problems_total\\{[^}]*route="/connect/token"[^}]*code="${error}"`));
  }
});

test('the audit trail contains denied devices, a denied consent, a wrong code and a rejected request', async () => {
  const deniedOnPage = await eventsOf(async () => {
    const codes = await device.start();
    const browser = openBrowser(server);
    await browser.send(await device.enter(codes.user_code, browser), {}, deny);
    await device.poll(codes);
  });
  expect(deniedOnPage.map(({ kind }) => kind)).toEqual([
    'device-authorization.started',
    'device.denied',
    'token.refused',
  ]);
  // An earlier test has given the consent.
  await server.db('consent').del();
  const deniedConsent = await eventsOf(async () => {
    const codes = await device.start();
    const browser = openBrowser(server);
    const signIn = await browser.send(await device.enter(codes.user_code, browser), {}, allow);
    await browser.send(await browser.send(signIn, player), {}, deny);
  });
  expect(deniedConsent.map(({ kind }) => kind)).toEqual([
    'device-authorization.started',
    'consent.denied',
    'device.denied',
  ]);
  expect(deniedConsent[2]).toMatchObject({ client: 'demo-screen', account: 'acc-player' });
  // No device has this code.
  const wrongCode = await eventsOf(() => device.enter('BCDF-GHJK'));
  expect(wrongCode.map(({ kind }) => kind)).toEqual(['device-code.refused']);
  const rejectedRequest = await eventsOf(() =>
    server.post('/connect/deviceauthorization', { client_id: 'demo-screen', scope: 'unknown' }),
  );
  expect(rejectedRequest).toMatchObject([{ kind: 'device-authorization.refused', detail: { error: 'invalid_scope' } }]);
});
