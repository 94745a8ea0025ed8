// Tests the grant type client_credentials (specification, "Client credentials flow" and "Bookings API access").
import { useFixture } from '@bay-booking/testkit/fixture';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { audience, basic, patForm, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { owner, player } from './flows.ts';

const server = useFixture(() => startAuthServer());
/** The account acc-chain has a role at 201 facilities, one more than a token may name. */
beforeAll(async () => {
  await server.load({
    facilities: Array.from({ length: 201 }, (_, index) => ({ id: `fac-chain-${index}`, name: `Chain ${index}` })),
    accounts: [
      {
        id: 'acc-chain',
        username: 'chain',
        kind: 'service',
        memberships: Array.from({ length: 201 }, (_, index) => ({
          facilityId: `fac-chain-${index}`,
          // Both roles give access to the bookings of a facility.
          role: index % 2 ? ('bookings-manager' as const) : ('staff' as const),
        })),
      },
    ],
    clients: [
      { client_id: 'pat-chain', client_secret: 'chain-secret', accountId: 'acc-chain' },
      {
        client_id: 'machine',
        client_secret: 'machine-secret',
        grant_types: ['client_credentials'],
        scope: `offline_access openid ${scopes.play}`,
      },
      {
        client_id: 'range-machine',
        client_secret: 'range-machine-secret',
        kind: 'driving-range',
        grant_types: ['client_credentials'],
        scope: scopes.play,
      },
    ],
  });
});

const pat = { grant_type: 'client_credentials', client_id: 'demo-pat-north', client_secret: 'demo-pat-north-secret' };
const requestToken = (form: Record<string, string | readonly string[]>, headers?: Record<string, string>) =>
  server.post('/connect/token', form, headers);

describe('a personal access token', () => {
  test('a request for {scope_base}/golf/bookings gives a JWT of the service account', async () => {
    const response = await requestToken({ ...pat, scope: scopes.bookings });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-store');
    const body = (await response.json()) as Record<string, string>;
    const access_token = expect.any(String);
    expect(body).toEqual({ access_token, expires_in: 3600, token_type: 'Bearer', scope: scopes.bookings });
    const keys = createRemoteJWKSet(new URL(`${server.origin}/connect/jwks`));
    const validation = { issuer: server.origin, audience, typ: 'at+jwt' };
    const { payload, protectedHeader } = await jwtVerify(body.access_token as string, keys, validation);
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) });
    expect(payload).toEqual({
      iss: server.origin,
      aud: audience,
      sub: 'acc-bot-north',
      client_id: 'demo-pat-north',
      scope: scopes.bookings,
      facilities: ['fac-north'],
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: (payload.iat as number) + 3600,
    });
  });

  test.each([
    ['no scope', undefined, ''],
    ['an unknown scope', 'https://bay-booking.example/golf/everything', 'https://bay-booking.example/golf/everything'],
    ['a scope that the client may not request', scopes.play, scopes.play],
    ['openid, for which no id_token would be issued', `openid ${scopes.bookings}`, 'openid'],
    ['offline_access alone', 'offline_access', 'offline_access'],
  ])('a request with %s gives 400 invalid_scope', async (_title, scope, rejectedScope) => {
    const response = await requestToken({ ...pat, ...(scope && { scope }) });
    expect(response.status).toBe(400);
    const error = { error: 'invalid_scope', error_description: expect.any(String) };
    expect(await response.json()).toEqual({ ...error, scope: rejectedScope });
  });

  test('offline_access gives neither this scope nor a refresh token, and spaces may be repeated', async () => {
    const scope = `  ${scopes.bookings}  offline_access `;
    const body = await statusAndBody(await requestToken({ ...pat, scope }));
    expect(body).toMatchObject({ status: 200, scope: scopes.bookings });
    expect(body).not.toHaveProperty('refresh_token');
  });

  test('a wrong secret and an unknown client_id give the same 401 invalid_client with WWW-Authenticate', async () => {
    const wrong = await requestToken({ ...pat, client_secret: 'wrong', scope: scopes.bookings });
    const unknown = await requestToken({ ...pat, client_id: 'nobody', scope: scopes.bookings });
    const form = { grant_type: 'client_credentials', scope: scopes.bookings };
    const wrongInHeader = await requestToken(form, basic('demo-pat-north', 'no'));
    for (const response of [wrong, unknown, wrongInHeader]) {
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm="/);
      const error_description = 'client authentication failed';
      expect(await response.json()).toEqual({ error: 'invalid_client', error_description });
    }
  });

  test('an account with more than 200 facilities must select some with the parameter facility', async () => {
    const chain = { ...pat, client_id: 'pat-chain', client_secret: 'chain-secret', scope: scopes.bookings };
    const error_description = expect.stringContaining('200 facilities at most');
    expect(await server.token(chain)).toEqual({ status: 400, error: 'invalid_request', error_description });
    const selected = await server.token({ ...chain, facility: ['fac-chain-3', 'fac-chain-200'] });
    expect(decodeJwt(selected.access_token as string).facilities).toEqual(['fac-chain-3', 'fac-chain-200']);
    // The account has no role at this facility.
    const elsewhere = await server.token({ ...chain, facility: 'fac-north' });
    expect(elsewhere).toMatchObject({ status: 400, error: 'invalid_request' });
  });
});

