// Tests the endpoint at which a device gets its codes (docs/behaviour-auth.md, "Device sign-in"; RFC 8628 section 3.2).
import { useFixture } from '@bay-booking/testkit/fixture';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { basic, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { createDevice, deviceCodeGrant, screen, screenScope } from './device-fixture.ts';
import { createKeyClient, type KeyClient } from './key-client.ts';

const server = useFixture(() => startAuthServer());
const device = createDevice(server);
const allScopes = scopes.all.join(' ');
const path = '/connect/deviceauthorization';
let keyClient: KeyClient;

beforeAll(async () => {
  keyClient = await createKeyClient('device-keys', server.origin);
  const grantTypes = [deviceCodeGrant, 'refresh_token'];
  await server.load({
    clients: [
      // An imported client with neither a secret nor another authentication method is public.
      { client_id: 'device-public', grant_types: grantTypes, scope: allScopes },
      { client_id: 'device-secret', client_secret: 'device-secret-secret', grant_types: grantTypes, scope: allScopes },
      {
        client_id: 'device-keys',
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [keyClient.publicJwk] },
        grant_types: grantTypes,
        scope: allScopes,
      },
      {
        client_id: 'device-web',
        token_endpoint_auth_method: 'none',
        redirect_uris: ['https://screen.example/callback'],
        response_types: ['code'],
        grant_types: ['authorization_code', ...grantTypes],
        scope: allScopes,
      },
    ],
  });
});

/** Requests codes. `form` contains further fields, such as the id of the client. */
const request = (form: Record<string, string>, headers: Record<string, string> = {}) =>
  server.post(path, { scope: `openid ${scopes.play}`, ...form }, headers);
const expectedCodes = {
  status: 200,
  device_code: expect.stringMatching(/^[\w-]{43}$/),
  // A user code has only consonants, so that it contains no words (RFC 8628 section 6.1).
  user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
};

describe('POST /connect/deviceauthorization', () => {
  test('the response contains the codes, both verification addresses, expires_in and interval', async () => {
    const response = await request(screen);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const body = await statusAndBody(response);
    expect(body).toEqual({
      ...expectedCodes,
      verification_uri: `${server.origin}/device`,
      verification_uri_complete: `${server.origin}/device?user_code=${body.user_code}`,
      expires_in: 600,
      interval: 5,
    });
  });

  test.each<[string, () => Promise<Response>]>([
    ['a driving-range client', () => request(screen)],
    ['a public standard client', () => request({ client_id: 'device-public', scope: allScopes })],
    ['a client with its secret in the header', () => request({}, basic('device-secret', 'device-secret-secret'))],
    [
      'a client with its secret in the body',
      () => request({ client_id: 'device-secret', client_secret: 'device-secret-secret' }),
    ],
    ['a client with private_key_jwt', async () => request(await keyClient.authenticate())],
  ])('%s gets codes', async (_title, send) => {
    expect(await statusAndBody(await send())).toMatchObject(expectedCodes);
  });

  test('a client that is not registered for the grant gets unauthorized_client', async () => {
    const web = basic('demo-web', 'demo-web-secret');
    expect(await statusAndBody(await request({}, web))).toMatchObject({ status: 400, error: 'unauthorized_client' });
    const form = { grant_type: deviceCodeGrant, device_code: 'x' };
    const response = await server.post('/connect/token', form, web);
    expect(await statusAndBody(response)).toMatchObject({ status: 400, error: 'unauthorized_client' });
  });

  test('a client that cannot authenticate gets 401 invalid_client', async () => {
    for (const response of [
      await request({ client_id: 'nobody' }),
      await request({}),
      await request({ client_id: 'device-secret' }),
      await request({}, basic('device-secret', 'wrong')),
    ]) {
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic /);
      expect(await statusAndBody(response)).toMatchObject({ status: 401, error: 'invalid_client' });
    }
  });

  test.each([
    ['no scope', ''],
    ['an unknown scope', 'unknown'],
    ['a scope that the client may not have', scopes.bookings],
    ['a scope of the openid family without openid', `profile ${scopes.play}`],
    ['offline_access alone', 'offline_access'],
  ])('a request with %s gets invalid_scope', async (_title, scope) => {
    expect(await statusAndBody(await request({ ...screen, scope }))).toMatchObject({
      status: 400,
      error: 'invalid_scope',
    });
  });

  test('the parameter scope may contain repeated spaces', async () => {
    expect(await device.start({ scope: `  openid   ${scopes.play} ` })).toMatchObject({ expires_in: 600 });
  });

  test('a repeated parameter is rejected', async () => {
    const body = new URLSearchParams([
      ['client_id', 'demo-screen'],
      ['scope', screenScope],
      ['scope', screenScope],
    ]);
    const response = await fetch(server.origin + path, { method: 'POST', body });
    expect(await statusAndBody(response)).toMatchObject({ status: 400, error: 'invalid_request' });
  });

  test('another method gets 405', async () => {
    const response = await fetch(server.origin + path);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST, OPTIONS');
  });

  test('only web pages of the client may read the response', async () => {
    const originFor = async (origin: string) =>
      (await request({ client_id: 'device-web' }, { Origin: origin })).headers.get('access-control-allow-origin');
    expect(await originFor('https://screen.example')).toBe('https://screen.example');
    expect(await originFor('https://evil.example')).toBeNull();
  });

  test('every code is new', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => device.start()));
    expect(new Set(all.map(({ user_code }) => user_code)).size).toBe(20);
    expect(new Set(all.map(({ device_code }) => device_code)).size).toBe(20);
  });
});

test('the discovery document lists the endpoint and the grant type of device sign-in', async () => {
  const metadata = await (await fetch(`${server.origin}/.well-known/openid-configuration`)).json();
  expect(metadata).toMatchObject({
    device_authorization_endpoint: `${server.origin}/connect/deviceauthorization`,
    grant_types_supported: expect.arrayContaining([deviceCodeGrant]),
  });
});

test('the log contains no device code and no user code, and the database contains no device code', async () => {
  const { device_code, user_code } = await device.start();
  await fetch(`${server.origin}/device?user_code=${user_code}`);
  const { rows } = await server.db.raw('select * from oidc_artifact');
  expect(JSON.stringify(rows)).not.toContain(device_code);
  expect(server.log.join('\n')).not.toContain(device_code);
  expect(server.log.join('\n')).not.toContain(user_code);
});
