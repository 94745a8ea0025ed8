// Tests the discovery document, the public keys, CORS, the errors of the token endpoint, unknown methods and paths, the
// rate limit, health and metrics, and the responses while the database is unavailable.
import { once } from 'node:events';
import { get as httpGet } from 'node:http';
import { json } from 'node:stream/consumers';
import { useFixture } from '@bay-booking/testkit/fixture';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { audience, basic, patForm, scopeBase, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { authorizeUrl, obtainAccessToken, player, webCallback } from './flows.ts';

const server = useFixture(() => startAuthServer());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(server.origin + path, { headers, redirect: 'manual' });
const passwordGrant = { grant_type: 'password', client_id: 'demo-native', ...player, scope: scopes.play };

describe('discovery', () => {
  test.each(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'])(
    '%s lists the endpoints and features, and nothing that is switched off',
    async (path) => {
      const response = await get(path);
      expect(response.status).toBe(200);
      const metadata = await response.json();
      const authenticationMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'];
      const keyAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'];
      expect(metadata).toEqual({
        issuer: server.origin,
        authorization_endpoint: `${server.origin}/connect/authorize`,
        pushed_authorization_request_endpoint: `${server.origin}/connect/par`,
        dpop_signing_alg_values_supported: keyAlgorithms,
        device_authorization_endpoint: `${server.origin}/connect/deviceauthorization`,
        token_endpoint: `${server.origin}/connect/token`,
        userinfo_endpoint: `${server.origin}/connect/userinfo`,
        jwks_uri: `${server.origin}/connect/jwks`,
        introspection_endpoint: `${server.origin}/connect/introspect`,
        revocation_endpoint: `${server.origin}/connect/revocation`,
        end_session_endpoint: `${server.origin}/connect/endsession`,
        scopes_supported: [
          'openid',
          'profile',
          'email',
          'roles',
          'offline_access',
          ...['dr/play', 'golf/bookings.read', 'golf/bookings', 'golf/schedule'].map((name) => `${scopeBase}/${name}`),
        ],
        response_types_supported: ['code', 'token', 'id_token token', 'id_token'],
        response_modes_supported: ['form_post', 'fragment', 'query'],
        grant_types_supported: expect.arrayContaining([
          'authorization_code',
          'implicit',
          'refresh_token',
          'client_credentials',
          'password',
          'social_access_token',
          'urn:ietf:params:oauth:grant-type:device_code',
        ]),
        subject_types_supported: ['public'],
        prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
        id_token_signing_alg_values_supported: expect.arrayContaining(['ES256', 'RS256']),
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: authenticationMethods,
        token_endpoint_auth_signing_alg_values_supported: keyAlgorithms,
        revocation_endpoint_auth_methods_supported: authenticationMethods,
        revocation_endpoint_auth_signing_alg_values_supported: keyAlgorithms,
        introspection_endpoint_auth_methods_supported: authenticationMethods,
        introspection_endpoint_auth_signing_alg_values_supported: keyAlgorithms,
        acr_values_supported: ['2'],
        claims_supported: [
          'sub',
          'amr',
          'name',
          'preferred_username',
          'email',
          'email_verified',
          'roles',
          'acr',
          'sid',
          'auth_time',
          'iss',
        ],
        claim_types_supported: ['normal'],
        claims_parameter_supported: false,
        request_uri_parameter_supported: false,
        authorization_response_iss_parameter_supported: true,
        backchannel_logout_supported: true,
        backchannel_logout_session_supported: true,
      });
    },
  );

  test('addresses begin with ISSUER, whatever the Host and forwarding headers contain', async () => {
    const headers = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' };
    const [response] = await once(
      httpGet(`${server.origin}/.well-known/openid-configuration`, { headers }),
      'response',
    );
    const metadata = (await json(response)) as Record<string, unknown>;
    const addresses = Object.entries(metadata).filter(([name]) => /^issuer$|_endpoint$|_uri$/.test(name));
    // The issuer, the JWKS and eight endpoints.
    expect(addresses).toHaveLength(10);
    for (const [, address] of addresses) expect(String(address).startsWith(server.origin)).toBe(true);
  });

  test('the key set has no private keys, and may be cached for 15 s', async () => {
    const response = await get('/connect/jwks');
    expect(response.headers.get('cache-control')).toBe('public, max-age=15');
    const { keys } = (await response.json()) as { keys: Record<string, string>[] };
    expect(keys.map(({ alg }) => alg).sort()).toEqual(['ES256', 'RS256']);
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(2);
    for (const key of keys) {
      expect(key).toMatchObject({ kid: expect.any(String), kty: expect.any(String), use: 'sig' });
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) expect(key).not.toHaveProperty(secret);
    }
  });
});

