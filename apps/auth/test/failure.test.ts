// Tests that clients get an OAuth error without internal details when the server fails, and that the reason is logged.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AuthServer, basic, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { authorize } from './flows.ts';

let server: AuthServer;
let token: string;
beforeAll(async () => {
  server = await startAuthServer();
  const request = { response_type: 'id_token token', scope: `openid ${scopes.play}`, nonce: 'n' };
  const response = await authorize(server, {
    ...request,
    client_id: 'demo-spa',
    redirect_uri: 'http://localhost:4010/spa',
  });
  token = String(response.access_token);
});
afterAll(async () => {
  await server.close();
});

const userinfo = () => fetch(`${server.origin}/connect/userinfo`, { headers: { Authorization: `Bearer ${token}` } });
const plain = { grant_type: 'client_credentials', scope: scopes.bookings };
const asPat = basic('demo-pat-north', 'demo-pat-north-secret');
const requests: [string, () => Promise<Response>][] = [
  ['a plain token request', () => server.post('/connect/token', plain, asPat)],
  [
    'a token request that the library handles',
    () => server.post('/connect/token', { ...plain, facility: 'fac-north' }, asPat),
  ],
  ['userinfo', userinfo],
];

test.each(requests)('%s, while the database is unavailable: 503 with Retry-After', async (_title, send) => {
  expect((await send()).status).toBe(200);
  await server.disconnectDatabase();
  const response = await send();
  await server.reconnectDatabase();
  expect(response.headers.get('retry-after')).toBe('2');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(await statusAndBody(response)).toMatchObject({ status: 503, error: 'temporarily_unavailable' });
});

describe('an instance that starts while the database is unavailable has no signing keys and returns 503', () => {
  test.each([
    ['a page', '/sign-in', {}],
    ['the portal', '/portal', {}],
    ['userinfo', '/connect/userinfo', { Authorization: 'Bearer a.b.c' }],
    ['an endpoint of the library', '/connect/jwks', {}],
  ])('for %s', async (_title, path, headers) => {
    await server.disconnectDatabase();
    const { origin, auth } = await server.startInstance();
    const send = () => fetch(origin + path, { redirect: 'manual', headers });
    const early = await send();
    await server.reconnectDatabase();
    expect(early.status).toBe(503);
    expect(early.headers.get('retry-after')).toMatch(/^\d+$/);
    await auth.refreshKeys();
    expect((await send()).status).toBeLessThan(500);
  });
});

test.each(requests)(
  '%s, while migrations are missing: 503 temporarily_unavailable with Retry-After',
  async (_title, send) => {
    await server.db.raw('alter table client_secret rename to client_secret_renamed');
    await server.db.raw('alter table schema_migration rename to schema_migration_renamed');
    const response = await send();
    await server.db.raw('alter table client_secret_renamed rename to client_secret');
    await server.db.raw('alter table schema_migration_renamed rename to schema_migration');
    expect(response.headers.get('retry-after')).toBe('2');
    expect(await statusAndBody(response)).toMatchObject({ status: 503, error: 'temporarily_unavailable' });
  },
);

test.each(requests)(
  '%s, while a table is missing after all migrations: 500 server_error, with the reason only in the log',
  async (_title, send) => {
    await server.db.raw('alter table client_secret rename to client_secret_gone');
    const lines = server.log.length;
    const response = await send();
    await server.db.raw('alter table client_secret_gone rename to client_secret');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await statusAndBody(response)).toEqual({
      status: 500,
      error: 'server_error',
      error_description: expect.not.stringContaining('client_secret'),
    });
    const logged = server.log.slice(lines).map((line) => JSON.parse(line) as object);
    expect(logged).toContainEqual(
      expect.objectContaining({
        level: 'error',
        msg: 'request failed',
        err: expect.objectContaining({ errorCode: '42P01' }),
      }),
    );
  },
);
