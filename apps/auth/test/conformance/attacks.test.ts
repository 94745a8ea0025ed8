// Tests attacks on the protocol (RFC 9700, Best Current Practice for OAuth 2.0 Security, sections 2 and 4; RFC 6749
// section 10), and attacks in the browser: framing, scripts, cookies, forged forms and stolen sessions (OWASP ASVS 5
// chapters V3, V6 and V7). docs/security.md lists which rule each test covers.
import { createHmac } from 'node:crypto';
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, openFormBrowser } from '@bay-booking/testkit/form-browser';
import { describe, expect, test } from '@jest/globals';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import { basic, patForm, scopes, startAuthServer, statusAndBody } from '../auth-server.ts';
import { authorize, authorizeUrl, openBrowser, owner, pkce, player, webCallback } from '../flows.ts';

// The limits are high, because the tests fail to sign in often.
const lockout = { accountFailures: 1000, addressFailures: 1000 };
const server = useFixture(() => startAuthServer({}, { lockout }));

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
const requestToken = (form: Record<string, string>, headers: Record<string, string>) => server.token(form, headers);
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
    `${webCallback}?next=https://evil.example`,
    `${webCallback}#fragment`,
    webCallback.replace('/callback', '/%63allback'),
    webCallback.replace('/callback', '/Callback'),
    webCallback.replace('http:', 'https:'),
    webCallback.replace(host, `${host}@evil.example`),
    webCallback.replace(host, `evil.example\\@${host}`),
    webCallback.replace(host, `user:pass@${host}`),
    webCallback.replace(':4010', ':4011'),
    webCallback.replace('localhost', '127.0.0.1'),
    'javascript:alert(document.domain)//http://localhost:4010/callback',
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

  test('a code is bound to its redirect URI and client, and other attempts leave it usable', async () => {
    const { code } = await authorize(server, web);
    for (const redirect_uri of [`${webCallback}/`, webCallback.toUpperCase(), 'https://evil.example/'])
      expect(await redeem(code, { redirect_uri })).toMatchObject(invalidGrant);
    expect(await redeem(code, {}, basic('demo-range', 'demo-range-secret'))).toMatchObject(invalidGrant);
    expect(await redeem(code, { client_id: 'demo-native' }, {})).toMatchObject(invalidGrant);
    const withoutRedirectUri = { grant_type: 'authorization_code', code: String(code) };
    expect(await requestToken(withoutRedirectUri, webSecret)).toMatchObject({ status: 400, error: 'invalid_request' });
    expect(await redeem(code)).toMatchObject({ status: 200 });
  });
});

describe('responses and credentials cannot be mixed up', () => {
  test('credentials in the query are not accepted (RFC 9700 section 4.3.2)', async () => {
    const query = new URLSearchParams(patForm);
    for (const method of ['GET', 'POST']) {
      const response = await fetch(`${server.origin}/connect/token?${query}`, { method });
      expect(await statusAndBody(response)).toMatchObject({ error: 'invalid_request' });
    }
  });

  // discovery.test.ts has the requests without a secret, and client-credentials.test.ts those that send a field twice.
  const tokenRequest = { grant_type: 'client_credentials', scope: scopes.bookings };
  const { client_id, client_secret } = patForm;
  const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  test.each<[string, Record<string, string>, Record<string, string>]>([
    ['Basic and body together', { client_id, client_secret }, basic(client_id, client_secret)],
    ['Basic of one client and client_id of another', { client_id: 'other' }, basic(client_id, client_secret)],
    ['the secret of another client', { client_id, client_secret: 'demo-web-secret' }, {}],
    ['the placeholder that oidc-provider gets as the secret', { client_id, client_secret: 'kept-as-a-hash' }, {}],
    ['an assertion type without an assertion', { client_assertion_type }, {}],
  ])('client authentication with %s fails', async (_title, credentials, headers) => {
    const response = await requestToken({ ...tokenRequest, ...credentials }, headers);
    expect([400, 401]).toContain(response.status);
    expect(String(response.error)).toMatch(/^invalid_(request|client)$/);
  });
});

