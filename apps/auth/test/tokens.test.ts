// Tests userinfo (OpenID Connect Core section 5.3), introspection (RFC 7662), revocation (RFC 7009), sign-out that a
// client requests (RP-Initiated Logout 1.0), and the lifetime of access tokens (docs/behaviour-auth.md, "Access
// tokens").
import { useFixture } from '@bay-booking/testkit/fixture';
import type { FormBrowser } from '@bay-booking/testkit/form-browser';
import { textOf } from '@bay-booking/testkit/html-forms';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import {
  basic,
  createKeyStore,
  encryptionKey,
  patForm,
  scopes,
  startAuthServer,
  statusAndBody,
} from './auth-server.ts';
import { createDevice, type DeviceAuthorization, deviceCodeGrant } from './device-fixture.ts';
import {
  authorize,
  authorizeUrl,
  exchangeCode,
  openBrowser,
  redirectParameters,
  webCallback,
  webRequest,
} from './flows.ts';

/** In seconds. */
const [accessTokenTtl, refreshTokenTtl] = [900, 1800];
const server = useFixture(() =>
  startAuthServer({ ACCESS_TOKEN_TTL: String(accessTokenTtl), REFRESH_TOKEN_TTL: String(refreshTokenTtl) }),
);

/** The credentials of demo-web, a client of kind `standard`, which gets the tokens of these tests. */
const web = basic('demo-web', 'demo-web-secret');
/** A client of kind `driving-range` may introspect and revoke only its own tokens. */
const drivingRange = basic('demo-range', 'demo-range-secret');
/** Signs the player in, and exchanges the code for the tokens of demo-web. */
const tokensFor = async (scope: string, browser: FormBrowser = openBrowser(server)) => {
  const { code } = await authorize(server, { ...webRequest, scope }, { browser });
  const body = await exchangeCode(server, code);
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)])) as Record<
    'access_token' | 'refresh_token' | 'id_token',
    string
  >;
};
const userinfo = (headers: Record<string, string>, init: RequestInit = {}) =>
  fetch(`${server.origin}/connect/userinfo`, { headers, ...init });
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

describe('userinfo', () => {
  test.each<[string, string]>([
    ['a JWT', `openid profile email roles ${scopes.play}`],
    ['an opaque token', 'openid profile email roles'],
  ])(
    'userinfo returns the claims for %s with openid after a GET, a POST, and a POST with the token in the body',
    async (_title, scope) => {
      const { access_token: token } = await tokensFor(scope);
      const claims = {
        sub: 'acc-player',
        name: 'Pat Player',
        preferred_username: 'player@example.com',
        email: 'player@example.com',
        email_verified: true,
        roles: ['player'],
      };
      const responses = [
        await userinfo(bearer(token)),
        await userinfo(bearer(token), { method: 'POST' }),
        await userinfo({}, { method: 'POST', body: new URLSearchParams({ access_token: token }) }),
      ];
      for (const response of responses) {
        expect(response.status).toBe(200);
        expect(response.headers.get('content-type')).toMatch(/^application\/json/);
        expect(response.headers.get('cache-control')).toBe('no-store');
        expect(response.headers.get('access-control-allow-origin')).toBe('*');
        expect(await response.json()).toEqual(claims);
      }
    },
  );

  test('userinfo without a token returns 401 with challenges that name both schemes and no error', async () => {
    for (const response of [await userinfo({}), await userinfo({}, { method: 'POST' })]) {
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe(
        `Bearer realm="${server.origin}", DPoP realm="${server.origin}", algs="ES256 PS256 EdDSA Ed25519"`,
      );
    }
  });

  test('userinfo rejects a token that is sent twice, in the query or with another scheme', async () => {
    const { access_token: token } = await tokensFor(`openid ${scopes.play}`);
    const body = new URLSearchParams({ access_token: token });
    expect((await userinfo(bearer(token), { method: 'POST', body })).status).toBe(400);
    expect((await fetch(`${server.origin}/connect/userinfo?${body}`)).status).toBe(400);
    expect((await userinfo({ Authorization: `Basic ${token}` })).status).toBe(401);
  });
});

