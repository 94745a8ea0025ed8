// Tests attacks in the browser: framing, scripts, cookies, forged forms, stolen sessions, open redirects, and
// responses that reveal whether an account exists (RFC 9700 sections 4.11 and 4.16; OWASP ASVS 5 chapters V3, V6 and
// V7).
import { useFixture } from '@bay-booking/testkit/fixture';
import type { FormBrowser, Page } from '@bay-booking/testkit/form-browser';
import { describe, expect, test } from '@jest/globals';
import type { AuthServer } from '../auth-server.ts';
import { authorize, authorizeUrl, openBrowser, player, webCallback } from '../flows.ts';
import { codeClient, redirectUri, startForRelyingParty } from './relying-party.ts';

// The limits are high, because the tests fail to sign in often.
const server = useFixture(() => startForRelyingParty({}, { accountFailures: 1000, addressFailures: 1000 }));

const web = { client_id: 'demo-web', redirect_uri: webCallback, response_type: 'code', scope: 'openid', state: 'st' };
const markup = '"><script>alert(1)</script>';
/** With `prompt=none`, only a browser with a session gets a code. */
const isSignedIn = async (browser: FormBrowser): Promise<boolean> =>
  'code' in (await authorize(server, { ...web, prompt: 'none' }, { browser }));
/** Returns the CSRF token of the form whose action contains `path`. */
const csrfOf = (page: Page, path: string): string =>
  page.forms.find(({ action }) => action.includes(path))?.fields.find(({ name }) => name === 'csrf')?.value ?? '';
/** Returns the cookies of a browser without their attributes. */
const cookiesOf = (browser: FormBrowser): string[] => browser.cookies().map((entry) => entry.split(';')[0] ?? '');
const openSignedInBrowser = async () => {
  const browser = openBrowser(server);
  await authorize(server, web, { browser });
  expect(await isSignedIn(browser)).toBe(true);
  return browser;
};

