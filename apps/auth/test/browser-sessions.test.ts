// Tests the session of a browser: sign-in without a client, the cookies of the session, and its end.
import { useFixture } from '@bay-booking/testkit/fixture';
import type { FormBrowser } from '@bay-booking/testkit/form-browser';
import { describe, expect, test } from '@jest/globals';
import { eventually, scopes, startAuthServer } from './auth-server.ts';
import { allow, createDevice } from './device-fixture.ts';
import { authorizeUrl, openBrowser, player, redirectParameters, signInAndConsent, webCallback } from './flows.ts';
import { password, registerUser, signInUser } from './test-users.ts';

const server = useFixture(() => startAuthServer());

test.each(['https://evil.example', '//evil.example', '/\\evil.example', '/a/..//evil.example'])(
  'a user does not return to %s after signing in, because only pages of this server are allowed',
  async (address) => {
    const browser = openBrowser(server);
    const form = await browser.open(`${server.origin}/sign-in?return=${encodeURIComponent(address)}`);
    const page = await browser.send(form, player);
    expect(page.url.href).toBe(`${server.origin}/account`);
  },
);

test('the id of the session changes at every sign-in, which prevents session fixation', async () => {
  const { browser } = await registerUser(server);
  const sessionId = () => browser.cookies().find((cookie) => cookie.startsWith('_session='));
  const before = sessionId();
  // With `again`, the page also shows the form to a user who is already signed in.
  const signIn = await browser.open(`${server.origin}/sign-in?return=/account&again=1`);
  await browser.send(signIn, { password });
  expect(sessionId()).toBeDefined();
  expect(sessionId()).not.toBe(before);
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

test('a user whose session was idle for three hours must enter the password again', async () => {
  const { browser, username } = await registerUser(server);
  await idleFor(180);
  const page = await browser.open(`${server.origin}/account`);
  expect(page.title).toMatch(/^Sign in/);
  expect((await browser.send(page, { username, password })).title).toMatch(/^Your account/);
});

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
    expect((await browser.open(`${server.origin}/account`)).title).toMatch(/^Your account/);
  });
});

test('a session that ends during a request is not stored again', async () => {
  const { browser } = await registerUser(server);
  const request = { response_type: 'code', client_id: 'demo-web', redirect_uri: webCallback, scope: 'openid' };
  const lock = await server.db.transaction();
  await lock.raw("select 1 from oidc_artifact where model = 'Session' for update");
  const page = browser.open(authorizeUrl(server, { ...request, prompt: 'none' }));
  // Waits until the request has read the session and tries to store it. The lock prevents this.
  await eventually(async () => {
    const { rows } = await server.db.raw(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows.length > 0;
  });
  await lock.raw("delete from oidc_artifact where model = 'Session'");
  await lock.commit();
  // When the request read the session, the user was signed in, but had not given consent to demo-web.
  expect((await page).url.searchParams.get('error')).toBe('consent_required');
  expect((await browser.open(`${server.origin}/account`)).title).toMatch(/^Sign in/);
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

/**
 * The cookies of a server with TLS. Browsers accept a cookie with the prefix `__Host-` only from the host itself, not
 * from another host of its domain.
 */
const hostCookies = ['__Host-_form', '__Host-_session', '__Host-_session.sig', '__Host-_device'];

test('behind TLS every cookie is Secure, HttpOnly and SameSite=Lax', async () => {
  const secure = await startAuthServer({ ISSUER: 'https://id.example' });
  const form = await fetch(`${secure.origin}/sign-in`);
  const cookies = form.headers.getSetCookie();
  const csrf = /name="csrf" value="([^"]+)"/.exec(await form.text())?.[1] ?? '';
  const signedIn = await fetch(`${secure.origin}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Cookie: cookies.map((line) => line.split(';')[0]).join('; ') },
    body: new URLSearchParams({ csrf, ...player }),
  });
  expect(signedIn.status).toBe(303);
  const all = [...cookies, ...signedIn.headers.getSetCookie()];
  expect(all.map((line) => line.split('=')[0])).toEqual(expect.arrayContaining(hostCookies));
  for (const line of all)
    expect(line.toLowerCase()).toMatch(/(?=.*; secure)(?=.*; httponly)(?=.*; samesite=lax)(?=.*; path=\/;)/);
  await secure.close();
});