describe('introspection', () => {
  const introspect = async (token: string, headers: Record<string, string> = web) =>
    statusAndBody(await server.post('/connect/introspect', { token }, headers));
  const inactive = { status: 200, active: false };

  test('introspection of a JWT, an opaque token and a refresh token describes the active token', async () => {
    const all = `openid offline_access ${scopes.play}`;
    const { access_token: jwt, refresh_token: refresh } = await tokensFor(all);
    expect(await introspect(jwt)).toMatchObject({
      active: true,
      sub: 'acc-player',
      client_id: 'demo-web',
      iss: server.origin,
      scope: `openid ${scopes.play}`,
      token_type: 'Bearer',
      exp: expect.any(Number),
    });
    expect(await introspect(refresh)).toMatchObject({ active: true, client_id: 'demo-web' });
    const { access_token: opaque } = await tokensFor('openid');
    expect(await introspect(opaque)).toMatchObject({ active: true, sub: 'acc-player', scope: 'openid' });
  });

  test('introspection and userinfo reject a token after its client is revoked or its account is disabled', async () => {
    const { access_token: jwt } = await tokensFor(`openid ${scopes.play}`);
    const patToken = String((await server.token(patForm)).access_token);
    expect(await introspect(patToken)).toMatchObject({ active: true, client_id: 'demo-pat-north' });
    const pat = server.db('client').where({ id: 'demo-pat-north' });
    await pat.clone().update({ disabled_at: new Date() });
    expect(await introspect(patToken)).toEqual(inactive);
    const account = server.db('account').where({ id: 'acc-player' });
    await account.clone().update({ disabled_at: new Date() });
    expect(await introspect(jwt)).toEqual(inactive);
    expect((await userinfo(bearer(jwt))).status).toBe(401);
    await pat.update({ disabled_at: null });
    await account.update({ disabled_at: null });
    // The list of revocations has no way back for tokens that were issued before.
    expect(await introspect(jwt)).toEqual(inactive);
    // Tokens that other tests get in the same second must be valid.
    await server.db.raw('delete from revocation');
  });

  test('introspection returns only that a revoked or made-up token or one of another client is inactive', async () => {
    const { access_token: jwt, refresh_token: refresh } = await tokensFor(`offline_access ${scopes.play}`);
    for (const token of [jwt, refresh]) expect(await introspect(token, drivingRange)).toEqual(inactive);
    await server.post('/connect/revocation', { token: refresh }, web);
    for (const token of [jwt, refresh, 'made-up', 'a.b.c']) expect(await introspect(token)).toEqual(inactive);
  });

  test('a client of kind standard can introspect any access token, but only its own refresh tokens', async () => {
    // `standard` is the default kind.
    const backEnd = { client_id: 'back-end', client_secret: 'back-end-secret', grant_types: [] };
    await server.load({ clients: [backEnd] });
    const byBackEnd = basic('back-end', 'back-end-secret');
    const byPersonalAccessToken = basic('demo-pat-north', 'demo-pat-north-secret');
    const { access_token: jwt, refresh_token: refresh } = await tokensFor(`offline_access ${scopes.play}`);
    const { access_token: opaque } = await tokensFor('openid');
    for (const token of [jwt, opaque]) {
      expect(await introspect(token, byBackEnd)).toMatchObject({ active: true, client_id: 'demo-web' });
      expect(await introspect(token, byPersonalAccessToken)).toEqual(inactive);
    }
    expect(await introspect(refresh, byBackEnd)).toEqual(inactive);
    expect(await introspect(refresh, byPersonalAccessToken)).toEqual(inactive);
    expect(await introspect(refresh)).toMatchObject({ active: true });
  });
});

