// Contract section 5, "your account": sessions, consents and linked providers, each revocable; a recent sign-in where a secret changes.

import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AuthServer, eventually, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await startAuthServer({ LOCKOUT_SLOW_DOWN_MS: '0' });
});
afterAll(() => server.close());

const password = 'seven unusual lamps';
const chrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36';
const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';
const browser = (userAgent = chrome): FormBrowser => openFormBrowser([server.origin], { 'User-Agent': userAgent });

let people = 0;
/** Somebody new, signed in at their account. */
async function join(): Promise<{ visitor: FormBrowser; account: Page; username: string }> {
  const visitor = browser();
  const username = `person${++people}@example.org`;
  const form = await visitor.open(`${server.origin}/register`);
  const account = await visitor.send(form, { name: 'Petra Person', username, password });
  return { visitor, account, username };
}

async function signIn(
  username: string,
  userAgent?: string,
  secret = password,
): Promise<{ visitor: FormBrowser; page: Page }> {
  const visitor = browser(userAgent);
  const page = await visitor.send(await visitor.open(`${server.origin}/account`), { username, password: secret });
  return { visitor, page };
}

const grant = async (username: string) =>
  statusAndBody(
    await server.post('/connect/token', {
      grant_type: 'password',
      client_id: 'demo-native',
      scope: `offline_access ${scopes.play}`,
      username,
      password,
    }),
  );
const refresh = async (token: unknown) =>
  statusAndBody(
    await server.post('/connect/token', {
      grant_type: 'refresh_token',
      client_id: 'demo-native',
      refresh_token: String(token),
    }),
  );
/** As if everybody had signed in an hour ago. */
const age = (interval: string) =>
  server.db.raw(
    `update oidc_artifact set payload = jsonb_set(payload, '{loginTs}', to_jsonb((payload ->> 'loginTs')::int - ?)) where model = 'Session' and payload ? 'loginTs'`.replace(
      "payload ? 'loginTs'",
      "payload \\? 'loginTs'",
    ),
    [Number(interval)],
  );

test('signing in at your account needs no client, and leads back to it', async () => {
  const visitor = browser();
  const form = await visitor.open(`${server.origin}/account`);
  expect(form.url.href).toBe(`${server.origin}/sign-in?return=%2Faccount`);
  const page = await visitor.send(form, { username: 'player@example.com', password: 'demo-player-pass' });
  expect(page.url.href).toBe(`${server.origin}/account`);
  expect(page.html).toContain('Pat Player');
});

test('the way back leads to pages of this server alone', async () => {
  for (const evil of ['https://evil.example', '//evil.example', '/\\evil.example', '/a/..//evil.example']) {
    const visitor = browser();
    const form = await visitor.open(`${server.origin}/sign-in?return=${encodeURIComponent(evil)}`);
    const page = await visitor.send(form, { username: 'player@example.com', password: 'demo-player-pass' });
    expect(page.url.href).toBe(`${server.origin}/account`);
  }
});

test('the session’s id changes at every sign-in (session fixation)', async () => {
  const { visitor } = await join();
  const sessionId = () => visitor.cookies().find((cookie) => cookie.startsWith('_session='));
  const before = sessionId();
  const again = await visitor.open(`${server.origin}/sign-in?return=/account&again=1`);
  await visitor.send(again, { password });
  expect(sessionId()).toBeDefined();
  expect(sessionId()).not.toBe(before);
});

