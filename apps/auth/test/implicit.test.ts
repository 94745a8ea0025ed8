// Tests the implicit flow (specification, "Implicit flow" and "Scopes" rule 2).

import { createHash } from 'node:crypto';
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import * as openid from 'openid-client';
import { audience, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { authorize, authorizeUrl, openBrowser, redirectParameters, signInAndConsent } from './flows.ts';

const server = useFixture(() => startAuthServer());

const spa = 'http://localhost:4010/spa';
const request = (more: Record<string, string> = {}) => ({
  response_type: 'token',
  client_id: 'demo-spa',
  redirect_uri: spa,
  scope: scopes.play,
  state: 'st-1',
  ...more,
});
const redirectOf = async (more: Record<string, string>, browser = openBrowser(server)) =>
  (await signInAndConsent(browser, await browser.open(authorizeUrl(server, request(more))))).url;

describe('response_type=token', () => {
  test('redirects with the fragment access_token, token_type Bearer, expires_in and scope', async () => {
    const url = await redirectOf({});
    expect(url.search).toBe('');
    const found = redirectParameters({ url } as never);
    expect(found).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: '3600',
      scope: scopes.play,
      state: 'st-1',
      iss: server.origin,
    });
    const keys = createRemoteJWKSet(new URL(`${server.origin}/connect/jwks`));
    const { payload } = await jwtVerify(String(found.access_token), keys, { audience, typ: 'at+jwt' });
    expect(payload).toMatchObject({ sub: 'acc-player', client_id: 'demo-spa', scope: scopes.play });
  });

  test('there is no code in the response or in the database', async () => {
    const { rows: before } = await server.db.raw(`select id from oidc_artifact where model = 'AuthorizationCode'`);
    const url = await redirectOf({ scope: scopes.bookings });
    expect(url.href).not.toContain('code=');
    const { rows: after } = await server.db.raw(`select id from oidc_artifact where model = 'AuthorizationCode'`);
    expect(after).toEqual(before);
  });

  test('the result is the same if the client requests `code token`', async () => {
    const found = redirectParameters({ url: await redirectOf({ response_type: 'code token' }) } as never);
    expect(Object.keys(found).sort()).toEqual(['access_token', 'expires_in', 'iss', 'scope', 'state', 'token_type']);
  });

  test('issues no refresh token: offline_access is not granted', async () => {
    for (const prompt of ['', 'consent']) {
      const found = await authorize(
        server,
        request({ scope: `offline_access ${scopes.play}`, ...(prompt && { prompt }) }),
      );
      expect(found.scope).toBe(scopes.play);
      expect(found).not.toHaveProperty('refresh_token');
    }
  });

  test.each<[string, Record<string, string>, string]>([
    ['openid, because no id_token is issued', { scope: `openid ${scopes.play}` }, 'invalid_scope'],
    ['profile', { scope: `profile ${scopes.play}` }, 'invalid_scope'],
    ['openid alone', { scope: 'openid' }, 'invalid_scope'],
    ['an unknown scope', { scope: 'phone' }, 'invalid_scope'],
    ['no scope', { scope: '' }, 'invalid_scope'],
    [
      'response_mode=query, which would put a token into logs',
      { response_mode: 'query', scope: 'phone' },
      'invalid_scope',
    ],
    ['an unknown social provider', { acr_values: 'idp:nobody' }, 'invalid_request'],
    ['prompt=none while nobody is signed in', { prompt: 'none' }, 'login_required'],
  ])('with %s, the error is in the fragment', async (_title, more, error) => {
    const url = await redirectOf(more);
    expect(url.search).toBe('');
    expect(redirectParameters({ url } as never)).toMatchObject({ error, state: 'st-1' });
  });

  test('gives access_denied in the fragment if the user denies access', async () => {
    const browser = openBrowser(server);
    const { url } = await browser.send(await browser.open(authorizeUrl(server, request())), {}, 'Cancel');
    expect(url.search).toBe('');
    expect(redirectParameters({ url } as never)).toMatchObject({ error: 'access_denied', state: 'st-1' });
  });

  test('gives unauthorized_client for a client that is not registered for it', async () => {
    const url = await redirectOf({ client_id: 'demo-web', redirect_uri: 'http://localhost:4010/callback' });
    expect(redirectParameters({ url } as never)).toMatchObject({ error: 'unauthorized_client' });
  });

  test('ignores a nonce', async () => {
    expect(redirectParameters({ url: await redirectOf({ nonce: 'n' }) } as never)).toHaveProperty('access_token');
  });

  test('PKCE is not needed, even if the client needs it for the code flow', async () => {
    expect(redirectParameters({ url: await redirectOf({ response_type: 'code' }) } as never)).toMatchObject({
      error: 'invalid_request',
      error_description: expect.stringContaining('PKCE'),
    });
    expect(redirectParameters({ url: await redirectOf({}) } as never)).toHaveProperty('access_token');
  });

  test('the fragment has the format of RFC 6749 section 4.2.2', async () => {
    const found = redirectParameters({ url: await redirectOf({}) } as never);
    expect(found.token_type?.toLowerCase()).toBe('bearer');
    expect(Number(found.expires_in)).toBe(3600);
  });
});

