// Tests the implicit flow (specification, "Implicit flow" and "Scopes" rule 2).
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { audience, scopes, startAuthServer } from './auth-server.ts';
import { authorizeUrl, openBrowser, redirectParameters, signInAndConsent } from './flows.ts';

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
/**
 * Sends an authorization request, and signs in and consents if the server shows these pages. Returns the URL of the
 * redirect, and the parameters in it.
 */
const redirectOf = async (more: Record<string, string> = {}) => {
  const browser = openBrowser(server);
  const page = await signInAndConsent(browser, await browser.open(authorizeUrl(server, request(more))));
  return { url: page.url, params: redirectParameters(page) };
};

describe('response_type=token', () => {
  test('the fragment has access_token, token_type Bearer, expires_in, scope, state and iss', async () => {
    const { url, params } = await redirectOf();
    expect(url.search).toBe('');
    expect(params).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: '3600',
      scope: scopes.play,
      state: 'st-1',
      iss: server.origin,
    });
    const keys = createRemoteJWKSet(new URL(`${server.origin}/connect/jwks`));
    const { payload } = await jwtVerify(String(params.access_token), keys, { audience, typ: 'at+jwt' });
    expect(payload).toMatchObject({ sub: 'acc-player', client_id: 'demo-spa', scope: scopes.play });
  });

  test('a native app gets the token at its private scheme', async () => {
    const redirectUri = 'com.example.implicit:/callback';
    await server.load({
      clients: [
        {
          client_id: 'implicit-app',
          redirect_uris: [redirectUri],
          grant_types: ['implicit'],
          response_types: ['token', 'id_token token'],
          scope: `openid ${scopes.play}`,
        },
      ],
    });
    const client = { client_id: 'implicit-app', redirect_uri: redirectUri };
    const { url, params } = await redirectOf(client);
    expect(url.href).toMatch(/^com\.example\.implicit:\/callback#/);
    expect(params.access_token).toBeDefined();
    const both = { response_type: 'id_token token', scope: `openid ${scopes.play}`, nonce: 'n' };
    expect((await redirectOf({ ...client, ...both })).params.id_token).toBeDefined();
  });

  test('neither the response nor the database contains a code', async () => {
    const { rows: before } = await server.db.raw(`select id from oidc_artifact where model = 'AuthorizationCode'`);
    const { url } = await redirectOf({ scope: scopes.bookings });
    expect(url.href).not.toContain('code=');
    const { rows: after } = await server.db.raw(`select id from oidc_artifact where model = 'AuthorizationCode'`);
    expect(after).toEqual(before);
  });

  // oidc-provider does not support the response type `token`, so the server rewrites it to `code token`. A client can
  // also request `code token` itself.
  test('the response type `code token` gives the same response, without a code', async () => {
    const { params } = await redirectOf({ response_type: 'code token' });
    expect(Object.keys(params).sort()).toEqual(['access_token', 'expires_in', 'iss', 'scope', 'state', 'token_type']);
  });

  test.each<[string, Record<string, string>]>([
    ['without prompt', {}],
    ['with prompt=consent', { prompt: 'consent' }],
  ])('a request for offline_access %s gives neither this scope nor a refresh token', async (_title, more) => {
    const { params } = await redirectOf({ scope: `offline_access ${scopes.play}`, ...more });
    expect(params.scope).toBe(scopes.play);
    expect(params).not.toHaveProperty('refresh_token');
  });

  test.each<[string, Record<string, string>, string]>([
    ['openid, for which no id_token would be issued', { scope: `openid ${scopes.play}` }, 'invalid_scope'],
    // The unknown scope causes the error, which must not be in the query, although the request asks for this.
    [
      'response_mode=query, which would put a token into logs',
      { response_mode: 'query', scope: 'phone' },
      'invalid_scope',
    ],
    ['an unknown social provider', { acr_values: 'idp:nobody' }, 'invalid_request'],
    ['prompt=none while nobody is signed in', { prompt: 'none' }, 'login_required'],
    // conformance/plans.test.ts checks the response type `id_token token`, and that it needs a nonce.
    ['an id_token without openid', { response_type: 'id_token token', nonce: 'n' }, 'invalid_request'],
  ])('the error of a request with %s is in the fragment', async (_title, more, error) => {
    const { url, params } = await redirectOf(more);
    expect(url.search).toBe('');
    expect(params).toMatchObject({ error, state: 'st-1', iss: server.origin });
  });

  test('a user who cancels on the sign-in page causes access_denied in the fragment', async () => {
    const browser = openBrowser(server);
    const page = await browser.submit(authorizeUrl(server, request()), {}, 'Cancel');
    expect(page.url.search).toBe('');
    expect(redirectParameters(page)).toMatchObject({ error: 'access_denied', state: 'st-1' });
  });

  test('the code flow of this client needs PKCE, which the requests above do without', async () => {
    expect((await redirectOf({ response_type: 'code' })).params).toMatchObject({
      error: 'invalid_request',
      error_description: expect.stringContaining('PKCE'),
    });
  });
});
