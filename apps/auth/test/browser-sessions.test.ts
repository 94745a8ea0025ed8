// Tests the session of a browser (its end, and concurrent changes by two tabs or by a page that renews its tokens
// silently), and the CSRF protection, headers and error pages that all pages share (docs/behaviour-auth.md, "Pages").
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, fieldOf, linkTo, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { textOf } from '@bay-booking/testkit/html-forms';
import { eventually } from '@bay-booking/testkit/wait';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { scopes, startAuthServer } from './auth-server.ts';
import { createDevice } from './device-fixture.ts';
import {
  allow,
  authorizeUrl,
  openBrowser,
  player,
  redirectParameters,
  signInAndConsent,
  webCallback,
  webRequest,
} from './flows.ts';
import { password, registerUser, signInUser } from './test-users.ts';

const server = useFixture(() => startAuthServer());

// src/html/local-path.test.ts has other addresses.
test('a user does not return to another server after signing in', async () => {
  const browser = openBrowser(server);
  const page = await browser.submit(`/sign-in?return=${encodeURIComponent('/\\evil.example')}`, player);
  expect(page.url.href).toBe(`${server.origin}/account`);
});

/** Changes the database as if nobody had signed in or used a session for these minutes. A session is idle after 120. */
async function idleFor(minutes: number): Promise<void> {
  await server.db.raw('update browser_session set seen_at = now() - make_interval(mins => ?)', [minutes]);
  await server.db.raw(
    `update oidc_artifact
        set payload = jsonb_set(payload, '{loginTs}', to_jsonb((payload ->> 'loginTs')::int - ? * 60))
      where model = 'Session' and payload ->> 'loginTs' is not null`,
    [minutes],
  );
}

describe('no page and no endpoint finds an idle session', () => {
  const request = { response_type: 'code', client_id: 'demo-web', redirect_uri: webCallback, scope: 'openid' };
  const signIn = async (): Promise<FormBrowser> => {
    const { username, browser } = await registerUser(server);
    await signInAndConsent(browser, await browser.open(authorizeUrl(server, request)), { username, password });
    return browser;
  };
  const silentRequest = async (browser: FormBrowser) =>
    redirectParameters(await browser.open(authorizeUrl(server, { ...request, prompt: 'none' })));

  test('an authorization request needs a sign-in, and silently returns login_required', async () => {
    const browser = await signIn();
    expect((await silentRequest(browser)).code).toBeDefined();
    await idleFor(121);
    expect((await silentRequest(browser)).error).toBe('login_required');
    expect((await browser.open(authorizeUrl(server, request))).title).toMatch(/^Sign in/);
  });

  test('a device is connected only after a sign-in', async () => {
    const browser = await signIn();
    await idleFor(121);
    const device = createDevice(server);
    const codes = await device.start();
    expect((await browser.send(await device.enter(codes.user_code, browser), {}, allow)).title).toMatch(/^Sign in/);
    expect(await device.poll(codes)).toMatchObject({ error: 'authorization_pending' });
  });

  test('the account, the portal and the page to sign out show no user', async () => {
    for (const path of ['/account', '/portal', '/connect/endsession', '/device', '/sign-in?again=1']) {
      const browser = await signIn();
      await idleFor(121);
      const { title, html } = await browser.open(server.origin + path);
      expect(`${title} ${html}`).not.toMatch(/Petra|Your account|Confirm that it is you/);
    }
  });

  test('the list of sessions does not contain it', async () => {
    const { username } = await registerUser(server);
    await idleFor(121);
    const { account } = await signInUser(server, username);
    expect(account.html.match(/Chrome on Linux/g)).toHaveLength(1);
  });

  test('the requests of clients count as uses of the session', async () => {
    const browser = await signIn();
    for (let round = 0; round < 3; round++) {
      await idleFor(100);
      expect((await silentRequest(browser)).code).toBeDefined();
    }
    expect((await browser.open('/account')).title).toMatch(/^Your account/);
  });
});