describe('revocation', () => {
  const revoke = (token: string, headers: Record<string, string> = web) =>
    server.post('/connect/revocation', { token }, headers);
  const refresh = async (token: string) => server.token({ grant_type: 'refresh_token', refresh_token: token }, web);

  test.each(['refresh_token', 'access_token'] as const)('the revocation of a %s revokes its grant', async (name) => {
    const tokens = await tokensFor(`openid offline_access ${scopes.play}`);
    expect((await revoke(tokens[name])).status).toBe(200);
    expect(await refresh(tokens.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    // Userinfo rejects a JWT whose grant was revoked.
    expect((await userinfo(bearer(tokens.access_token))).status).toBe(401);
  });

  test('revoking an unknown token returns 200, and revoking a token of another client changes nothing', async () => {
    expect((await revoke('made-up')).status).toBe(200);
    const tokens = await tokensFor(`openid offline_access ${scopes.play}`);
    await revoke(tokens.refresh_token, drivingRange);
    await revoke(tokens.access_token, drivingRange);
    expect((await userinfo(bearer(tokens.access_token))).status).toBe(200);
    expect(await refresh(tokens.refresh_token)).toMatchObject({ status: 200 });
  });
});

describe('sign-out that a client requests', () => {
  const end = (params: Record<string, string>) => `${server.origin}/connect/endsession?${new URLSearchParams(params)}`;
  const signedOut = 'http://localhost:4010/signed-out';
  const request = { response_type: 'code', client_id: 'demo-web', redirect_uri: webCallback, scope: 'openid' };

  test.each([
    ['ES256', 'RS256'],
    ['RS256', 'ES256'],
  ])(
    'an id_token with %s is a valid hint 13 days after the key was retired, also if the client now uses %s',
    async (...algs) => {
      const [before, after] = algs.map((id_token_signed_response_alg) => async () => {
        const metadata = server.db.raw('metadata || ?::jsonb', [JSON.stringify({ id_token_signed_response_alg })]);
        await server.db('client').where({ id: 'demo-web' }).update({ metadata });
      });
      await before?.();
      const browser = openBrowser(server);
      const { id_token: hint } = await tokensFor('openid', browser);
      expect(decodeProtectedHeader(hint).alg).toBe(algs[0]);
      const keys = createKeyStore({ db: server.db, encryptionKeys: [Buffer.from(encryptionKey, 'base64')] });
      await keys.rotate(0);
      await keys.advance();
      const delete_after = server.db.raw("delete_after - interval '13 days'");
      await server.db('signing_key').where({ state: 'retired' }).update({ delete_after });
      await server.auth.refreshKeys();
      await after?.();
      const silent = await browser.open(authorizeUrl(server, { ...request, prompt: 'none', id_token_hint: hint }));
      expect(redirectParameters(silent)).toHaveProperty('code');
      const question = await browser.open(end({ id_token_hint: hint, post_logout_redirect_uri: signedOut }));
      expect(question.title).toMatch(/^Sign out\?/);
    },
  );

  test('a requested sign-out works with POST', async () => {
    const browser = openBrowser(server);
    const { id_token: hint } = await tokensFor('openid', browser);
    const form = { id_token_hint: hint, post_logout_redirect_uri: signedOut };
    const { status, headers } = await server.post('/connect/endsession', form);
    expect(status).toBe(303);
    const back = await browser.submit(headers.get('location') ?? '', {}, { name: 'logout', value: 'yes' });
    expect(back.url.href).toBe(signedOut);
  });
});

const secondsPerDay = 86_400;
/** The lifetimes of the access tokens of two clients: `access_token_ttl`, and ACCESS_TOKEN_TTL. */
const lifetimes = { 'client-with-ttl': 120, 'client-without-ttl': accessTokenTtl };
const clientOfLifetimes = {
  client_secret: 'client-secret',
  redirect_uris: [webCallback],
  response_types: ['code'],
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials', deviceCodeGrant],
  scope: `openid offline_access ${scopes.play} ${scopes.bookings}`,
};
const clientWithTtl = { ...clientOfLifetimes, client_id: 'client-with-ttl' };
const personalAccessToken = { client_id: 'pat-with-ttl', client_secret: 'pat-secret', accountId: 'acc-bot-north' };

beforeAll(async () => {
  await server.load({
    clients: [
      { ...clientWithTtl, access_token_ttl: 120 },
      { ...clientOfLifetimes, client_id: 'client-without-ttl' },
      { ...personalAccessToken, access_token_ttl: 60 },
    ],
  });
});

const expectLifetime = (body: Record<string, unknown>, seconds: number) => {
  expect(body).toMatchObject({ status: 200, expires_in: seconds });
  const { exp = 0, iat = 0 } = decodeJwt(String(body.access_token));
  expect(exp - iat).toBe(seconds);
};

describe('the lifetime of access tokens', () => {
  test('personal access tokens give tokens with the lifetime access_token_ttl', async () => {
    const { accountId: _, ...credentials } = personalAccessToken;
    expectLifetime(await server.token({ ...patForm, ...credentials }), 60);
  });

  const scope = `offline_access ${scopes.play}`;
  const authorizeAs = (client_id: string, params: Record<string, string>) =>
    authorize(server, { client_id, redirect_uri: webCallback, ...params });
  type RequestTokens = (form: Record<string, string>) => Promise<Record<string, unknown>>;
  test.each<[string, (client: string, request: RequestTokens) => Promise<Record<string, unknown>>]>([
    ['client_credentials', (_, request) => request({ grant_type: 'client_credentials', scope: scopes.play })],
    [
      'authorization_code',
      async (client, request) => {
        const { code } = await authorizeAs(client, { response_type: 'code', scope });
        return request({ grant_type: 'authorization_code', code: String(code), redirect_uri: webCallback });
      },
    ],
    [
      'device_code',
      async (client, request) => {
        const headers = basic(client, clientOfLifetimes.client_secret);
        const response = await server.post('/connect/deviceauthorization', { scope }, headers);
        const codes = (await response.json()) as DeviceAuthorization;
        await createDevice(server).connect(codes);
        return request({ grant_type: deviceCodeGrant, device_code: codes.device_code });
      },
    ],
  ])(
    '%s gives tokens with the lifetime of the client or of the service, also for a refresh',
    async (_title, obtain) => {
      for (const [client, seconds] of Object.entries(lifetimes)) {
        const request: RequestTokens = (form) => server.token(form, basic(client, clientOfLifetimes.client_secret));
        const tokens = await obtain(client, request);
        expectLifetime(tokens, seconds);
        if (tokens.refresh_token === undefined) continue;
        const refresh = { grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) };
        expectLifetime(await request(refresh), seconds);
        const { rows } = await server.db.raw(
          `select distinct extract(epoch from expires_at - created_at)::int as seconds
           from oidc_artifact where model = 'RefreshToken'`,
        );
        expect(rows).toEqual([{ seconds: refreshTokenTtl }]);
      }
    },
  );
});

test('a signing key stays published for the longest lifetime that any client has or had', async () => {
  await server.load({ clients: [{ ...clientWithTtl, access_token_ttl: secondsPerDay }] });
  await server.load({ clients: [{ ...clientWithTtl, access_token_ttl: 120 }] });
  const store = createKeyStore({ db: server.db, encryptionKeys: [Buffer.from(encryptionKey, 'base64')] });
  // Creates keys that sign after 0 s, and then makes them the current keys, which retires the previous keys.
  await store.rotate(0);
  await store.advance();
  const retired = (await store.list()).filter(({ state }) => state === 'retired');
  expect(retired).not.toHaveLength(0);
  for (const { retiredAt, deleteAfter } of retired) {
    expect(Number(deleteAfter) - Number(retiredAt)).toBeGreaterThanOrEqual(secondsPerDay * 1000);
  }
});

test('the portal names the access_token_ttl of a personal access token', async () => {
  const browser = openBrowser(server);
  await server.load({
    accounts: [{ id: 'acc-own-bot', username: 'own-bot', password: 'own bot password', kind: 'service' }],
    clients: [{ client_id: 'own', client_secret: 'own-secret', accountId: 'acc-own-bot', access_token_ttl: 7200 }],
  });
  const page = await browser.submit('/portal/tokens/own/rotate', { username: 'own-bot', password: 'own bot password' });
  expect(textOf(page.html)).toContain('until they expire, for up to 2 hours');
});