describe('CORS', () => {
  const exposedHeaders = 'WWW-Authenticate, Retry-After, DPoP-Nonce';

  test.each(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server', '/connect/jwks'])(
    '%s allows every origin, without credentials',
    async (path) => {
      const response = await get(path, { Origin: 'https://anything.example' });
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(response.headers.get('access-control-allow-credentials')).toBeNull();
      expect(response.status).toBe(200);
    },
  );

  test('userinfo allows every origin, also in a preflight request', async () => {
    const response = await get('/connect/userinfo', { Origin: 'https://anything.example' });
    expect(response.status).toBe(401);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    const post = await server.post('/connect/userinfo', {}, { Origin: 'https://anything.example' });
    expect(post.headers.get('access-control-expose-headers')).toBe('WWW-Authenticate, DPoP-Nonce');
    const preflight = await fetch(`${server.origin}/connect/userinfo`, { method: 'OPTIONS' });
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
  });

  test.each(['/connect/token', '/connect/par', '/connect/revocation', '/connect/deviceauthorization'])(
    '%s allows the origins of the client’s registered redirect URIs, and no other, and exposes headers of errors',
    async (path) => {
      const form = { grant_type: 'authorization_code', code: 'x', token: 'x', client_id: 'demo-spa' };
      const own = await server.post(path, form, { Origin: 'http://localhost:4010' });
      expect(own.headers.get('access-control-allow-origin')).toBe('http://localhost:4010');
      expect(own.headers.get('access-control-allow-credentials')).toBeNull();
      expect(own.headers.get('access-control-expose-headers')).toBe(exposedHeaders);
      for (const Origin of ['https://evil.example', 'null', 'http://localhost:4011']) {
        const foreign = await server.post(path, form, { Origin });
        expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
      }
    },
  );

  test.each(['/connect/token', '/connect/revocation'])(
    '%s lets no web page read a response with a secret',
    async (path) => {
      const form = { grant_type: 'authorization_code', code: 'x', token: 'x' };
      const Origin = new URL(webCallback).origin;
      const response = await server.post(path, form, { Origin, ...basic('demo-web', 'demo-web-secret') });
      expect([200, 400]).toContain(response.status);
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
      expect(response.headers.get('access-control-expose-headers')).toBeNull();
    },
  );

  test('/connect/token allows the origin of the Bookings API for client_credentials, also for its errors', async () => {
    const send = async (form: Record<string, string>, Origin: string) => {
      const { status, headers } = await server.post('/connect/token', form, { Origin });
      return [status, headers.get('access-control-allow-origin')];
    };
    const bookingsOrigin = new URL(audience).origin;
    expect(await send(patForm, bookingsOrigin)).toEqual([200, bookingsOrigin]);
    expect(await send({ ...patForm, client_secret: 'wrong' }, bookingsOrigin)).toEqual([401, bookingsOrigin]);
    expect(await send(patForm, 'https://evil.example')).toEqual([200, null]);
    const codeForm = { grant_type: 'authorization_code', code: 'x', client_id: 'demo-spa' };
    expect(await send(codeForm, bookingsOrigin)).toEqual([400, null]);
  });
});

describe('errors of the token endpoint follow RFC 6749', () => {
  test('an error is JSON that must not be cached, even for a client that prefers HTML', async () => {
    const response = await server.post('/connect/token', { ...patForm, scope: 'x' }, { Accept: 'text/html' });
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(Object.keys((await response.json()) as object).sort()).toEqual(['error', 'error_description', 'scope']);
  });

  test.each<[string, Record<string, string>, number, string]>([
    ['an unknown grant type', { ...patForm, grant_type: 'magic' }, 400, 'unsupported_grant_type'],
    ['no grant type', { client_id: patForm.client_id, client_secret: patForm.client_secret }, 400, 'invalid_request'],
    ['no client', { grant_type: 'client_credentials' }, 401, 'invalid_client'],
    ['no code', { grant_type: 'authorization_code', client_id: 'demo-spa' }, 400, 'invalid_request'],
    ['a public client with a secret', { ...patForm, client_id: 'demo-spa' }, 401, 'invalid_client'],
    ['a confidential client without a secret', { ...patForm, client_secret: '' }, 401, 'invalid_client'],
    ['a NUL in the client id', { ...patForm, client_id: `${patForm.client_id}\0` }, 401, 'invalid_client'],
    [
      'a NUL in the client id of a refresh',
      { grant_type: 'refresh_token', client_id: 'demo-spa\0', refresh_token: 'bad' },
      401,
      'invalid_client',
    ],
    [
      'a NUL in a token',
      { grant_type: 'refresh_token', client_id: 'demo-spa', refresh_token: '\0' },
      400,
      'invalid_grant',
    ],
  ])('a token request with %s gives its status and error code', async (_title, form, status, error) => {
    const response = await server.post('/connect/token', form);
    expect(response.headers.has('www-authenticate')).toBe(status === 401);
    expect(await statusAndBody(response)).toMatchObject({ status, error, error_description: expect.any(String) });
  });

  const clientRequest = { grant_type: 'client_credentials', token: 'x', scope: scopes.play };
  test.each([
    ['another scheme than Basic', 'Bearer x'],
    ['no base64', 'Basic %%%'],
    ['no colon', `Basic ${btoa('demo-web')}`],
    ['no secret', `Basic ${btoa('demo-web:')}`],
    ['an invalid escape sequence', `Basic ${btoa('demo-web:%ZZ')}`],
  ])(
    'an Authorization header with %s gives 401 invalid_client at every endpoint for clients',
    async (_title, Authorization) => {
      for (const name of ['token', 'introspect', 'revocation', 'deviceauthorization']) {
        const response = await server.post(`/connect/${name}`, clientRequest, { Authorization });
        expect(response.headers.get('www-authenticate')).toMatch(/^Basic /);
        expect(await statusAndBody(response)).toMatchObject({ status: 401, error: 'invalid_client' });
      }
    },
  );

  test('a body that is too long gives invalid_request', async () => {
    const withLongBody = await server.post('/connect/token', { ...patForm, padding: 'x'.repeat(100_000) });
    expect(await statusAndBody(withLongBody)).toMatchObject({ status: 400, error: 'invalid_request' });
  });
});

