// Tests attacks on the protocol (RFC 9700, Best Current Practice for OAuth 2.0 Security, sections 2 and 4; RFC 6749
// section 10). docs/security.md lists which rule each test covers. attacks-pages.test.ts tests attacks on pages and
// sessions.
import { createHmac } from 'node:crypto';
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import { basic, scopes, statusAndBody } from '../auth-server.ts';
import { authorize, authorizeUrl, openBrowser, owner, pkce, player, webCallback } from '../flows.ts';
import { startForRelyingParty } from './relying-party.ts';

const server = useFixture(() => startForRelyingParty());

/** Authorization requests of three demo clients: a confidential client, and two public clients. */
const web = {
  client_id: 'demo-web',
  redirect_uri: webCallback,
  response_type: 'code',
  scope: `openid ${scopes.play}`,
  state: 'st',
};
const spa = { ...web, client_id: 'demo-spa', redirect_uri: 'http://localhost:4010/spa' };
const native = { ...web, client_id: 'demo-native', redirect_uri: 'com.example.demo:/callback' };
const webSecret = basic('demo-web', 'demo-web-secret');
/** Sends an authorization request as a browser does, without following redirects. */
const visit = (params: Record<string, string>) =>
  fetch(authorizeUrl(server, params), { redirect: 'manual', headers: { Accept: 'text/html' } });
const requestToken = async (form: Record<string, string | readonly string[]>, headers: Record<string, string> = {}) =>
  statusAndBody(await server.post('/connect/token', form, headers));
const redeem = (code: string | undefined, more: Record<string, string> = {}, headers = webSecret) =>
  requestToken(
    { grant_type: 'authorization_code', code: String(code), redirect_uri: web.redirect_uri, ...more },
    headers,
  );
const invalidGrant = { status: 400, error: 'invalid_grant' };

describe('a redirect URI is compared character by character (RFC 9700 sections 2.1 and 4.1)', () => {
  const { host } = new URL(webCallback);
  test.each([
    'https://evil.example/callback',
    `${webCallback}/`,
    `${webCallback}/../evil`,
    `${webCallback}x`,
    `${webCallback}?next=https://evil.example`,
    `${webCallback}#fragment`,
    `${webCallback}%00`,
    `${webCallback}\n`,
    ` ${webCallback}`,
    `${webCallback} https://evil.example`,
    webCallback.replace('/callback', '/%63allback'),
    webCallback.replace('/callback', '/Callback'),
    webCallback.replace('/callback', '//callback'),
    webCallback.replace('http:', 'HTTP:'),
    webCallback.replace('http:', 'https:'),
    webCallback.replace(host, `${host}@evil.example`),
    webCallback.replace(host, `${host}.evil.example`),
    webCallback.replace(host, `evil.example\\@${host}`),
    webCallback.replace(host, `user:pass@${host}`),
    webCallback.replace(':4010', ':4011'),
    webCallback.replace('localhost', '127.0.0.1'),
    'javascript:alert(document.domain)//http://localhost:4010/callback',
    'data:text/html,<script>alert(1)</script>',
    '//localhost:4010/callback',
    '/callback',
    '',
  ])('a request with the redirect URI %j shows an error page and is not redirected', async (redirectUri) => {
    // With a registered redirect URI, the errors of the second and the third request are sent to that redirect URI.
    for (const params of [web, { ...web, prompt: 'none' }, { ...web, scope: 'unknown' }]) {
      const response = await visit({ ...params, redirect_uri: redirectUri });
      expect({ status: response.status, location: response.headers.get('location') }).toEqual({
        status: 400,
        location: null,
      });
      expect(response.headers.get('set-cookie') ?? '').not.toContain('_interaction=');
    }
  });

  test.each([
    ['com.example.demo:/callback', true],
    ['http://127.0.0.1:51234/callback', true],
    ['http://127.0.0.1:51234/other', false],
    ['http://127.0.0.1.evil.example:51234/callback', false],
    ['http://127.0.0.1:51234@evil.example/callback', false],
    ['http://127.0.0.2:51234/callback', false],
    ['http://127.1:51234/callback', false],
    ['https://127.0.0.1:51234/callback', false],
    ['com.example.demo://evil.example/callback', false],
    ['com.example.demo.evil:/callback', false],
  ])(
    'the redirect URI %s of a native client is accepted: %s (RFC 8252 section 7.3)',
    async (redirectUri, isAccepted) => {
      expect((await visit({ ...native, redirect_uri: redirectUri })).status).toBe(isAccepted ? 303 : 400);
    },
  );

  test('the redirect URI of a token request must be the redirect URI of the authorization request', async () => {
    const { code } = await authorize(server, web);
    for (const redirect_uri of [`${webCallback}/`, webCallback.toUpperCase(), 'https://evil.example/']) {
      expect(await redeem(code, { redirect_uri })).toMatchObject(invalidGrant);
    }
    const withoutRedirectUri = { grant_type: 'authorization_code', code: String(code) };
    expect(await requestToken(withoutRedirectUri, webSecret)).toMatchObject({ status: 400, error: 'invalid_request' });
    expect(await redeem(code)).toMatchObject({ status: 200 });
  });

  test('repeated parameters are rejected, and the user is not sent to a second redirect URI', async () => {
    for (const name of ['client_id', 'redirect_uri', 'response_type', 'scope', 'state', 'code_challenge', 'prompt']) {
      const query = new URLSearchParams(web);
      query.append(name, name === 'redirect_uri' ? 'https://evil.example/' : 'other');
      // The request of `web` does not contain this parameter, so a second value is needed to repeat the parameter.
      if (!(name in web)) query.append(name, 'another');
      const response = await fetch(`${server.origin}/connect/authorize?${query}`, { redirect: 'manual' });
      const location = response.headers.get('location');
      if (location === null) expect(response.status).toBe(400);
      else expect(location).toMatch(/^http:\/\/localhost:4010\/callback\?error=invalid_request&/);
    }
  });
});