describe('response_type=id_token token', () => {
  test('both tokens are returned, and the id_token has the granted claims, nonce and at_hash', async () => {
    const all = `openid profile roles ${scopes.play}`;
    const url = await redirectOf({ response_type: 'id_token token', scope: all, nonce: 'n-1' });
    const found = redirectParameters({ url } as never);
    expect(found).toMatchObject({
      scope: all,
      token_type: 'Bearer',
      expires_in: '3600',
      state: 'st-1',
      iss: server.origin,
    });
    const claims = decodeJwt(String(found.id_token));
    const half = createHash('sha256').update(String(found.access_token)).digest().subarray(0, 16);
    expect(claims).toMatchObject({
      iss: server.origin,
      aud: 'demo-spa',
      sub: 'acc-player',
      name: 'Pat Player',
      roles: ['player'],
      nonce: 'n-1',
      at_hash: half.toString('base64url'),
    });
    const userinfo = await fetch(`${server.origin}/connect/userinfo`, {
      headers: { Authorization: `Bearer ${found.access_token}` },
    });
    expect(await userinfo.json()).toMatchObject({ sub: 'acc-player', name: 'Pat Player' });
  });

  test('without nonce or without openid gives an error in the fragment', async () => {
    for (const more of [{ scope: `openid ${scopes.play}` }, { scope: scopes.play, nonce: 'n' }]) {
      const url = await redirectOf({ response_type: 'id_token token', ...more });
      expect(url.search).toBe('');
      expect(redirectParameters({ url } as never)).toMatchObject({
        error: expect.stringMatching(/^invalid_/),
        state: 'st-1',
      });
    }
  });

  test('with scopes of the openid family but without openid gives invalid_scope', async () => {
    const url = await redirectOf({ response_type: 'id_token token', scope: `profile ${scopes.play}`, nonce: 'n' });
    expect(redirectParameters({ url } as never)).toMatchObject({
      error: 'invalid_scope',
      scope: 'profile',
      state: 'st-1',
    });
  });

  test('openid-client accepts the response', async () => {
    const config = await openid.discovery(new URL(server.origin), 'demo-spa', undefined, openid.None(), {
      execute: [openid.allowInsecureRequests, openid.useIdTokenResponseType],
    });
    await server.load({
      clients: [
        {
          client_id: 'id-only',
          token_endpoint_auth_method: 'none',
          redirect_uris: ['https://id.example/cb'],
          response_types: ['id_token'],
          grant_types: ['implicit'],
          scope: 'openid email',
        },
      ],
    });
    const idOnly = await openid.discovery(new URL(server.origin), 'id-only', undefined, openid.None(), {
      execute: [openid.allowInsecureRequests, openid.useIdTokenResponseType],
    });
    expect(config.serverMetadata().response_types_supported).toContain('id_token token');
    const nonce = openid.randomNonce();
    const start = openid.buildAuthorizationUrl(idOnly, {
      redirect_uri: 'https://id.example/cb',
      scope: 'openid email',
      nonce,
    });
    const browser = openBrowser(server);
    const { url } = await signInAndConsent(browser, await browser.open(start));
    const claims = await openid.implicitAuthentication(idOnly, url, nonce);
    expect(claims).toMatchObject({ sub: 'acc-player', email: 'player@example.com' });
  });
});

describe('redirect URIs of implicit clients', () => {
  test('may use http and localhost only in development', async () => {
    const production = await startAuthServer({ ISSUER: 'https://id.example.com' });
    const page = await fetch(`${production.origin}/connect/authorize?${new URLSearchParams(request())}`, {
      redirect: 'manual',
    });
    expect(page.status).toBe(400);
    const tokenResponse = await statusAndBody(
      await production.post('/connect/token', { grant_type: 'authorization_code', code: 'x', client_id: 'demo-spa' }),
    );
    expect(tokenResponse.status).toBeGreaterThanOrEqual(400);
    await production.close();
  });
});