describe('every page forbids frames, scripts of others and caching (clickjacking: RFC 9700 section 4.16)', () => {
  const spa = { client_id: 'demo-spa', redirect_uri: 'http://localhost:4010/spa', scope: 'openid', nonce: 'n' };
  const endSession = () => `${server.origin}/connect/endsession`;
  test.each<[string, () => Promise<Page>]>([
    ['the sign-in page of a client', () => openBrowser(server).open(authorizeUrl(server, web))],
    [
      'the consent page',
      async () => {
        const browser = openBrowser(server);
        return browser.send(await browser.open(authorizeUrl(server, { ...web, prompt: 'consent' })), player);
      },
    ],
    ['our own sign-in page', () => openBrowser(server).open(`${server.origin}/sign-in`)],
    ['the registration page', () => openBrowser(server).open(`${server.origin}/register`)],
    ['the page for a password reset', () => openBrowser(server).open(`${server.origin}/reset-password`)],
    ['the page of an invalid link', () => openBrowser(server).open(`${server.origin}/reset-password/new?token=x`)],
    ['the page of an expired interaction', () => openBrowser(server).open(`${server.origin}/interaction/x`)],
    [
      'the page for an error of a client',
      () => openBrowser(server).open(authorizeUrl(server, { ...web, client_id: 'x' })),
    ],
    ['the page of an unknown path', () => openBrowser(server).open(`${server.origin}/nowhere`)],
    ['the sign-out page', async () => (await openSignedInBrowser()).open(endSession())],
    ['the sign-out page while nobody is signed in', () => openBrowser(server).open(endSession())],
    ['the page after signing out', () => openBrowser(server).open(`${endSession()}/success`)],
    [
      'a form_post response',
      () =>
        openBrowser(server).open(
          authorizeUrl(server, { ...spa, response_type: 'id_token token', response_mode: 'form_post', prompt: 'none' }),
        ),
    ],
  ])('%s forbids frames, scripts of others and caching', async (_title, openPage) => {
    const { headers, html } = await openPage();
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
  });

  test('a client that opened the sign-in page as a popup can still access the popup', async () => {
    const page = await openBrowser(server).open(authorizeUrl(server, { ...web, display: 'popup' }));
    expect(page.headers.get('cross-origin-opener-policy')).toBeNull();
    const ownSignIn = await openBrowser(server).open(`${server.origin}/sign-in`);
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
  /**
   * Signs in to a server with an https issuer, with the headers that a reverse proxy adds. Returns all lines of
   * Set-Cookie.
   */
  const cookiesOverHttps = async (httpsServer: AuthServer): Promise<string[]> => {
    const issuer = 'https://id.bay-booking.example';
    const headers = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '192.0.2.1', Origin: issuer };
    const cookieLines: string[] = [];
    const jar = new Map<string, string>();
    /** Sends a request and follows its redirects. Returns the body of the last response. */
    const request = async (path: string, init: RequestInit = {}): Promise<string> => {
      const Cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(httpsServer.origin + path, {
        redirect: 'manual',
        ...init,
        headers: { ...headers, Cookie },
      });
      for (const line of response.headers.getSetCookie()) {
        cookieLines.push(line);
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        jar.set(name, value);
      }
      const location = response.headers.get('location');
      if (location) expect(location).toMatch(/^(\/|https:\/\/id\.bay-booking\.example\/)/);
      return location ? request(location.replace(issuer, '')) : response.text();
    };
    const html = await request(
      authorizeUrl(httpsServer, { ...web, client_id: codeClient.id, redirect_uri: redirectUri }).replace(
        httpsServer.origin,
        '',
      ),
    );
    const action = /action="([^"]+sign-in)"/.exec(html)?.[1] ?? '';
    const csrf = /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? '';
    await request(action, { method: 'POST', body: new URLSearchParams({ ...player, csrf }) });
    return cookieLines;
  };

  test.each([['true'], ['1'], ['false']])(
    'cookies are Secure, HttpOnly and SameSite=Lax when ISSUER is https (TRUST_PROXY=%s)',
    async (TRUST_PROXY) => {
      const httpsServer = await startForRelyingParty({ ISSUER: 'https://id.bay-booking.example', TRUST_PROXY });
      const cookies = await cookiesOverHttps(httpsServer);
      await httpsServer.close();
      expect(cookies.map((line) => line.split('=')[0])).toEqual(
        expect.arrayContaining(['__Host-_session', '__Host-_session.sig', '_interaction', '__Host-_form']),
      );
      for (const line of cookies) {
        expect(line).toMatch(/;\s*secure/i);
        expect(line).toMatch(/;\s*httponly/i);
        expect(line).toMatch(/;\s*samesite=lax/i);
        expect(line).not.toMatch(/;\s*domain=/i);
      }
    },
  );

  test('an https issuer sends Strict-Transport-Security', async () => {
    const httpsServer = await startForRelyingParty({ ISSUER: 'https://id.bay-booking.example' });
    for (const path of ['/sign-in', '/connect/authorize', '/.well-known/openid-configuration', '/nowhere']) {
      const { headers } = await fetch(httpsServer.origin + path);
      // Eight digits are at least 10,000,000 s, which is almost four months.
      expect(headers.get('strict-transport-security')).toMatch(/max-age=\d{8}/);
    }
    await httpsServer.close();
  });

  test('every sign-in gives the session a new id, and the old id is no longer valid (session fixation)', async () => {
    const browser = openBrowser(server);
    const sessionOf = () => cookiesOf(browser).filter((cookie) => cookie.startsWith('_session'));
    const authorizeWith = async (cookies: readonly string[]) => {
      const url = authorizeUrl(server, { ...web, prompt: 'none' });
      const response = await fetch(url, { redirect: 'manual', headers: { Cookie: cookies.join('; ') } });
      return response.headers.get('location');
    };
    // This page creates a session, although nobody is signed in.
    await browser.open(`${server.origin}/connect/endsession`);
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
    const cookie = cookiesOf(browser).join('; ');
    const authorizeWithCookie = () =>
      fetch(authorizeUrl(server, { ...web, prompt: 'none' }), { redirect: 'manual', headers: { Cookie: cookie } });
    expect((await authorizeWithCookie()).headers.get('location')).toContain('code=');
    await browser.send(await browser.open(`${server.origin}/connect/endsession`), {}, 'Sign out');
    expect((await authorizeWithCookie()).headers.get('location')).toContain('error=login_required');
  });
});

describe('the same request sent many times at once succeeds or is rejected, without a server error', () => {
  /** Returns the header Cookie that the browser sends to this path. */
  const cookiesAt = (browser: FormBrowser, path: string): string =>
    browser
      .cookies()
      .filter((cookie) => path.startsWith(/Path=(.*)$/.exec(cookie)?.[1] ?? '/'))
      .map((cookie) => cookie.split(';')[0])
      .join('; ');
  /** Sends a request eight times in parallel. Returns the address to which the successful response redirects. */
  const sendEightTimes = async (send: () => Promise<Response>): Promise<URL> => {
    const responses = await Promise.all(Array.from({ length: 8 }, send));
    for (const { status } of responses) expect([303, 400]).toContain(status);
    const success = responses.find(({ status }) => status === 303);
    return new URL(success?.headers.get('location') ?? '', server.origin);
  };

  test('a consent and the request that follows it can be sent many times at once', async () => {
    const browser = openBrowser(server);
    const consent = await browser.send(await browser.open(authorizeUrl(server, { ...web, prompt: 'consent' })), player);
    const { pathname } = consent.url;
    const csrf = csrfOf(consent, '/consent');
    const headers = { Cookie: cookiesAt(browser, pathname) };
    const resume = await sendEightTimes(() => server.post(`${pathname}/consent`, { csrf, decision: 'allow' }, headers));
    const Cookie = cookiesAt(browser, resume.pathname);
    const back = await sendEightTimes(() => fetch(resume, { redirect: 'manual', headers: { Cookie } }));
    expect(back.searchParams.get('code')).toBeTruthy();
    expect((await server.post(`${pathname}/consent`, { csrf, decision: 'allow' }, headers)).status).toBe(400);
  });

  test('a sign-in form can be sent many times at once', async () => {
    const browser = await openSignedInBrowser();
    // With `again=1`, the page shows its form although the user is signed in.
    const page = await browser.open(`${server.origin}/sign-in?again=1`);
    const csrf = csrfOf(page, '/sign-in');
    const headers = { Cookie: cookiesAt(browser, '/sign-in') };
    await sendEightTimes(() => server.post('/sign-in?again=1', { ...player, csrf }, headers));
  });
});

