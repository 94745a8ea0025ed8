// Tests that clients get an OAuth error without internal details when the server fails, that the reason is logged, and
// that a device code stays usable (docs/behaviour-auth.md, "Device sign-in").
import { useFixture } from '@bay-booking/testkit/fixture';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { basic, scopes, startAuthServer, statusAndBody } from '../auth-server.ts';
import { createDevice, screen, screenScope } from '../device-fixture.ts';
import { allow, obtainAccessToken, openBrowser, player } from '../flows.ts';

const server = useFixture(() => startAuthServer());
let accessToken: string;
beforeAll(async () => {
  accessToken = await obtainAccessToken(server);
});

const userinfo = () => server.userinfo(accessToken);
const form = { grant_type: 'client_credentials', scope: scopes.bookings };
const patHeaders = basic('demo-pat-north', 'demo-pat-north-secret');
/** Requests that different parts of the server handle. oidc-provider handles a token request with `facility`. */
const requests: [string, () => Promise<Response>][] = [
  ['a plain token request', () => server.post('/connect/token', form, patHeaders)],
  [
    'a token request that oidc-provider handles',
    () => server.post('/connect/token', { ...form, facility: 'fac-north' }, patHeaders),
  ],
  ['a userinfo request', userinfo],
];

describe('an instance that starts while the database is unavailable', () => {
  test.each([
    ['a page', '/sign-in', {}],
    ['the portal', '/portal', {}],
    ['userinfo', '/connect/userinfo', { Authorization: 'Bearer a.b.c' }],
    ['an endpoint of oidc-provider', '/connect/jwks', {}],
  ])('the instance returns 503 for %s, because it has no signing keys', async (_title, path, headers) => {
    await server.disconnectDatabase();
    const { origin, auth } = await server.startInstance();
    const send = () => fetch(origin + path, { redirect: 'manual', headers });
    const response = await send();
    await server.reconnectDatabase();
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    await auth.refreshKeys();
    expect((await send()).status).toBeLessThan(500);
  });
});

// Each of these requests reads the client with its secrets from the table `client_secret`. Without the table
// `schema_migration`, the server concludes that migrations are missing.
test.each(requests)('%s gets 503 with Retry-After while migrations are missing', async (_title, send) => {
  await server.db.raw('alter table client_secret rename to client_secret_renamed');
  await server.db.raw('alter table schema_migration rename to schema_migration_renamed');
  const response = await send();
  await server.db.raw('alter table client_secret_renamed rename to client_secret');
  await server.db.raw('alter table schema_migration_renamed rename to schema_migration');
  expect(response.headers.get('retry-after')).toBe('2');
  expect(await statusAndBody(response)).toMatchObject({ status: 503, error: 'temporarily_unavailable' });
});

test.each(requests)(
  '%s gets 500 server_error if a table is missing after all migrations, and only the log contains the reason',
  async (_title, send) => {
    await server.db.raw('alter table client_secret rename to client_secret_renamed');
    const linesBefore = server.log.length;
    const response = await send();
    await server.db.raw('alter table client_secret_renamed rename to client_secret');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await statusAndBody(response)).toEqual({
      status: 500,
      error: 'server_error',
      error_description: expect.not.stringContaining('client_secret'),
    });
    const logged = server.log.slice(linesBefore).map((line) => JSON.parse(line) as object);
    expect(logged).toContainEqual(
      expect.objectContaining({
        level: 'error',
        msg: 'request failed',
        err: expect.objectContaining({ errorCode: '42P01' /* undefined_table */ }),
      }),
    );
  },
);

describe('a device code stays usable if the database is unavailable for a while', () => {
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

  test('without a database, the pages return 503, and the sign-in can continue afterwards', async () => {
    const codes = await device.start();
    const browser = openBrowser(server);
    const page = await browser.open('/device');
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
    const { codes, browser, page } = await device.decide(allow);
    const consent = await browser.send(page, player);
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
});