describe('PKCE cannot be removed by an attacker (RFC 9700 sections 2.1.1 and 4.8)', () => {
  const withChallenge = { ...web, ...pkce.challenge };

  test('a code of a request with a challenge needs the verifier, also from a confidential client', async () => {
    const { code } = await authorize(server, withChallenge);
    expect(await redeem(code)).toMatchObject(invalidGrant);
    expect(await redeem(code, { code_verifier: `${pkce.verifier.slice(0, -1)}_` })).toMatchObject(invalidGrant);
    expect(await redeem(code, { code_verifier: pkce.challenge.code_challenge })).toMatchObject(invalidGrant);
    expect(await redeem(code, { code_verifier: pkce.verifier })).toMatchObject({ status: 200 });
  });

  test('a verifier without a challenge in the request is rejected', async () => {
    const { code } = await authorize(server, web);
    expect(await redeem(code, { code_verifier: pkce.verifier })).toMatchObject(invalidGrant);
    const { code: codeOfNative } = await authorize(server, native);
    const form = { code_verifier: pkce.verifier, client_id: 'demo-native', redirect_uri: native.redirect_uri };
    expect(await redeem(codeOfNative, form, {})).toMatchObject(invalidGrant);
  });

  test.each([
    ['the method plain', { code_challenge: pkce.verifier, code_challenge_method: 'plain' }],
    ['no method, which means plain', { code_challenge: pkce.challenge.code_challenge }],
    ['a method without a challenge', { code_challenge_method: 'S256' }],
    ['an invalid challenge', { code_challenge: 'short', code_challenge_method: 'S256' }],
  ])('an authorization request with %s gives invalid_request', async (_title, params) => {
    const location = new URL((await visit({ ...web, ...params })).headers.get('location') ?? '');
    expect(location.searchParams.get('error')).toBe('invalid_request');
  });

  test('a code cannot be redeemed with the verifier of another request (code injection)', async () => {
    const { code } = await authorize(server, { ...spa, ...pkce.challenge });
    const form = { client_id: 'demo-spa', redirect_uri: spa.redirect_uri };
    expect(await redeem(code, { ...form, code_verifier: 'v'.repeat(43) }, {})).toMatchObject(invalidGrant);
  });
});

describe('responses and credentials cannot be mixed up', () => {
  test.each([
    ['a code', web],
    ['an error', { ...web, prompt: 'none' }],
    ['a token', { ...spa, response_type: 'token', scope: scopes.play }],
    ['an error in the fragment', { ...spa, response_type: 'token', scope: scopes.play, prompt: 'none' }],
  ])('the response with %s names its issuer (RFC 9700 section 4.4, RFC 9207)', async (_title, params) => {
    expect(await authorize(server, params)).toMatchObject({ iss: server.origin, state: 'st' });
  });

  test('a code is bound to its client, and an attempt by another client leaves it usable', async () => {
    const { code } = await authorize(server, web);
    const range = basic('demo-range', 'demo-range-secret');
    expect(await redeem(code, {}, range)).toMatchObject(invalidGrant);
    expect(await redeem(code, { client_id: 'demo-native' }, {})).toMatchObject(invalidGrant);
    expect(await redeem(code)).toMatchObject({ status: 200 });
  });

  test('credentials in the query are not accepted (RFC 9700 section 4.3.2)', async () => {
    const query = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'demo-pat-north',
      client_secret: 'demo-pat-north-secret',
      scope: scopes.bookings,
    });
    for (const method of ['GET', 'POST']) {
      const response = await fetch(`${server.origin}/connect/token?${query}`, { method });
      expect(await statusAndBody(response)).toMatchObject({ error: 'invalid_request' });
    }
  });

  const tokenRequest = { grant_type: 'client_credentials', scope: scopes.bookings };
  const [id, secret] = ['demo-pat-north', 'demo-pat-north-secret'];
  test.each<[string, Record<string, string | readonly string[]>, Record<string, string>]>([
    ['Basic and body together', { client_id: id, client_secret: secret }, basic(id, secret)],
    ['Basic of one client and client_id of another', { client_id: 'demo-pat-south' }, basic(id, secret)],
    ['an id without its secret', { client_id: id }, {}],
    ['an empty secret', { client_id: id, client_secret: '' }, {}],
    ['the secret of another client', { client_id: id, client_secret: 'demo-web-secret' }, {}],
    [
      'the placeholder that oidc-provider gets instead of the secret',
      { client_id: id, client_secret: 'kept-as-a-hash' },
      {},
    ],
    ['a public client with a secret', { client_id: 'demo-spa', client_secret: 'x' }, {}],
    ['two ids', { client_id: [id, 'demo-web'], client_secret: secret }, {}],
    ['two secrets', { client_id: id, client_secret: ['x', secret] }, {}],
    [
      'an assertion type without an assertion',
      { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' },
      {},
    ],
  ])('client authentication with %s fails', async (_title, credentials, headers) => {
    const response = await requestToken({ ...tokenRequest, ...credentials }, headers);
    expect([400, 401]).toContain(response.status);
    expect(String(response.error)).toMatch(/^invalid_(request|client)$/);
  });

  test('a repeated parameter at the token endpoint gives invalid_request', async () => {
    const form = { grant_type: 'password', client_id: 'demo-native', ...player, scope: scopes.play };
    for (const name of Object.keys(form) as (keyof typeof form)[]) {
      expect(await requestToken({ ...form, [name]: [form[name], form[name]] })).toMatchObject({
        status: 400,
        error: 'invalid_request',
      });
    }
  });
});