test('the stored session does not contain the value of the session cookie', async () => {
  const { browser } = await registerUser(server);
  const client = { client_id: 'demo-native', redirect_uri: 'com.example.demo:/callback' };
  await browser.open(authorizeUrl(server, { response_type: 'code', ...client, scope: scopes.play }));
  const cookie = browser.cookies().find((entry) => entry.startsWith('_session=')) ?? '';
  const [, value = ''] = /^_session=([^;]+)/.exec(cookie) ?? [];
  expect(value.length).toBeGreaterThan(20);
  const { rows } = await server.db.raw('select json_agg(a)::text as stored from oidc_artifact a');
  expect(rows[0].stored).not.toContain(value);
});

describe('concurrent requests of one browser do not undo each other’s changes of the session', () => {
  const scope = `openid ${scopes.play}`;
  const web = { response_type: 'code', client_id: 'demo-web', redirect_uri: 'http://localhost:4010/callback', scope };
  const range = { response_type: 'code', client_id: 'demo-range', redirect_uri: 'http://localhost:4010/range', scope };

  let browser: FormBrowser;
  beforeEach(async () => {
    await server.db.raw("delete from oidc_artifact where model = 'Session'");
    browser = openBrowser(server);
    await browser.submit('/account', player);
  });

  /** Returns the header Cookie with the session cookies that a response sets. */
  const sessionCookie = (response: Response): string =>
    response.headers
      .getSetCookie()
      .filter((cookie) => cookie.startsWith('_session'))
      .map((cookie) => cookie.split(';')[0])
      .join('; ');
  const get = (url: string | URL, Cookie: string): Promise<Response> =>
    fetch(url, { redirect: 'manual', headers: { Cookie } });
  /**
   * Sends an authorization request that shows no page (`prompt=none`), as a client does to renew its tokens. If nobody
   * is signed in, the redirect contains `login_required`.
   */
  const renewSilently = (client: typeof web, Cookie: string) =>
    get(authorizeUrl(server, { ...client, prompt: 'none' }), Cookie);
  /** Returns the error in a redirect to the client, or null if there is none. */
  const errorOf = (response: Response) => new URL(response.headers.get('location') ?? '').searchParams.get('error');

  /**
   * Allows all scopes on the consent page. Returns a function that sends the next request of the authorization flow.
   * The server stores the consent in the session during this request.
   */
  async function allowAll(consent: Page): Promise<() => Promise<Response>> {
    const { pathname } = consent.url;
    const form = consent.forms.find(({ action }) => action.endsWith('/consent'));
    const csrf = fieldOf(consent, 'csrf', { action: '/consent' }) ?? '';
    const scopesOnPage = form?.fields.filter(({ name }) => name === 'scope').map(({ value }) => value) ?? [];
    const decision = { csrf, decision: 'allow', scope: scopesOnPage };
    const response = await server.post(`${pathname}/consent`, decision, { Cookie: browser.cookieHeader(pathname) });
    const resume = new URL(response.headers.get('location') ?? '', server.origin);
    return () => get(resume, browser.cookieHeader(resume.pathname));
  }

  /** Locks the sessions in a transaction, so that no request can write a session before this transaction ends. */
  const lockSessions = async () => {
    const lock = await server.db.transaction();
    await lock.raw("select 1 from oidc_artifact where model = 'Session' for update");
    return lock;
  };
  const waitForBlockedRequests = (count: number) =>
    eventually(async () => {
      const { rows } = await server.db.raw(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rows.length === count;
    });

  /**
   * Sends requests that all read the session before one of them writes it. They write the session in the given order.
   */
  async function runConcurrently<T>(...requests: readonly (() => Promise<T>)[]): Promise<T[]> {
    const lock = await lockSessions();
    const running: Promise<T>[] = [];
    for (const request of requests) {
      running.push(request());
      await waitForBlockedRequests(running.length);
    }
    await lock.rollback();
    return Promise.all(running);
  }

  test('two concurrent consents are both stored', async () => {
    const consents = [
      await allowAll(await browser.open(authorizeUrl(server, web))),
      await allowAll(await browser.open(authorizeUrl(server, range))),
    ];
    const responses = await runConcurrently(...consents);
    expect(responses.map(errorOf)).toEqual([null, null]);
    const session = sessionCookie(responses[1] as Response);
    expect(errorOf(await renewSilently(web, session))).toBeNull();
    expect(errorOf(await renewSilently(range, session))).toBeNull();
  });

  test('a user can confirm a sign-out although a client renewed its tokens in the meantime', async () => {
    const url = `${server.origin}/connect/endsession`;
    const [confirmation] = await runConcurrently(
      () => browser.open(url),
      async () => void (await renewSilently(web, browser.cookieHeader('/connect/authorize'))),
    );
    const page = await browser.send(confirmation as Page, {}, { name: 'logout', value: 'yes' });
    expect(page.title).toMatch(/signed out/i);
    expect((await browser.open('/account')).title).toMatch(/^Sign in/);
  });

  test.each([
    ['a client renews its tokens', async () => () => renewSilently(web, browser.cookieHeader('/connect/authorize'))],
    ['the user gives a consent', async () => allowAll(await browser.open(authorizeUrl(server, web)))],
  ])('a session that ends while %s is not stored again', async (_title, prepare) => {
    // A remembered consent has no page.
    await server.db('consent').del();
    const request = await prepare();
    const lock = await lockSessions();
    const running = request();
    await waitForBlockedRequests(1);
    await lock.raw("delete from oidc_artifact where model = 'Session'");
    await lock.commit();
    const session = sessionCookie(await running);
    expect(session).not.toBe('');
    expect(errorOf(await renewSilently(web, session))).toBe('login_required');
  });
});

/** Returns the address of an authorization request. */
const authorizeAddress = (params: Record<string, string> = {}): string =>
  authorizeUrl(server, { ...webRequest, scope: `openid ${scopes.play}`, ...params });
/** Opens a browser that asks for HTML. Without this `Accept` header, some protocol endpoints would return JSON. */
const openHtmlBrowser = () => openFormBrowser([server.origin], { Accept: 'text/html' });
const signedInBrowser = async () => {
  const browser = openHtmlBrowser();
  await browser.submit('/sign-in', player);
  return browser;
};

const wayOnOf = ({ links }: Page) =>
  links
    .filter(({ text }) => /^(Back to|Go to) /.test(text))
    .map(({ href, text }) => `${text}: ${new URL(href, server.origin)}`);
const toPortal = () => [`Go to the portal: ${server.origin}/portal`];
const toApplication = [`Back to Demo web: ${new URL('/', webRequest.redirect_uri)}`];

describe('CSRF protection', () => {
  test('a form without a CSRF token of the same browser gets 403', async () => {
    const browser = openBrowser(server);
    const signIn = await browser.open(authorizeAddress());
    const otherPage = await openBrowser(server).open(authorizeAddress());
    const csrf = fieldOf(otherPage, 'csrf') ?? '';
    expect((await browser.send(signIn, { ...player, csrf })).status).toBe(403);
    expect((await browser.send(signIn, { ...player, csrf: '' })).status).toBe(403);
    const forged = await fetch(`${server.origin}/sign-in`, { method: 'POST', body: new URLSearchParams(player) });
    expect(forged.status).toBe(403);
  });

  test('a form from another site gets 403, even with the right CSRF token', async () => {
    const browser = openFormBrowser([server.origin], { 'Sec-Fetch-Site': 'cross-site' });
    const rejected = await browser.submit('/sign-in', player);
    expect(rejected.status).toBe(403);
    expect(rejected.links.map(({ href }) => href)).toContainEqual(expect.stringMatching(/\/(sign-in|portal)$/));
  });

  test.each([
    [{ 'Sec-Fetch-Site': 'same-origin' }, 200],
    [{ 'Sec-Fetch-Site': 'none' }, 403],
    [{ 'Sec-Fetch-Site': 'cross-site' }, 403],
    [{}, 403],
  ])(
    'a form with the origin null, as behind a proxy that sets no-referrer, and %p gets %i',
    async (headers, status) => {
      const browser = openFormBrowser([server.origin], { Origin: 'null', Referer: '', ...(headers as object) });
      const signIn = await browser.open('/sign-in');
      expect((await browser.send(signIn, { ...player, csrf: 'wrong' })).status).toBe(403);
      expect((await browser.send(signIn, player)).status).toBe(status);
    },
  );
});

// conformance/attacks.test.ts tests the other headers of every page.
test('the headers of a page allow scripts of this site only, and form-action unless the form may lead to a client', async () => {
  const browser = openBrowser(server);
  const page = await browser.open(authorizeAddress());
  const policy = page.headers.get('content-security-policy');
  expect(policy).toContain("script-src 'self';");
  // The form of this page ends in a redirect to the client, and the client may redirect further. Browsers apply
  // `form-action` to all these redirects, so the directive would block them.
  expect(policy).not.toContain('form-action');
  const register = await browser.open(linkTo(page, 'Create an account'));
  expect(register.headers.get('content-security-policy')).not.toContain('form-action');
  const direct = await openBrowser(server).open('/sign-in');
  expect(direct.headers.get('content-security-policy')).toContain("form-action 'self'");
  expect(page.html).not.toMatch(/style="|\son\w+=/);
});

test('every expired sign-in shows the same text', async () => {
  const signIn = await openBrowser(server).open(authorizeAddress());
  const pages = [
    // The interaction belongs to another browser, or does not exist.
    await openBrowser(server).open(signIn.url),
    await openBrowser(server).open('/interaction/none'),
    // The browser returns to an authorization request that does not exist.
    await openBrowser(server).open('/connect/authorize/none'),
    // The callback of a social provider names a flow that does not exist.
    await openBrowser(server).open('/social/google/callback?state=none'),
  ];
  for (const page of pages) {
    expect(page.status).toBe(400);
    expect(page.title).toMatch(/^This sign-in has expired/);
    expect(textOf(page.html)).toContain(
      'It was open for too long, is already complete, or was started in another browser.',
    );
    expect(wayOnOf(page)).toEqual(page.url.pathname === signIn.url.pathname ? toApplication : toPortal());
  }
});

describe('error pages', () => {
  const detail = (page: Page, name: string) =>
    textOf(new RegExp(`<dt>${name}</dt>\\s*<dd>(.*?)</dd>`).exec(page.html)?.[1] ?? '');

  test('an error that cannot be sent to the client is a page that names the client and the redirect URI', async () => {
    const page = await openBrowser(server).open(authorizeAddress({ redirect_uri: 'https://evil.example/<b>' }));
    expect(page.status).toBe(400);
    expect(page.title).toMatch(/^This sign-in cannot continue/);
    expect(detail(page, 'Error')).toContain('redirect_uri');
    expect(detail(page, 'Application')).toBe('Demo web');
    expect(detail(page, 'Return address')).toBe('https://evil.example/<b>');
    // The address may belong to an attacker, so the page does not show it as a link.
    expect(page.html).not.toContain('href="https://evil.example');
  });

  test('the error page after a failed sign-out has the title “You could not be signed out”', async () => {
    const url = `${server.origin}/connect/endsession?client_id=nobody&post_logout_redirect_uri=https://evil.example/`;
    const anonymous = await openHtmlBrowser().open(url);
    expect(anonymous.status).toBe(400);
    expect(anonymous.title).toMatch(/^You could not be signed out/);
    expect(textOf(anonymous.html)).toContain('You are not signed in to Bay Booking in this browser.');
    expect(detail(anonymous, 'Application')).toBe('nobody');
    expect(detail(anonymous, 'Return address')).toBe('https://evil.example/');
    const signedIn = await (await signedInBrowser()).open(url);
    expect(textOf(signedIn.html)).toContain('To sign out, use the button at the top of this page.');
  });

  test.each([
    ['/nowhere', 404, 'Page not found'],
    ['/connect/nowhere', 404, 'Page not found'],
    ['/connect/authorize', 400, 'This sign-in cannot continue'],
    ['/connect/endsession?client_id=nobody', 400, 'You could not be signed out'],
    ['/interaction/nowhere', 400, 'This sign-in has expired'],
  ])('the error page offers sign-out to a signed-in user: %s', async (path, status, title) => {
    const browser = await signedInBrowser();
    const page = await browser.open(server.origin + path);
    expect(page.status).toBe(status);
    expect(page.title.startsWith(title)).toBe(true);
    expect(page.forms.map(({ action }) => new URL(action).pathname)).toEqual(['/sign-out']);
    await browser.send(page, {});
    expect((await browser.open(server.origin + path)).forms).toEqual([]);
  });
});
