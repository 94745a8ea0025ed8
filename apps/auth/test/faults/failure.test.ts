// Tests that clients get an OAuth error without internal details when the server fails, and that the reason is logged.
import { useFixture } from '@bay-booking/testkit/fixture';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { basic, scopes, startAuthServer, statusAndBody } from '../auth-server.ts';
import { obtainAccessToken } from '../flows.ts';

const server = useFixture(() => startAuthServer());
let accessToken: string;
beforeAll(async () => {
  accessToken = await obtainAccessToken(server);
});

const userinfo = () =>
  fetch(`${server.origin}/connect/userinfo`, { headers: { Authorization: `Bearer ${accessToken}` } });
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

test.each(requests)('%s gets 503 with Retry-After while the database is unavailable', async (_title, send) => {
  expect((await send()).status).toBe(200);
  await server.disconnectDatabase();
  const response = await send();
  await server.reconnectDatabase();
  expect(response.headers.get('retry-after')).toBe('2');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(await statusAndBody(response)).toMatchObject({ status: 503, error: 'temporarily_unavailable' });
  const lines = server.log.map((line) => JSON.parse(line) as Record<string, unknown>);
  const requestId = response.headers.get('x-request-id');
  const ofRequest = lines.filter((line) => line.requestId === requestId && !('audit' in line));
  expect(ofRequest).toMatchObject([{ status: 503, cause: expect.stringMatching(/./) }]);
  expect(lines.filter(({ msg }) => msg === 'database unavailable').length).toBeLessThanOrEqual(1);
});

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