describe('sessions', () => {
  test('are listed by browser, and another one is signed out', async () => {
    const { visitor, username } = await join();
    const { visitor: other } = await signIn(username, firefox);
    const account = await visitor.open(`${server.origin}/account`);
    expect(account.html).toContain('Chrome on Linux');
    expect(account.html).toContain('Firefox on Windows');
    await visitor.send(account, { uid: uidIn(account) }, 'Sign out Firefox on Windows');
    expect((await other.open(`${server.origin}/account`)).title).toMatch(/^Sign in/);
    expect((await visitor.open(`${server.origin}/account`)).title).toMatch(/^Your account/);
  });

  test('all others are signed out at once', async () => {
    const { visitor, username } = await join();
    const others = await Promise.all([signIn(username, firefox), signIn(username)]);
    await visitor.send(await visitor.open(`${server.origin}/account`), {}, 'Sign out everywhere else');
    for (const { visitor: other } of others)
      expect((await other.open(`${server.origin}/account`)).title).toMatch(/^Sign in/);
    expect((await visitor.open(`${server.origin}/account`)).title).toMatch(/^Your account/);
  });

  test('of somebody else cannot be ended', async () => {
    const owner = await join();
    await signIn(owner.username, firefox);
    const account = await owner.visitor.open(`${server.origin}/account`);
    const uid = uidIn(account);
    const stranger = await join();
    await signIn(stranger.username, firefox);
    const page = await stranger.visitor.open(`${server.origin}/account`);
    await stranger.visitor.send(page, { uid }, 'Sign out Firefox on Windows');
    expect((await owner.visitor.open(`${server.origin}/account`)).html).toContain('Firefox on Windows');
  });

  test('stay ended, whatever a request was doing that came before', async () => {
    const { visitor } = await join();
    const silent = new URLSearchParams({
      response_type: 'code',
      client_id: 'demo-web',
      redirect_uri: 'http://localhost:4010/callback',
      scope: 'openid',
      prompt: 'none',
    });
    const ending = await server.db.transaction();
    await ending.raw("select 1 from oidc_artifact where model = 'Session' for update");
    const underWay = visitor.open(`${server.origin}/connect/authorize?${silent}`);
    await eventually(async () => {
      const { rows } = await server.db.raw(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rows.length > 0;
    });
    await ending.raw("delete from oidc_artifact where model = 'Session'");
    await ending.commit();
    expect((await underWay).url.searchParams.get('error')).toBe('consent_required');
    expect((await visitor.open(`${server.origin}/account`)).title).toMatch(/^Sign in/);
  });

  test('end after idleness: pages ask to sign in again', async () => {
    const { visitor } = await join();
    await server.db.raw("update browser_session set seen_at = now() - interval '3 hours'");
    await age('10800');
    const page = await visitor.open(`${server.origin}/account`);
    expect(page.title).toMatch(/^Confirm that it is you/);
    expect((await visitor.send(page, { password })).title).toMatch(/^Your account/);
  });

  test('signing out ends this one', async () => {
    const { visitor, account } = await join();
    expect((await visitor.send(account, {}, 'Sign out')).url.pathname).toBe('/signed-out');
    expect((await visitor.open(`${server.origin}/account`)).title).toMatch(/^Sign in/);
  });
});

describe('applications', () => {
  test('that hold tokens are listed, and taking back ends their refresh tokens', async () => {
    const { visitor, username } = await join();
    const tokens = await grant(username);
    const account = await visitor.open(`${server.origin}/account`);
    expect(account.html).toContain('Demo native app');
    await visitor.send(account, { client: 'demo-native' }, 'Remove access');
    expect(await refresh(tokens.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect((await visitor.open(`${server.origin}/account`)).html).not.toContain('Demo native app');
  });

  test('whose consent was taken back ask again', async () => {
    const { visitor } = await join();
    const authorize = `${server.origin}/connect/authorize?${new URLSearchParams({
      response_type: 'code',
      client_id: 'demo-web',
      redirect_uri: 'http://localhost:4010/callback',
      scope: `openid ${scopes.play}`,
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    })}`;
    await visitor.send(await visitor.open(authorize), {}, { name: 'decision', value: 'allow' });
    expect((await visitor.open(authorize)).url.origin).toBe('http://localhost:4010');
    await visitor.send(await visitor.open(`${server.origin}/account`), { client: 'demo-web' }, 'Remove access');
    expect((await visitor.open(authorize)).title).toMatch(/^Allow access/);
  });
});

describe('the password', () => {
  const change = (visitor: FormBrowser, page: Page, current: string, next: string) =>
    visitor.send(page, { password: current, newPassword: next });

  test('is changed by whoever knows the current one, and every other browser is signed out', async () => {
    const { visitor, account, username } = await join();
    const { visitor: other } = await signIn(username, firefox);
    const page = await change(visitor, account, password, 'eight quiet harbours');
    expect(page.html).toContain('Your password is changed');
    expect((await other.open(`${server.origin}/account`)).title).toMatch(/^Sign in/);
    expect((await signIn(username, chrome, 'eight quiet harbours')).page.title).toMatch(/^Your account/);
  });

  test('is not changed with a wrong current one, nor to a trivial one', async () => {
    const { visitor, account, username } = await join();
    const wrong = await change(visitor, account, 'not the password', 'eight quiet harbours');
    expect(wrong.status).toBe(400);
    expect(wrong.html).toContain('The current password is wrong');
    const trivial = await change(visitor, account, password, 'password1');
    expect(trivial.status).toBe(400);
    expect((await signIn(username)).page.title).toMatch(/^Your account/);
  });
});

test('a name is changed, and shown as text', async () => {
  const { visitor, account } = await join();
  const page = await visitor.send(account, { name: '<b>Petra</b>' }, 'Save the name');
  expect(page.html).toContain('&lt;b&gt;Petra&lt;/b&gt;');
  expect((await visitor.send(page, { name: '' }, 'Save the name')).status).toBe(400);
});

test('a form of somebody else’s page is refused', async () => {
  const { visitor, account } = await join();
  const stranger = await join();
  const csrf = stranger.account.forms.at(-1)?.fields.find(({ name }) => name === 'csrf')?.value ?? '';
  expect((await visitor.send(account, { name: 'Mallory', csrf }, 'Save the name')).status).toBe(403);
});

test('every sign-in, refusal, registration and change is in the audit trail, without a secret', async () => {
  const { visitor, account, username } = await join();
  await signIn(username, chrome, 'not the password');
  await visitor.send(account, { password, newPassword: 'eight quiet harbours' });
  await visitor.send(await visitor.open(`${server.origin}/account`), {}, 'Sign out');
  await server.auth.settle();
  const { rows } = await server.db.raw(
    'select e.kind, e.detail from audit_event e join account a on a.id = e.account_id where a.username = ? order by e.id',
    [username],
  );
  const kinds = rows.map(({ kind }: { kind: string }) => kind);
  for (const kind of [
    'account.registered',
    'sign-in.succeeded',
    'sign-in.refused',
    'password.changed',
    'session.ended',
  ])
    expect(kinds).toContain(kind);
  expect(JSON.stringify(rows)).not.toMatch(/unusual lamps|quiet harbours|not the password/);
  expect(server.log.join('\n')).not.toMatch(/unusual lamps|quiet harbours|not the password/);
});

const uidIn = (page: Page): string =>
  page.forms.flatMap(({ fields }) => fields).find(({ name }) => name === 'uid')?.value ?? '';

test('no session’s cookie is kept in the database, not even beside what is under way', async () => {
  const { visitor } = await join();
  await visitor.open(
    `${server.origin}/connect/authorize?${new URLSearchParams({ response_type: 'code', client_id: 'demo-native', redirect_uri: 'com.example.demo:/callback', scope: scopes.play })}`,
  );
  const [, cookie = 'none'] =
    /^_session=([^;]+)/.exec(visitor.cookies().find((entry) => entry.startsWith('_session=')) ?? '') ?? [];
  expect(cookie.length).toBeGreaterThan(20);
  const { rows } = await server.db.raw('select json_agg(a)::text as kept from oidc_artifact a');
  expect(rows[0].kept).not.toContain(cookie);
});

test('behind TLS every cookie is Secure, HttpOnly and SameSite=Lax', async () => {
  const secure = await startAuthServer({ ISSUER: 'https://id.example' });
  const form = await fetch(`${secure.origin}/sign-in`);
  const cookie = form.headers.getSetCookie();
  const csrf = /name="csrf" value="([^"]+)"/.exec(await form.text())?.[1] ?? '';
  const signedIn = await fetch(`${secure.origin}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Cookie: cookie.map((line) => line.split(';')[0]).join('; ') },
    body: new URLSearchParams({ csrf, username: 'player@example.com', password: 'demo-player-pass' }),
  });
  expect(signedIn.status).toBe(303);
  const all = [...cookie, ...signedIn.headers.getSetCookie()];
  expect(all.map((line) => line.split('=')[0])).toEqual(expect.arrayContaining(['_form', '_session', '_session.sig']));
  for (const line of all) expect(line.toLowerCase()).toMatch(/(?=.*; secure)(?=.*; httponly)(?=.*; samesite=lax)/);
  await secure.close();
});