describe('clients without an account', () => {
  test('a driving-range client that requests client_credentials gets unauthorized_client', async () => {
    // Unlike demo-range, range-machine is registered for client_credentials.
    for (const id of ['demo-range', 'range-machine']) {
      const form = { grant_type: 'client_credentials', scope: scopes.play };
      const refused = await server.token(form, basic(id, `${id}-secret`));
      expect(refused).toMatchObject({ status: 400, error: 'unauthorized_client' });
    }
  });

  test('a client without an account is its own subject, and gets no refresh token for offline_access', async () => {
    const form = { grant_type: 'client_credentials', client_id: 'machine', client_secret: 'machine-secret' };
    const body = await server.token({ ...form, scope: `${scopes.play} offline_access` });
    expect(body).toMatchObject({ status: 200, scope: scopes.play });
    expect(body).not.toHaveProperty('refresh_token');
    const claims = decodeJwt(body.access_token as string);
    expect(claims).toMatchObject({ sub: 'machine', client_id: 'machine', scope: scopes.play });
    expect(claims).not.toHaveProperty('facilities');
  });
});

test('a request with a wrong secret writes one event to the audit trail', async () => {
  await server.auth.waitUntilIdle();
  await server.db('audit_event').delete();
  expect((await requestToken({ ...patForm, client_secret: 'wrong' })).status).toBe(401);
  await server.auth.waitUntilIdle();
  expect(await server.db('audit_event').select('kind')).toEqual([{ kind: 'token.refused' }]);
});

test.each(Object.entries(patForm))('%s that is sent twice returns invalid_request', async (name, value) => {
  const response = await requestToken({ ...patForm, [name]: [value, value] });
  expect(await statusAndBody(response)).toMatchObject({ status: 400, error: 'invalid_request' });
});

test('RATE_LIMIT_PER_MINUTE limits each pair of client and sub, with 429 and Retry-After', async () => {
  const limited = await server.startInstance({ RATE_LIMIT_PER_MINUTE: '2' });
  const requestLimited = async (fields: Record<string, string>) =>
    fetch(`${limited.origin}/connect/token`, { method: 'POST', body: new URLSearchParams(fields) });
  const responses: Response[] = [];
  // If a new minute begins during the loop, four requests succeed.
  for (let count = 0; count < 6; count += 1) responses.push(await requestLimited(patForm));
  expect(responses.slice(0, 2).map(({ status }) => status)).toEqual([200, 200]);
  const rejected = responses.find(({ status }) => status === 429);
  expect(Number(rejected?.headers.get('retry-after'))).toBeGreaterThan(0);
  // A request with a wrong secret gets 401 and not 429: the limit concerns only the client that has authenticated.
  expect((await requestLimited({ ...patForm, client_secret: 'wrong' })).status).toBe(401);
  const passwordForm = { grant_type: 'password', client_id: 'demo-native', scope: scopes.play };
  const statuses: number[] = [];
  for (let count = 0; count < 6; count += 1)
    statuses.push((await requestLimited({ ...passwordForm, ...player })).status);
  expect(statuses).toContain(429);
  expect((await requestLimited({ ...passwordForm, ...owner })).status).toBe(200);
});