describe('methods and paths that do not exist', () => {
  test.each([
    ['/connect/token', 'GET', 'POST, OPTIONS'],
    ['/connect/introspect', 'PUT', 'POST, OPTIONS'],
    ['/connect/par', 'GET', 'POST, OPTIONS'],
    ['/connect/deviceauthorization', 'GET', 'POST, OPTIONS'],
    ['/connect/revocation', 'DELETE', 'POST, OPTIONS'],
    ['/connect/authorize', 'DELETE', 'GET, HEAD, POST, OPTIONS'],
    ['/connect/endsession', 'PUT', 'GET, HEAD, POST, OPTIONS'],
    ['/connect/userinfo', 'PATCH', 'GET, HEAD, POST, OPTIONS'],
    ['/connect/jwks', 'POST', 'GET, HEAD, OPTIONS'],
    ['/.well-known/openid-configuration', 'POST', 'GET, HEAD, OPTIONS'],
  ])('%s with the method %s returns 405 with Allow: %s', async (path, method, allow) => {
    const response = await fetch(server.origin + path, { method });
    expect(response.headers.get('allow')).toBe(allow);
    expect(await statusAndBody(response)).toMatchObject({ status: 405, error: 'invalid_request' });
  });

  test.each(['/management/facilities', '/management/openapi.json', '/Management/audit'])(
    'without MANAGEMENT=on, there is no %s',
    async (path) => expect((await get(path)).status).toBe(404),
  );
});

describe('health', () => {
  test('the service is live and ready', async () => {
    expect((await get('/health/live')).status).toBe(200);
    const ready = await get('/health/ready');
    expect(await ready.json()).toEqual({ status: 'ready', checks: { database: 'ok', signingKeys: 'ok' } });
  });
});

describe('while the database is unavailable', () => {
  let accessToken: string;
  beforeEach(async () => {
    accessToken = await obtainAccessToken(server);
    await server.disconnectDatabase();
  });
  afterEach(() => server.reconnectDatabase());
  const webCredentials = basic('demo-web', 'demo-web-secret');

  test.each<[string, () => Promise<Response>]>([
    ['client_credentials', () => server.post('/connect/token', patForm)],
    ['password', () => server.post('/connect/token', passwordGrant)],
    [
      'refresh_token',
      () => server.post('/connect/token', { ...patForm, grant_type: 'refresh_token', refresh_token: 'x' }),
    ],
    ['introspection', () => server.post('/connect/introspect', { token: 'x' }, webCredentials)],
    ['revocation', () => server.post('/connect/revocation', { token: 'x' }, webCredentials)],
    ['userinfo', () => server.userinfo(accessToken)],
  ])(
    'a request for %s gets 503 temporarily_unavailable with Retry-After, without internal details',
    async (_title, send) => {
      const response = await send();
      const text = await response.text();
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('2');
      expect(JSON.parse(text)).toEqual({ error: 'temporarily_unavailable', error_description: expect.any(String) });
      expect(text).not.toMatch(/select|connect|knex|at .*\(/i);
    },
  );

  test('the authorization endpoint shows a page with status 503 and without internal details', async () => {
    const request = { response_type: 'code', client_id: 'demo-web', scope: 'openid', redirect_uri: webCallback };
    const page = await fetch(authorizeUrl(server, request), { redirect: 'manual', headers: { Accept: 'text/html' } });
    expect(page.status).toBe(503);
    expect(page.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await page.text()).not.toMatch(/select|ECONNREFUSED|knex/i);
  });

  test.each([
    ['/connect/jwks', 200],
    ['/.well-known/openid-configuration', 200],
    ['/health/live', 200],
    ['/health/ready', 503],
  ])('%s responds with status %i', async (path, status) => {
    expect((await fetch(server.origin + path)).status).toBe(status);
  });
});