describe('forged tokens are rejected (RFC 8725)', () => {
  const userinfo = (jwt: string) =>
    fetch(`${server.origin}/connect/userinfo`, { headers: { Authorization: `Bearer ${jwt}` } });
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  /** Obtains a valid access token. Returns the token, its header and claims, and the id_token. */
  const obtainToken = async () => {
    const { code } = await authorize(server, web);
    const { access_token: jwt, id_token: idToken } = await redeem(code);
    const [header = '', payload = ''] = String(jwt).split('.');
    const decode = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString());
    return { jwt: String(jwt), idToken: String(idToken), header: decode(header), claims: decode(payload) };
  };
  const publicKeys = async (): Promise<JWK[]> =>
    ((await (await fetch(`${server.origin}/connect/jwks`)).json()) as { keys: JWK[] }).keys;

  test('userinfo and introspection reject tokens with another algorithm, key, signature or type', async () => {
    const { jwt, idToken, header, claims } = await obtainToken();
    expect((await userinfo(jwt)).status).toBe(200);
    const ourKey = (await publicKeys()).find(({ alg }) => alg === 'ES256') as JWK;
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const signWithOtherKey = (extra: object) =>
      new SignJWT(claims).setProtectedHeader({ ...header, ...extra }).sign(privateKey);
    const hmac = (key: string): string => {
      const input = `${encode({ ...header, alg: 'HS256' })}.${encode(claims)}`;
      return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`;
    };
    const spki = await exportSPKI((await importJWK(ourKey, 'ES256')) as CryptoKey);
    const forged = {
      'no algorithm': `${encode({ ...header, alg: 'none' })}.${encode(claims)}.`,
      'no signature': `${jwt.split('.').slice(0, 2).join('.')}.`,
      'the public key as HMAC key': hmac(spki),
      'the JWK as HMAC key': hmac(JSON.stringify(ourKey)),
      'another key with our kid': await signWithOtherKey({}),
      'a key in its own header': await signWithOtherKey({ jwk: { ...ourKey, ...(await exportJWK(publicKey)) } }),
      'the address of a key set in its header': await signWithOtherKey({
        jku: 'https://evil.example/jwks',
        kid: 'evil',
      }),
      'changed claims': [jwt.split('.')[0], encode({ ...claims, sub: 'acc-owner-north' }), jwt.split('.')[2]].join('.'),
      'a signature of zeros': `${jwt.split('.').slice(0, 2).join('.')}.${Buffer.alloc(64).toString('base64url')}`,
      'an id_token': idToken,
    };
    for (const [title, token] of Object.entries(forged)) {
      const response = await userinfo(token);
      expect({ title, status: response.status }).toEqual({ title, status: 401 });
      const introspection = await server.post('/connect/introspect', { token }, webSecret);
      expect({ title, ...(await statusAndBody(introspection)) }).toEqual({ title, status: 200, active: false });
    }
  });

  test('id_token_hint must be an id_token, and the hint of another user gives login_required', async () => {
    const { jwt, idToken } = await obtainToken();
    const browser = openBrowser(server);
    await authorize(server, web, { browser, user: owner });
    const authorizeWithHint = (hint: string) =>
      authorize(server, { ...web, prompt: 'none', id_token_hint: hint }, { browser, user: owner });
    expect(await authorizeWithHint(idToken)).toMatchObject({ error: 'login_required' });
    expect(await authorizeWithHint(jwt)).toMatchObject({ error: 'invalid_request' });
    expect(await authorizeWithHint('made.up.hint')).toMatchObject({ error: 'invalid_request' });
  });
});
