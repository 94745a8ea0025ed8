// Two requests of one browser at once, as two tabs and a page that renews its tokens silently make them: neither takes back what the other
// did to their session. OpenID Connect Core section 3.1.2.1 (prompt=none), RP-Initiated Logout 1.0; contract section 6.

import type { FormBrowser, Page } from '@bay-booking/testkit/form-browser';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type AuthServer, eventually, scopes, startAuthServer } from './auth-server.ts';
import { authorizeUrl, openBrowser, player } from './flows.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await startAuthServer({ LOCKOUT_SLOW_DOWN_MS: '0' });
});
afterAll(() => server.close());

const scope = `openid ${scopes.play}`;
const web = { response_type: 'code', client_id: 'demo-web', redirect_uri: 'http://localhost:4010/callback', scope };
const range = { response_type: 'code', client_id: 'demo-range', redirect_uri: 'http://localhost:4010/range', scope };

let browser: FormBrowser;
beforeEach(async () => {
  await server.db.raw("delete from oidc_artifact where model = 'Session'");
  browser = openBrowser(server);
  await browser.send(await browser.open(`${server.origin}/account`), player);
});

const cookiesAt = (path: string): string =>
  browser
    .cookies()
    .filter((cookie) => path.startsWith(/Path=(.*)$/.exec(cookie)?.[1] ?? '/'))
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
const sessionIn = (response: Response): string =>
  response.headers
    .getSetCookie()
    .filter((cookie) => cookie.startsWith('_session'))
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
const visit = (address: string | URL, Cookie: string): Promise<Response> =>
  fetch(address, { redirect: 'manual', headers: { Cookie } });
const silent = (client: typeof web, Cookie: string) =>
  visit(authorizeUrl(server, { ...client, prompt: 'none' }), Cookie);
const errorOf = (response: Response) => new URL(response.headers.get('location') ?? '').searchParams.get('error');

/** Allows what the page asks for; the way back is not gone yet. */
async function allow(consent: Page): Promise<() => Promise<Response>> {
  const { pathname } = consent.url;
  const form = consent.forms.find(({ action }) => action.endsWith('/consent'));
  const csrf = form?.fields.find(({ name }) => name === 'csrf')?.value ?? '';
  const ticked = form?.fields.filter(({ name }) => name === 'scope').map(({ value }) => value) ?? [];
  const answer = { csrf, decision: 'allow', scope: ticked };
  const response = await server.post(`${pathname}/consent`, answer, { Cookie: cookiesAt(pathname) });
  const back = new URL(response.headers.get('location') ?? '', server.origin);
  return () => visit(back, cookiesAt(back.pathname));
}

const holdSessions = async () => {
  const holder = await server.db.transaction();
  await holder.raw("select 1 from oidc_artifact where model = 'Session' for update");
  return holder;
};
const waiting = (requests: number) =>
  eventually(async () => {
    const { rows } = await server.db.raw(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows.length === requests;
  });

/** Each has found the session before any has written it; they write it in this order. */
async function inTurn<T>(...requests: readonly (() => Promise<T>)[]): Promise<T[]> {
  const holder = await holdSessions();
  const underWay: Promise<T>[] = [];
  for (const request of requests) {
    underWay.push(request());
    await waiting(underWay.length);
  }
  await holder.rollback();
  return Promise.all(underWay);
}

test('what two applications were allowed at once is remembered, of both', async () => {
  const backs = [
    await allow(await browser.open(authorizeUrl(server, web))),
    await allow(await browser.open(authorizeUrl(server, range))),
  ];
  const answers = await inTurn(...backs);
  expect(answers.map(errorOf)).toEqual([null, null]);
  const session = sessionIn(answers[1] as Response);
  expect(errorOf(await silent(web, session))).toBeNull();
  expect(errorOf(await silent(range, session))).toBeNull();
});

test('a sign-out that asks can be confirmed, although an application renewed its tokens meanwhile', async () => {
  const address = `${server.origin}/connect/endsession`;
  const [asked] = await inTurn(
    () => browser.open(address),
    async () => void (await silent(web, cookiesAt('/connect/authorize'))),
  );
  const done = await browser.send(asked as Page, {}, { name: 'logout', value: 'yes' });
  expect(done.title).toMatch(/signed out/i);
  expect((await browser.open(`${server.origin}/account`)).title).toMatch(/^Sign in/);
});

describe('a session that is ended stays so', () => {
  test.each([
    ['an application renewed its tokens', async () => () => silent(web, cookiesAt('/connect/authorize'))],
    ['an application was allowed something', async () => allow(await browser.open(authorizeUrl(server, web)))],
  ])('while %s', async (_title, prepare) => {
    const request = await prepare();
    const ending = await holdSessions();
    const underWay = request();
    await waiting(1);
    await ending.raw("delete from oidc_artifact where model = 'Session'");
    await ending.commit();
    const session = sessionIn(await underWay);
    expect(session).not.toBe('');
    expect(errorOf(await silent(web, session))).toBe('login_required');
  });
});
