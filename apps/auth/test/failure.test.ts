// What does a client see of a fault of our own? An OAuth error without inner detail, while the log has the reason.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AuthServer, basic, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { authorize } from './flows.ts';

let server: AuthServer;
let token: string;
beforeAll(async () => {
  server = await startAuthServer();
  const asked = { response_type: 'id_token token', scope: `openid ${scopes.play}`, nonce: 'n' };
  const found = await authorize(server, { ...asked, client_id: 'demo-spa', redirect_uri: 'http://localhost:4010/spa' });
  token = String(found.access_token);
});
afterAll(async () => {
  await server.close();
});

const userinfo = () => fetch(`${server.origin}/connect/userinfo`, { headers: { Authorization: `Bearer ${token}` } });
const plain = { grant_type: 'client_credentials', scope: scopes.bookings };
const asPat = basic('demo-pat-north', 'demo-pat-north-secret');
const asks: [string, () => Promise<Response>][] = [
  ['a plain token request', () => server.post('/connect/token', plain, asPat)],
  ['one that the library answers', () => server.post('/connect/token', { ...plain, facility: 'fac-north' }, asPat)],
  ['userinfo', userinfo],
];

test.each(asks)('%s, while the database is away: 503 temporarily_unavailable with Retry-After', async (_title, ask) => {
  expect((await ask()).status).toBe(200);
  await server.disconnectDatabase();
  const response = await ask();
  await server.reconnectDatabase();
  expect(response.headers.get('retry-after')).toBe('2');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(await statusAndBody(response)).toMatchObject({ status: 503, error: 'temporarily_unavailable' });
});

describe('an instance that starts while the database is away has no signing keys yet, and answers 503 with Retry-After', () => {
  test.each([
    ['a page', '/sign-in', {}],
    ['the portal', '/portal', {}],
    ['userinfo', '/connect/userinfo', { Authorization: 'Bearer a.b.c' }],
    ['what the library answers', '/connect/jwks', {}],
  ])('for %s', async (_title, path, headers) => {
    await server.disconnectDatabase();
    const { origin, auth } = await server.startInstance();
    const ask = () => fetch(origin + path, { redirect: 'manual', headers });
    const early = await ask();
    await server.reconnectDatabase();
    expect(early.status).toBe(503);
    expect(early.headers.get('retry-after')).toMatch(/^\d+$/);
    await auth.refreshKeys();
    expect((await ask()).status).toBeLessThan(500);
  });
});

test.each(asks)('%s: 500 server_error, told in the log alone', async (_title, ask) => {
  await server.db.raw('alter table client_secret rename to client_secret_gone');
  const lines = server.log.length;
  const response = await ask();
  await server.db.raw('alter table client_secret_gone rename to client_secret');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(await statusAndBody(response)).toEqual({
    status: 500,
    error: 'server_error',
    error_description: expect.not.stringContaining('client_secret'),
  });
  const told = server.log.slice(lines).map((line) => JSON.parse(line) as object);
  expect(told).toContainEqual(
    expect.objectContaining({
      level: 'error',
      msg: 'request failed',
      err: expect.objectContaining({ errorCode: '42P01' }),
    }),
  );
});