describe('another site cannot act for the user (CSRF)', () => {
  test('a forged form does not sign the user out', async () => {
    const browser = await openSignedInBrowser();
    await browser.open(`${server.origin}/connect/endsession?${new URLSearchParams({ logout: 'yes', state: 'x' })}`);
    const cookie = cookiesOf(browser).join('; ');
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

  test('a forged form neither signs in nor consents', async () => {
    const browser = openBrowser(server);
    const page = await browser.open(authorizeUrl(server, { ...web, prompt: 'consent' }));
    const cookie = cookiesOf(browser).join('; ');
    const csrf = csrfOf(page, '/sign-in');
    const withoutToken = { ...player };
    const withToken = { ...player, csrf };
    for (const [form, headers] of [
      [withoutToken, { Cookie: cookie }],
      [withToken, {}],
      [withToken, { Cookie: cookie, Origin: 'https://evil.example' }],
      [withToken, { Cookie: cookie, Origin: 'null' }],
      [withToken, { Cookie: cookie, 'Sec-Fetch-Site': 'same-site' }],
    ] as [Record<string, string>, Record<string, string>][]) {
      expect((await server.post(`${page.url.pathname}/sign-in`, form, headers)).status).toBe(403);
      expect((await server.post(`${page.url.pathname}/consent`, { ...form, decision: 'allow' }, headers)).status).toBe(
        403,
      );
    }
  });
});

describe('after signing in at our own pages, the user stays on this server (open redirect: RFC 9700 section 4.11)', () => {
  test.each([
    'https://evil.example/',
    '//evil.example/',
    '///evil.example/',
    '/\\evil.example/',
    '\\\\evil.example/',
    '/\t/evil.example/',
    '/%09/evil.example/',
    '/..//evil.example/',
    '/./\\/evil.example',
    'javascript:alert(1)',
    'http:evil.example',
    '/\r\nLocation: https://evil.example',
    '@evil.example',
    '.evil.example',
  ])('the parameter return=%j leads to a page of this server', async (address) => {
    const browser = openBrowser(server);
    const page = await browser.open(`${server.origin}/sign-in?${new URLSearchParams({ return: address })}`);
    const back = await browser.send(page, player);
    expect(back.url.origin).toBe(server.origin);
    expect(back.url.pathname).not.toMatch(/^\/[/\\]/);
  });
});

describe('a response does not reveal whether an account exists', () => {
  /** Submits a form in a new browser. Returns the response without the CSRF token and the user name. */
  const submit = async (path: string, fields: { username: string; password?: string }) => {
    const browser = openBrowser(server);
    const page = await browser.send(await browser.open(server.origin + path), fields);
    const html = page.html.replace(/name="csrf" value="[^"]*"/g, '').replaceAll(fields.username, '…');
    return { status: page.status, html };
  };

  test('the sign-in page shows the same error for known, unknown, disabled and service accounts', async () => {
    const signIn = (username: string) => submit('/sign-in', { username, password: 'wrong' });
    await server.db('account').where({ id: 'acc-owner-north' }).update({ disabled_at: new Date() });
    const unknown = await signIn('nobody@example.com');
    expect(unknown.status).toBe(400);
    for (const name of ['player@example.com', 'PLAYER@example.com', 'owner@north.example', 'bot@north.example']) {
      expect(await signIn(name)).toEqual(unknown);
    }
    await server.db('account').where({ id: 'acc-owner-north' }).update({ disabled_at: null });
  });

  test('the page for a password reset shows the same text for known and unknown accounts', async () => {
    const requestReset = (username: string) => submit('/reset-password', { username });
    expect(await requestReset('player@example.com')).toEqual(await requestReset('nobody@example.com'));
  });
});

test('a HEAD request, as mail scanners send it, does not use up a mailed link', async () => {
  const browser = openBrowser(server);
  const form = { name: 'Nora', username: 'nora@example.org', password: 'seven unusual lamps' };
  await browser.send(await browser.open(`${server.origin}/register`), form);
  // The test server sends no e-mails. It logs their links instead.
  const link = new RegExp(`${server.origin}/verify-email\\?token=[\\w-]+`).exec(server.log.join('\n'))?.[0] ?? '';
  expect((await fetch(link, { method: 'HEAD' })).status).toBe(200);
  const page = await browser.open(link);
  expect(page.title).toMatch(/^Confirm your address/);
  expect((await browser.send(page, {}, 'Confirm my address')).title).toMatch(/^Your address is confirmed/);
});