describe('forged tokens are rejected (RFC 8725)', () => {
  const userinfo = (jwt: string) => server.userinfo(jwt);
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
      expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"');
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

const markup = '"><script>alert(1)</script>';
/** With `prompt=none`, only a browser with a session gets a code. */
const isSignedIn = async (browser: FormBrowser): Promise<boolean> =>
  'code' in (await authorize(server, { ...web, prompt: 'none' }, { browser }));
const openSignedInBrowser = async () => {
  const browser = openBrowser(server);
  await authorize(server, web, { browser });
  expect(await isSignedIn(browser)).toBe(true);
  return browser;
};

describe('every page forbids frames, scripts of others and caching (clickjacking: RFC 9700 section 4.16)', () => {
  const pathOf = (params: Record<string, string>) => authorizeUrl({ origin: '' }, params);
  const formPost = { nonce: 'n', response_type: 'id_token token', response_mode: 'form_post', prompt: 'none' };
  test.each<[string, string, open?: () => Promise<FormBrowser>]>([
    ['the sign-in page of a client', pathOf(web)],
    ['the consent page', pathOf({ ...web, prompt: 'consent' }), openSignedInBrowser],
    ['our own sign-in page', '/sign-in'],
    ['the registration page', '/register'],
    ['the page for a password reset', '/reset-password'],
    ['the page of an invalid link', '/reset-password/new?token=x'],
    ['the page of an expired interaction', '/interaction/x'],
    ['the page for an error of a client', pathOf({ ...web, client_id: 'x' })],
    ['the page of a device', '/device'],
    ['a page of a signed-in user', '/account', openSignedInBrowser],
    ['the page of an unknown path', '/nowhere'],
    ['the sign-out page', '/connect/endsession', openSignedInBrowser],
    ['the sign-out page while nobody is signed in', '/connect/endsession'],
    ['the page after signing out', '/connect/endsession/success'],
    ['a form_post response', pathOf({ ...spa, ...formPost })],
  ])(
    '%s forbids frames, scripts of others and caching',
    async (_title, path, open = async () => openBrowser(server)) => {
      const { headers, html } = await (await open()).open(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("base-uri 'none'");
      expect(policy).not.toMatch(/unsafe-|script-src[^;]*(\*|https?:|data:)/);
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toMatch(/no-store/);
      // Some pages of oidc-provider submit their form with one inline script. The policy contains the hash of that
      // script.
      expect((html.match(/<script(?! src="\/assets\/)/g) ?? []).length).toBe((policy.match(/'sha256-/g) ?? []).length);
    },
  );

  test('a client that opened the sign-in page as a popup can still access the popup', async () => {
    const page = await openBrowser(server).open(authorizeUrl(server, { ...web, display: 'popup' }));
    expect(page.headers.get('cross-origin-opener-policy')).toBeNull();
    const ownSignIn = await openBrowser(server).open('/sign-in');
    expect(ownSignIn.headers.get('cross-origin-opener-policy')).toBe('same-origin');
  });

  test.each([
    ['client_id', { ...web, client_id: markup }],
    ['redirect_uri', { ...web, redirect_uri: markup }],
    ['scope', { ...web, redirect_uri: 'x', scope: markup }],
    ['login_hint', { ...web, login_hint: markup }],
    ['state in a form_post', { ...web, response_mode: 'form_post', prompt: 'none', state: markup }],
    ['error of a form_post', { ...web, response_mode: 'form_post', scope: `openid ${markup}` }],
  ])('markup in %s is displayed as text', async (_title, params) => {
    const { html } = await openBrowser(server).open(authorizeUrl(server, params));
    expect(html).toContain('<html');
    expect(html).not.toContain('<script>alert');
  });
});

describe('cookies', () => {
  /** Signs in to a server with an https issuer, with the headers that a reverse proxy adds. Returns the cookies. */
  const cookiesOverHttps = async ({ origin }: { readonly origin: string }): Promise<readonly string[]> => {
    const issuer = 'https://id.bay-booking.example';
    const headers = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '192.0.2.1', Origin: issuer };
    const browser = openFormBrowser([origin], headers);
    const redirectUri = 'https://rp.example/callback';
    await server.load({ clients: [{ client_id: 'https', redirect_uris: [redirectUri], scope: web.scope }] });
    const client = { client_id: 'https', redirect_uri: redirectUri, ...pkce.challenge };
    const { url } = await browser.submit(authorizeUrl({ origin }, { ...web, ...client }), player);
    // The browser does not follow redirects to the issuer, which has no server.
    expect(url.origin).toBe(issuer);
    expect((await browser.open(url.href.replace(issuer, origin))).title).toMatch(/^Allow access/);
    return browser.cookies();
  };

  test.each([['true'], ['1'], ['false']])(
    'if ISSUER is https, cookies are Secure, HttpOnly and SameSite=Lax, and HSTS is sent (TRUST_PROXY=%s)',
    async (TRUST_PROXY) => {
      const httpsServer = await server.startInstance({ ISSUER: 'https://id.bay-booking.example', TRUST_PROXY });
      const cookies = await cookiesOverHttps(httpsServer);
      expect(cookies.map((line) => line.split('=')[0])).toEqual(
        expect.arrayContaining(['__Host-_session', '__Host-_session.sig', '_interaction', '__Host-_form']),
      );
      for (const line of cookies) {
        expect(line).toMatch(/;\s*secure/i);
        expect(line).toMatch(/;\s*httponly/i);
        expect(line).toMatch(/;\s*samesite=lax/i);
        expect(line).not.toMatch(/;\s*domain=/i);
      }
      for (const path of ['/sign-in', '/connect/authorize', '/.well-known/openid-configuration', '/nowhere']) {
        const { headers } = await fetch(httpsServer.origin + path);
        // Eight digits are at least 10,000,000 s, which is almost four months.
        expect(headers.get('strict-transport-security')).toMatch(/max-age=\d{8}/);
      }
    },
  );

  test('every sign-in gives the session a new id, and the old id is no longer valid (session fixation)', async () => {
    const browser = openBrowser(server);
    const sessionOf = () =>
      browser
        .cookieHeader()
        .split('; ')
        .filter((cookie) => cookie.startsWith('_session'));
    const authorizeWith = async (cookies: readonly string[]) => {
      const url = authorizeUrl(server, { ...web, prompt: 'none' });
      const response = await fetch(url, { redirect: 'manual', headers: { Cookie: cookies.join('; ') } });
      return response.headers.get('location');
    };
    // This page creates a session, although nobody is signed in.
    await browser.open('/connect/endsession');
    const cookiesBefore = sessionOf();
    // The session has two cookies: `_session` and its signature `_session.sig`.
    expect(cookiesBefore).toHaveLength(2);
    await authorize(server, web, { browser });
    const first = sessionOf();
    expect(await authorizeWith(first)).toContain('code=');
    await authorize(server, { ...web, prompt: 'login' }, { browser });
    const second = sessionOf();
    expect(await authorizeWith(second)).toContain('code=');
    for (const old of [cookiesBefore, first]) {
      expect(second).not.toEqual(old);
      expect(await authorizeWith(old)).toContain('error=login_required');
    }
  });

  test('a copied session cookie is invalid after the user signed out', async () => {
    const browser = await openSignedInBrowser();
    const cookie = browser.cookieHeader();
    const authorizeWithCookie = () =>
      fetch(authorizeUrl(server, { ...web, prompt: 'none' }), { redirect: 'manual', headers: { Cookie: cookie } });
    expect((await authorizeWithCookie()).headers.get('location')).toContain('code=');
    await browser.submit('/connect/endsession', {}, 'Sign out');
    expect((await authorizeWithCookie()).headers.get('location')).toContain('error=login_required');
  });
});

describe('another site cannot act for the user (CSRF)', () => {
  test('a forged form does not sign the user out', async () => {
    const browser = await openSignedInBrowser();
    await browser.open(`/connect/endsession?${new URLSearchParams({ logout: 'yes', state: 'x' })}`);
    const cookie = browser.cookieHeader();
    for (const [path, form] of [
      ['/connect/endsession/confirm', { logout: 'yes' }],
      // oidc-provider calls its CSRF token `xsrf`.
      ['/connect/endsession/confirm', { logout: 'yes', xsrf: 'made-up' }],
      ['/sign-out', {}],
      ['/sign-out', { csrf: 'made-up' }],
    ] as [string, Record<string, string>][]) {
      const response = await server.post(path, form, { Cookie: cookie, Origin: 'https://evil.example' });
      expect([400, 403]).toContain(response.status);
    }
    expect(await isSignedIn(browser)).toBe(true);
  });
});
