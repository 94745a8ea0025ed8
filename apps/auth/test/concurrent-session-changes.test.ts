// Tests that two concurrent requests of one browser do not undo each other's changes of the session. Two tabs send such
// requests, and so does a page that renews its tokens silently with `prompt=none` (OpenID Connect Core section
// 3.1.2.1).
import { useFixture } from '@bay-booking/testkit/fixture';
import type { FormBrowser, Page } from '@bay-booking/testkit/form-browser';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { eventually, scopes, startAuthServer } from './auth-server.ts';
import { authorizeUrl, openBrowser, player } from './flows.ts';

const server = useFixture(() => startAuthServer());

const scope = `openid ${scopes.play}`;
const web = { response_type: 'code', client_id: 'demo-web', redirect_uri: 'http://localhost:4010/callback', scope };
const range = { response_type: 'code', client_id: 'demo-range', redirect_uri: 'http://localhost:4010/range', scope };

let browser: FormBrowser;
beforeEach(async () => {
  await server.db.raw("delete from oidc_artifact where model = 'Session'");
  browser = openBrowser(server);
  await browser.send(await browser.open(`${server.origin}/account`), player);
});

/**
 * Returns the header Cookie that the browser sends with a request to this path. `browser.cookies` returns texts such as
 * `_session=VALUE; Path=/`.
 */
const cookiesAt = (path: string): string =>
  browser
    .cookies()
    .filter((cookie) => path.startsWith(/Path=(.*)$/.exec(cookie)?.[1] ?? '/'))
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
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
 * Sends an authorization request that shows no page (`prompt=none`), as a client does to renew its tokens. If nobody is
 * signed in, the redirect contains `login_required`.
 */
const renewSilently = (client: typeof web, Cookie: string) =>
  get(authorizeUrl(server, { ...client, prompt: 'none' }), Cookie);
/** Returns the error in a redirect to the client, or null if there is none. */
const errorOf = (response: Response) => new URL(response.headers.get('location') ?? '').searchParams.get('error');

/**
 * Allows all scopes on the consent page. Returns a function that sends the next request of the authorization flow. The
 * server stores the consent in the session during this request.
 */
async function allow(consent: Page): Promise<() => Promise<Response>> {
  const { pathname } = consent.url;
  const form = consent.forms.find(({ action }) => action.endsWith('/consent'));
  const csrf = form?.fields.find(({ name }) => name === 'csrf')?.value ?? '';
  const scopesOnPage = form?.fields.filter(({ name }) => name === 'scope').map(({ value }) => value) ?? [];
  const decision = { csrf, decision: 'allow', scope: scopesOnPage };
  const response = await server.post(`${pathname}/consent`, decision, { Cookie: cookiesAt(pathname) });
  const resume = new URL(response.headers.get('location') ?? '', server.origin);
  return () => get(resume, cookiesAt(resume.pathname));
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

/** Sends requests that all read the session before one of them writes it. They write the session in the given order. */
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
    await allow(await browser.open(authorizeUrl(server, web))),
    await allow(await browser.open(authorizeUrl(server, range))),
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
    async () => void (await renewSilently(web, cookiesAt('/connect/authorize'))),
  );
  const page = await browser.send(confirmation as Page, {}, { name: 'logout', value: 'yes' });
  expect(page.title).toMatch(/signed out/i);
  expect((await browser.open(`${server.origin}/account`)).title).toMatch(/^Sign in/);
});

describe('the end of a session', () => {
  test.each([
    ['a client renews its tokens', async () => () => renewSilently(web, cookiesAt('/connect/authorize'))],
    ['the user gives a consent', async () => allow(await browser.open(authorizeUrl(server, web)))],
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
