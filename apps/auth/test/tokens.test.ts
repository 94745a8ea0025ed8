// Tests userinfo (OpenID Connect Core section 5.3), introspection (RFC 7662), revocation (RFC 7009), and sign-out that
// a client requests (RP-Initiated Logout 1.0).
import { useFixture } from '@bay-booking/testkit/fixture';
import type { FormBrowser } from '@bay-booking/testkit/form-browser';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import * as openid from 'openid-client';
import { basic, createKeyStore, encryptionKey, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { authorize, authorizeUrl, openBrowser, redirectParameters, signInAndConsent, webCallback } from './flows.ts';

const server = useFixture(() => startAuthServer());

/** The credentials of demo-web, a client of kind `standard`, which gets the tokens of these tests. */
const web = basic('demo-web', 'demo-web-secret');
/** A client of kind `driving-range` may introspect and revoke only its own tokens. */
const drivingRange = basic('demo-range', 'demo-range-secret');
/** Signs the player in, and exchanges the code for the tokens of demo-web. */
const tokensFor = async (scope: string, browser: FormBrowser = openBrowser(server)) => {
  const { code } = await authorize(
    server,
    { response_type: 'code', client_id: 'demo-web', redirect_uri: webCallback, scope },
    { browser },
  );
  const body = await statusAndBody(
    await server.post(
      '/connect/token',
      { grant_type: 'authorization_code', code: String(code), redirect_uri: webCallback },
      web,
    ),
  );
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

  test('userinfo returns only the claims of the granted scopes', async () => {
    const { access_token: token } = await tokensFor(`openid email ${scopes.play}`);
    expect(await (await userinfo(bearer(token))).json()).toEqual({
      sub: 'acc-player',
      email: 'player@example.com',
      email_verified: true,
    });
  });

  test('userinfo without a token returns 401 with challenges that name both schemes and no error', async () => {
    for (const response of [await userinfo({}), await userinfo({}, { method: 'POST' })]) {
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe(
        `Bearer realm="${server.origin}", DPoP realm="${server.origin}", algs="ES256 PS256 EdDSA Ed25519"`,
      );
    }
  });

  test('userinfo rejects an invalid or altered token and an id_token with 401 invalid_token', async () => {
    const { access_token: token, id_token: idToken } = await tokensFor(`openid ${scopes.play}`);
    const [header, payload, signature] = token.split('.');
    const altered = Buffer.from(JSON.stringify({ ...decodeJwt(token), sub: 'acc-owner-north' })).toString('base64url');
    for (const invalid of ['made-up', `${header}.${altered}.${signature}`, `${header}.${payload}.`, idToken, 'a.b.c']) {
      const response = await userinfo(bearer(invalid));
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"');
      expect(await response.json()).toMatchObject({ error: 'invalid_token' });
    }
  });

  test('userinfo rejects a token without openid with 403 insufficient_scope', async () => {
    const { access_token: token } = await tokensFor(scopes.play);
    const response = await userinfo(bearer(token));
    expect(response.status).toBe(403);
    expect(response.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
  });

  test('userinfo rejects a token that is sent twice, in the query or with another scheme', async () => {
    const { access_token: token } = await tokensFor(`openid ${scopes.play}`);
    const twice = await userinfo(bearer(token), {
      method: 'POST',
      body: new URLSearchParams({ access_token: token }),
    });
    expect(twice.status).toBe(400);
    const query = await fetch(`${server.origin}/connect/userinfo?access_token=${token}`);
    expect(query.status).toBe(400);
    expect((await userinfo({ Authorization: `Basic ${token}` })).status).toBe(401);
  });

  test('userinfo immediately rejects a JWT of a revoked grant or a disabled account', async () => {
    const first = await tokensFor(`openid offline_access ${scopes.play}`);
    await server.post('/connect/revocation', { token: first.refresh_token }, web);
    expect((await userinfo(bearer(first.access_token))).status).toBe(401);
    const second = await tokensFor(`openid ${scopes.play}`);
    await server.db('account').where({ id: 'acc-player' }).update({ disabled_at: new Date() });
    expect((await userinfo(bearer(second.access_token))).status).toBe(401);
    await server.db('account').where({ id: 'acc-player' }).update({ disabled_at: null });
    // Tokens that other tests get in the same second must be valid.
    await server.db.raw('delete from revocation');
    expect((await userinfo(bearer(second.access_token))).status).toBe(200);
  });
});

describe('introspection', () => {
  const introspect = async (token: string, headers: Record<string, string> = web) =>
    statusAndBody(await server.post('/connect/introspect', { token }, headers));

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

  test('introspection of a token returns inactive after its client is revoked or its account is disabled', async () => {
    const { access_token: jwt } = await tokensFor(`openid ${scopes.play}`);
    const machine = await statusAndBody(
      await server.post(
        '/connect/token',
        { grant_type: 'client_credentials', scope: scopes.bookings },
        basic('demo-pat-north', 'demo-pat-north-secret'),
      ),
    );
    const patToken = String(machine.access_token);
    expect(await introspect(patToken)).toMatchObject({ active: true, client_id: 'demo-pat-north' });
    await server.db.raw("update client set disabled_at = now() where id = 'demo-pat-north'");
    expect(await introspect(patToken)).toEqual({ status: 200, active: false });
    await server.db.raw("update account set disabled_at = now() where id = 'acc-player'");
    expect(await introspect(jwt)).toEqual({ status: 200, active: false });
    await server.db.raw("update client set disabled_at = null where id = 'demo-pat-north'");
    await server.db.raw("update account set disabled_at = null where id = 'acc-player'");
    // The list of revocations has no way back for tokens that were issued before.
    expect(await introspect(jwt)).toEqual({ status: 200, active: false });
    // Tokens that other tests get in the same second must be valid.
    await server.db.raw('delete from revocation');
  });

  test('introspection returns only that a revoked or made-up token or one of another client is inactive', async () => {
    const { access_token: jwt, refresh_token: refresh } = await tokensFor(`offline_access ${scopes.play}`);
    expect(await introspect(jwt, drivingRange)).toEqual({ status: 200, active: false });
    expect(await introspect(refresh, drivingRange)).toEqual({ status: 200, active: false });
    await server.post('/connect/revocation', { token: refresh }, web);
    for (const token of [jwt, refresh, 'made-up', 'a.b.c']) {
      expect(await introspect(token)).toEqual({ status: 200, active: false });
    }
  });

  test('a client of kind standard can introspect any access token, but only its own refresh tokens', async () => {
    // `standard` is the default kind.
    const backEnd = { client_id: 'back-end', client_secret: 'back-end-secret', grant_types: [] };
    await server.load({ clients: [backEnd] });
    const byBackEnd = basic('back-end', 'back-end-secret');
    const byPersonalAccessToken = basic('demo-pat-north', 'demo-pat-north-secret');
    const inactive = { status: 200, active: false };
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

  test('introspection requires client authentication', async () => {
    for (const form of [{ token: 'x', client_id: 'demo-web' }, { token: 'x' }]) {
      const response = await server.post('/connect/introspect', form);
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic /);
    }
  });

  test('introspection and revocation work with openid-client', async () => {
    const config = await openid.discovery(new URL(server.origin), 'demo-web', 'demo-web-secret', undefined, {
      execute: [openid.allowInsecureRequests],
    });
    const { access_token: token } = await tokensFor(scopes.play);
    expect((await openid.tokenIntrospection(config, token)).active).toBe(true);
    await openid.tokenRevocation(config, token);
    expect((await openid.tokenIntrospection(config, token)).active).toBe(false);
  });
});

describe('revocation', () => {
  const revoke = (token: string, headers: Record<string, string> = web) =>
    server.post('/connect/revocation', { token }, headers);
  const refresh = async (token: string) =>
    statusAndBody(await server.post('/connect/token', { grant_type: 'refresh_token', refresh_token: token }, web));

  test('the revocation of a refresh token revokes its grant', async () => {
    const tokens = await tokensFor(`openid offline_access ${scopes.play}`);
    expect((await revoke(tokens.refresh_token)).status).toBe(200);
    expect(await refresh(tokens.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    // Userinfo rejects a JWT whose grant was revoked.
    expect((await userinfo(bearer(tokens.access_token))).status).toBe(401);
  });

  test('the revocation of a JWT access token revokes its grant', async () => {
    const tokens = await tokensFor(`openid offline_access ${scopes.play}`);
    expect((await revoke(tokens.access_token)).status).toBe(200);
    expect(await refresh(tokens.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
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

  test('a JWT of a personal access token can be revoked by itself', async () => {
    const pat = { client_id: 'demo-pat-north', client_secret: 'demo-pat-north-secret' };
    const form = { grant_type: 'client_credentials', scope: scopes.bookings, ...pat };
    const [token, other] = await Promise.all(
      [1, 2].map(async () => String((await statusAndBody(await server.post('/connect/token', form))).access_token)),
    );
    expect((await server.post('/connect/revocation', { token: String(token), ...pat })).status).toBe(200);
    const activeOf = async (presented: unknown) =>
      statusAndBody(await server.post('/connect/introspect', { token: String(presented), ...pat }));
    expect(await activeOf(token)).toEqual({ status: 200, active: false });
    expect(await activeOf(other)).toMatchObject({ active: true });
  });
});

describe('sign-out that a client requests', () => {
  const end = (params: Record<string, string>) => `${server.origin}/connect/endsession?${new URLSearchParams(params)}`;
  const signedOut = 'http://localhost:4010/signed-out';
  const request = { response_type: 'code', client_id: 'demo-web', redirect_uri: webCallback, scope: 'openid' };

  test('a requested sign-out asks the user, ends the session and redirects to the URI with the state', async () => {
    const browser = openBrowser(server);
    const { id_token: hint } = await tokensFor('openid', browser);
    const page = await browser.open(end({ id_token_hint: hint, post_logout_redirect_uri: signedOut, state: 'bye' }));
    expect(page.html).toMatch(/<html lang="en"/);
    const back = await browser.send(page, {}, { name: 'logout', value: 'yes' });
    expect(back.url.href).toBe(`${signedOut}?state=bye`);
    expect((await browser.open(authorizeUrl(server, request))).title).toMatch(/^Sign in/);
  });

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
      const keys = createKeyStore({ db: server.db, encryptionKeys: [Buffer.from(encryptionKey, 'base64')] });
      await keys.rotate(0);
      await keys.advance();
      const delete_after = server.db.raw("delete_after - interval '13 days'");
      await server.db('signing_key').where({ state: 'retired' }).update({ delete_after });
      await server.auth.refreshKeys();
      await after?.();
      const silent = await browser.open(authorizeUrl(server, { ...request, prompt: 'none', id_token_hint: hint }));
      expect(redirectParameters(silent)).toHaveProperty('code');
      expect((await browser.open(end({ id_token_hint: hint, post_logout_redirect_uri: signedOut }))).title).toMatch(
        /^Sign out\?/,
      );
      const forged = await browser.open(end({ id_token_hint: hint.replace(/.{9}$/, 'AAAAAAAAA') }));
      expect(forged.status).toBe(400);
    },
  );

  test('a requested sign-out works with POST', async () => {
    const browser = openBrowser(server);
    const { id_token: hint } = await tokensFor('openid', browser);
    const posted = await server.post('/connect/endsession', {
      id_token_hint: hint,
      post_logout_redirect_uri: signedOut,
    });
    expect(posted.status).toBe(303);
    const page = await browser.open(new URL(posted.headers.get('location') ?? '', server.origin));
    expect((await browser.send(page, {}, { name: 'logout', value: 'yes' })).url.href).toBe(signedOut);
  });

  test('a requested sign-out keeps the session if the user declines', async () => {
    const browser = openBrowser(server);
    const { id_token: hint } = await tokensFor('openid', browser);
    const page = await browser.open(end({ id_token_hint: hint }));
    // The page has two buttons. The button that is not `logout` declines the sign-out.
    const stay = page.forms.flatMap(({ buttons }) => buttons).find(({ name }) => name !== 'logout');
    await browser.send(page, {}, stay?.text ?? 'Stay');
    const again = await browser.open(authorizeUrl(server, { ...request, prompt: 'none' }));
    // The user is still signed in, so the browser is redirected to the client.
    expect(again.url.origin).toBe(new URL(webCallback).origin);
  });

  test('a requested sign-out without a hint ends on a page that says that the user is signed out', async () => {
    const browser = openBrowser(server);
    await signInAndConsent(browser, await browser.open(authorizeUrl(server, request)));
    const page = await browser.send(await browser.open(end({})), {}, { name: 'logout', value: 'yes' });
    expect(page.status).toBe(200);
    expect(page.title).toMatch(/signed out/i);
  });

  test('a requested sign-out returns an error page for a URI that is not registered', async () => {
    const { id_token: hint } = await tokensFor('openid');
    const page = await openBrowser(server).open(
      end({ id_token_hint: hint, post_logout_redirect_uri: 'https://evil.example/' }),
    );
    expect(page.status).toBe(400);
  });
});
