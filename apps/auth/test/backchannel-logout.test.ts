// Tests when clients get logout tokens, what the tokens contain, and how they are delivered: once, without delaying the
// user, and to allowed addresses only (docs/behaviour-auth.md, "Back-channel logout").
import type { ServerResponse } from 'node:http';
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, fieldOf, type Page } from '@bay-booking/testkit/form-browser';
import { eventually } from '@bay-booking/testkit/wait';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt, type JWTPayload } from 'jose';
import type { ImportedClient } from '../src/oidc/clients/stored-client.ts';
import { basic, startAuthServer } from './auth-server.ts';
import { authorizeUrl, pkce, redirectParameters, signInAndConsent } from './flows.ts';
import {
  appRedirectUri,
  appSecret,
  logoutClient,
  type ReceivedLogout,
  startLogoutReceiver,
  validateLogoutToken,
} from './logout-receiver.ts';
import { password, registerUser, signInUser } from './test-users.ts';

const fixture = useFixture(async () => {
  const receiver = await startLogoutReceiver();
  // The receiver has a loopback address. Without this variable, the server sends tokens only to public addresses.
  const server = await startAuthServer({ OUTBOUND_ALLOW_NETWORKS: '127.0.0.0/8' });
  const clients = [
    logoutClient('app-session', `${receiver.url}/app-session`, { backchannel_logout_session_required: true }),
    logoutClient('app-user', `${receiver.url}/app-user`),
    logoutClient('app-es256', `${receiver.url}/app-es256`, { id_token_signed_response_alg: 'ES256' }),
    logoutClient('app-silent', `${receiver.url}/app-silent`, { backchannel_logout_uri: undefined }),
  ];
  await server.load({ clients });
  return { server, receiver, close: () => server.close().then(() => receiver.close()) };
});

/** Returns the address of an authorization request of a client. */
const codeFlowUrl = (clientId: string, more: Readonly<Record<string, string>> = {}): string => {
  const request = { response_type: 'code', client_id: clientId, redirect_uri: appRedirectUri, scope: 'openid' };
  return authorizeUrl(fixture.server, { ...request, ...pkce.challenge, ...more });
};

/**
 * Runs the code flow of a client, in a browser in which the user has already signed in. Returns the claims of the
 * id_token, the id_token itself and the refresh token.
 */
async function signInAtClient(browser: FormBrowser, clientId: string, scope = 'openid'): Promise<JWTPayload> {
  const page = await browser.open(codeFlowUrl(clientId, { scope }));
  const { code = '' } = redirectParameters(await signInAndConsent(browser, page));
  const form = { grant_type: 'authorization_code', code, redirect_uri: appRedirectUri, code_verifier: pkce.verifier };
  const tokens = await fixture.server.token(form, basic(clientId, appSecret(clientId)));
  expect(tokens).toMatchObject({ status: 200 });
  return { ...decodeJwt(String(tokens.id_token)), idToken: tokens.id_token, refreshToken: tokens.refresh_token };
}

/** Registers a user, and signs the user in at the client app-session. */
async function registerUserOfClient() {
  const user = await registerUser(fixture.server);
  const { sub = '', sid, idToken } = await signInAtClient(user.browser, 'app-session');
  return { ...user, sub, sid: String(sid), idToken: String(idToken) };
}

/** Registers a user who is signed in at the client app-session in two browsers. */
async function registerUserOfTwoSessions() {
  const user = await registerUserOfClient();
  const { browser: otherBrowser } = await signInUser(fixture.server, user.username);
  return { ...user, otherSid: String((await signInAtClient(otherBrowser, 'app-session')).sid) };
}

/**
 * Returns the logout tokens that clients have received for a user, sorted, each as the text `CLIENT SID`. Without sid,
 * SID is `-`.
 */
async function receivedLogouts(sub: string): Promise<readonly string[]> {
  await fixture.server.auth.waitUntilIdle();
  return fixture.receiver.logoutsOf(sub);
}

const lastReceived = (): ReceivedLogout => fixture.receiver.received.at(-1) as ReceivedLogout;

const openAccount = (browser: FormBrowser): Promise<Page> => browser.open('/account');
const requestSignOut = (browser: FormBrowser, params: Record<string, string> = {}): Promise<Page> =>
  browser.open(`/connect/endsession?${new URLSearchParams(params)}`);

describe('the logout token', () => {
  test.each([
    ['the sid of the id_token, if the client requires the session', 'app-session', ['sid']],
    ['no sid, like the id_token, if the client does not require the session', 'app-user', []],
    ['the algorithm of the client’s id_tokens', 'app-es256', []],
  ])('the logout token has sub and %s', async (_title, clientId, more) => {
    const { browser, account } = await registerUser(fixture.server);
    const { sub = '', sid } = await signInAtClient(browser, clientId);
    expect(typeof sid).toBe(more.length > 0 ? 'string' : 'undefined');
    await browser.send(account, {}, 'Sign out');
    expect(await receivedLogouts(sub)).toEqual([`${clientId} ${sid ?? '-'}`]);
    const received = lastReceived();
    expect(received).toMatchObject({ method: 'POST', path: `/${clientId}` });
    expect(received.headers).toMatchObject({ 'content-type': 'application/x-www-form-urlencoded' });
    const alg = clientId === 'app-es256' ? 'ES256' : 'RS256';
    const claims = await validateLogoutToken(received, { issuer: fixture.server.origin, clientId, alg });
    const names = ['aud', 'events', 'exp', 'iat', 'iss', 'jti', ...more, 'sub'];
    expect(Object.keys(claims).toSorted()).toEqual(names);
  });

  test('every logout token has a new jti, and is never logged', async () => {
    const { browser, account, sub } = await registerUserOfClient();
    await signInAtClient(browser, 'app-user');
    await browser.send(account, {}, 'Sign out');
    expect(await receivedLogouts(sub)).toHaveLength(2);
    const tokensOfUser = fixture.receiver.received.filter(({ claims }) => claims.sub === sub);
    expect(new Set(tokensOfUser.map(({ claims }) => claims.jti)).size).toBe(2);
    const log = fixture.server.log.join('\n');
    for (const { form } of tokensOfUser) expect(log).not.toContain(form.get('logout_token'));
  });
});

describe('the end of a session or access', () => {
  test('when a user signs out, every client of the session that has a logout address gets one token', async () => {
    const { browser, sub, sid, idToken } = await registerUserOfClient();
    await signInAtClient(browser, 'app-user', 'openid offline_access');
    await signInAtClient(browser, 'app-silent');
    // A second sign-in at the same client does not add the client to the session again.
    await signInAtClient(browser, 'app-session');
    const page = await requestSignOut(browser, { id_token_hint: idToken, post_logout_redirect_uri: appRedirectUri });
    expect(await receivedLogouts(sub)).toEqual([]);
    expect((await browser.send(page, {}, 'Sign out')).url.href).toBe(appRedirectUri);
    expect(await receivedLogouts(sub)).toEqual([`app-session ${sid}`, 'app-user -']);
  });

  test('when a user confirms a sign-out in several windows, the client gets one token', async () => {
    const { browser, sub, sid } = await registerUserOfClient();
    const page = await requestSignOut(browser);
    await Promise.all(Array.from({ length: 5 }, () => browser.send(page, {}, 'Sign out')));
    expect(await receivedLogouts(sub)).toEqual([`app-session ${sid}`]);
  });

  test('when a user changes the password, the clients of all browsers get a token', async () => {
    const { browser, sub, sid, otherSid } = await registerUserOfTwoSessions();
    await browser.send(await openAccount(browser), { password, newPassword: 'eight quiet harbours' });
    expect(await receivedLogouts(sub)).toEqual([`app-session ${sid}`, `app-session ${otherSid}`].toSorted());
    // The session of this browser continues, but the client is no longer part of it.
    await browser.send(await openAccount(browser), {}, 'Sign out');
    expect(await receivedLogouts(sub)).toHaveLength(2);
  });

  test('a user who changes the password can keep the access of clients in this browser', async () => {
    const { browser, sub, otherSid } = await registerUserOfTwoSessions();
    const form = { password, newPassword: 'eight quiet harbours', keepApplications: 'yes' };
    await browser.send(await openAccount(browser), form);
    expect(await receivedLogouts(sub)).toEqual([`app-session ${otherSid}`]);
  });

  test('when a user ends all other sessions, a client that does not require the session gets one token', async () => {
    const { browser, username, sub } = await registerUserOfClient();
    const otherSessions = [await signInUser(fixture.server, username), await signInUser(fixture.server, username)];
    const sids: unknown[] = [];
    for (const { browser: otherBrowser } of otherSessions) {
      await signInAtClient(otherBrowser, 'app-user');
      sids.push((await signInAtClient(otherBrowser, 'app-session')).sid);
    }
    await browser.send(await openAccount(browser), {}, 'Sign out everywhere else');
    expect(await receivedLogouts(sub)).toEqual([...sids.map((sid) => `app-session ${sid}`), 'app-user -'].toSorted());
    for (const other of otherSessions) expect((await openAccount(other.browser)).title).toMatch(/^Sign in/);
    expect((await openAccount(browser)).title).toMatch(/^Your account/);
  });

  test('when a user removes the access of a client, only this client gets tokens', async () => {
    const { browser, sub, sid, otherSid } = await registerUserOfTwoSessions();
    await signInAtClient(browser, 'app-user');
    await browser.send(await openAccount(browser), { client: 'app-session' }, 'Remove access');
    const ofRemovedClient = [`app-session ${sid}`, `app-session ${otherSid}`].toSorted();
    expect(await receivedLogouts(sub)).toEqual(ofRemovedClient);
    // The user stays signed in, but the client is no longer part of the session.
    await browser.send(await openAccount(browser), {}, 'Sign out');
    expect(await receivedLogouts(sub)).toEqual([...ofRemovedClient, 'app-user -']);
  });

  test('when another user signs in in the same browser, the client of the first user gets a token', async () => {
    const { browser, sub, sid } = await registerUserOfClient();
    const { username } = await registerUser(fixture.server);
    const account = await browser.submit('/sign-in?return=/account&again=1', { username, password });
    expect(account.html).toContain(username);
    expect(await receivedLogouts(sub)).toEqual([`app-session ${sid}`]);
  });
});

describe('requests that send no logout token', () => {
  test('a client gets no logout token if the user declines to sign out', async () => {
    const { browser, sub, idToken } = await registerUserOfClient();
    await signInAtClient(browser, 'app-user');
    const params = { id_token_hint: idToken, client_id: 'app-session', post_logout_redirect_uri: appRedirectUri };
    await browser.send(await requestSignOut(browser, params), {}, 'Stay signed in');
    const declined = await browser.send(await requestSignOut(browser), {}, 'Stay signed in');
    expect(declined.title).toMatch(/^You are still signed in/);
    expect(await receivedLogouts(sub)).toEqual([]);
    expect((await openAccount(browser)).title).toMatch(/^Your account/);
  });

  test('a client gets no logout token if the user signs in again, which gives the session a new id', async () => {
    const { browser, username, sub } = await registerUserOfClient();
    expect((await browser.submit('/sign-in?return=/account&again=1', { password })).title).toMatch(/^Your account/);
    const page = await browser.submit(codeFlowUrl('app-user', { prompt: 'login' }), { username, password });
    expect(redirectParameters(await signInAndConsent(browser, page)).code).toBeDefined();
    expect(await receivedLogouts(sub)).toEqual([]);
  });

  test('a client to which the user denied access gets no logout token', async () => {
    const { browser, account, sub, sid } = await registerUserOfClient();
    await browser.submit(codeFlowUrl('app-user'), {}, { name: 'decision', value: 'deny' });
    await browser.send(account, {}, 'Sign out');
    expect(await receivedLogouts(sub)).toEqual([`app-session ${sid}`]);
  });
});

/**
 * Imports the clients, registers a user, and signs the user in to all clients in one browser. `sub` is the id of the
 * account.
 */
async function signInTo(...clients: readonly ImportedClient[]) {
  const { server } = fixture;
  await server.load({ clients: [...clients] });
  const user = await registerUser(server);
  for (const { client_id } of clients) {
    const page = await signInAndConsent(user.browser, await user.browser.open(codeFlowUrl(client_id)));
    expect(redirectParameters(page).code).toBeDefined();
  }
  const [row] = await server.db('account').where({ username: user.username }).select('id');
  return { ...user, sub: String(row.id) };
}

const eventsOf = (clientId: string) =>
  fixture.server
    .db('audit_event')
    .where({ client_id: clientId })
    .whereLike('kind', 'logout-token.%')
    .orderBy('id')
    .select('kind', 'detail', 'account_id');

/**
 * Signs the user out at the instance with this origin. `browser` sends requests only to the first instance, so this
 * function sends the request itself.
 */
async function signOutAt(origin: string, { account, browser }: Awaited<ReturnType<typeof signInTo>>): Promise<void> {
  const response = await fetch(`${origin}/sign-out`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Cookie: browser.cookieHeader() },
    body: new URLSearchParams({ csrf: fieldOf(account, 'csrf') ?? '' }),
  });
  expect(response.headers.get('location')).toBe('/signed-out');
}

const signOut = ({ browser, account }: Awaited<ReturnType<typeof signInTo>>) => browser.send(account, {}, 'Sign out');

describe('the delivery of a logout token', () => {
  test('a delivery is recorded in the audit trail, the log and the metrics', async () => {
    const { server, receiver } = fixture;
    const user = await signInTo(logoutClient('recorded', `${receiver.url}/recorded?key=in-the-address`));
    await signOut(user);
    await server.auth.waitUntilIdle();
    // The client `recorded` got one token. The text `-` means that the token has no session id.
    expect(receiver.logoutsOf(user.sub)).toEqual(['recorded -']);
    const sent = { kind: 'logout-token.sent', detail: { outcome: 'sent' } };
    expect(await eventsOf('recorded')).toEqual([{ ...sent, account_id: user.sub }]);
    const audited = server.log.map((line) => JSON.parse(line).audit).filter((audit) => audit?.clientId === 'recorded');
    expect(audited).toContainEqual(expect.objectContaining({ kind: 'logout-token.sent', accountId: user.sub }));
    expect(server.log.join('\n')).not.toContain('in-the-address');
    const metrics = await (await fetch(`${server.origin}/metrics`)).text();
    expect(metrics).toMatch(/auth_outbox_total\{kind="logout-token",result="sent",service="auth"\} \d/);
    // A counter that begins at 0 shows Prometheus its first increase.
    expect(metrics).toMatch(/auth_outbox_total\{kind="logout-token",result="timeout",service="auth"\} 0/);
  });

  test('each token is sent once, although several instances run', async () => {
    const { server, receiver } = fixture;
    const otherInstances = [await server.startInstance(), await server.startInstance()];
    const user = await signInTo(logoutClient('several', `${receiver.url}/several`));
    // When an account is disabled, its sessions end.
    await server.load({ accounts: [{ id: user.sub, username: user.username, disabled: true }] });
    await eventually(async () => receiver.logoutsOf(user.sub).length > 0);
    for (const { auth } of [server, ...otherInstances]) await auth.waitUntilIdle();
    expect(receiver.logoutsOf(user.sub)).toEqual(['several -']);
    expect((await openAccount(user.browser)).title).toMatch(/^Sign in/);
    expect(await server.db('outbox').select()).toEqual([]);
    for (const otherInstance of otherInstances) await otherInstance.close();
  });

  test('an instance sends its tokens before it stops', async () => {
    const { server } = fixture;
    const otherInstance = await server.startInstance();
    const { promise: requestArrived, resolve: onRequest } = Promise.withResolvers<ServerResponse>();
    const slow = await startLogoutReceiver(onRequest);
    const user = await signInTo(logoutClient('stopping', slow.url));
    await signOutAt(otherInstance.origin, user);
    const response = await requestArrived;
    const closed = otherInstance.close();
    response.end();
    await closed;
    expect(await eventsOf('stopping')).toMatchObject([{ kind: 'logout-token.sent' }]);
    await slow.close();
  });

  // The delivery to the client `silent` ends with a timeout after 2.5 s. The sign-out and the delivery to the client
  // `quick` must end before that.
  test('a client that does not respond does not delay the user or other clients', async () => {
    const { server, receiver } = fixture;
    const silent = await startLogoutReceiver(() => {});
    const user = await signInTo(
      logoutClient('silent', `${silent.url}/logout`),
      logoutClient('quick', `${receiver.url}/quick`),
    );
    const start = performance.now();
    expect((await signOut(user)).url.pathname).toBe('/signed-out');
    await eventually(async () => receiver.logoutsOf(user.sub).length > 0);
    expect(await eventsOf('silent')).toEqual([]);
    await server.auth.waitUntilIdle();
    expect(performance.now() - start).toBeGreaterThan(2_400);
    expect(silent.logoutsOf(user.sub)).toEqual(['silent -']);
    expect(await eventsOf('silent')).toMatchObject([{ kind: 'logout-token.failed', detail: { outcome: 'timeout' } }]);
    await silent.close();
  });

  test.each([307, 400, 500])(
    'a response with status %i is a failure, the token is not sent again, and no redirect is followed',
    async (status) => {
      const app = await startLogoutReceiver((response) =>
        response.writeHead(status, { Location: `${fixture.receiver.url}/inside` }).end(),
      );
      const connections = fixture.receiver.connections();
      const user = await signInTo(logoutClient(`status-${status}`, app.url));
      await signOut(user);
      await fixture.server.auth.waitUntilIdle();
      const failed = { kind: 'logout-token.failed', detail: { outcome: 'rejected', status } };
      expect(await eventsOf(`status-${status}`)).toMatchObject([failed]);
      expect(app.received).toHaveLength(1);
      expect(fixture.receiver.connections()).toBe(connections);
      await app.close();
    },
  );

  test('the user is signed out even if the connection to the client fails', async () => {
    const closed = await startLogoutReceiver();
    await closed.close();
    const user = await signInTo(logoutClient('nobody', closed.url));
    expect((await signOut(user)).url.pathname).toBe('/signed-out');
    await fixture.server.auth.waitUntilIdle();
    expect(await eventsOf('nobody')).toMatchObject([{ detail: { outcome: 'failed', reason: 'ECONNREFUSED' } }]);
  });

  test('a client that was deleted or disabled in the meantime gets no token', async () => {
    const { server, receiver } = fixture;
    const user = await signInTo(
      logoutClient('deleted', `${receiver.url}/deleted`),
      logoutClient('disabled', `${receiver.url}/disabled`),
      logoutClient('remaining', `${receiver.url}/remaining`),
    );
    await server.db('client').where({ id: 'deleted' }).delete();
    await server.db('client').where({ id: 'disabled' }).update({ disabled_at: new Date() });
    expect((await signOut(user)).url.pathname).toBe('/signed-out');
    await server.auth.waitUntilIdle();
    expect(receiver.logoutsOf(user.sub)).toEqual(['remaining -']);
    expect(await eventsOf('disabled')).toMatchObject([{ detail: { outcome: 'not_registered' } }]);
  });

  test('a logout token is not sent if its session ended more than an hour ago', async () => {
    const { server, receiver } = fixture;
    const user = await signInTo(logoutClient('late', `${receiver.url}/late`));
    const token = { kind: 'logout-token', target: 'late', account_id: user.sub, payload: {} };
    await server.db('outbox').insert({ ...token, created_at: new Date(Date.now() - 3_700_000) });
    const events = await eventually(async () => {
      await server.auth.waitUntilIdle();
      const found = await eventsOf('late');
      return found.length > 0 && found;
    });
    expect(events).toMatchObject([{ kind: 'logout-token.failed', detail: { outcome: 'expired' } }]);
    expect(receiver.logoutsOf(user.sub)).toEqual([]);
  });
});

describe('the addresses of clients', () => {
  test('no request is sent to an address inside the network, given as an IP address or as a host name', async () => {
    const { server, receiver } = fixture;
    const connections = receiver.connections();
    // The clients are imported at `server`, which allows loopback addresses. `strict` does not allow such addresses.
    const strict = await server.startInstance({ OUTBOUND_ALLOW_NETWORKS: '' });
    const user = await signInTo(
      logoutClient('literal', `http://127.0.0.1:${receiver.port}/`),
      logoutClient('literal-https', `https://127.0.0.1:${receiver.port}/`),
      logoutClient('name', `https://localhost:${receiver.port}/`),
    );
    await signOutAt(strict.origin, user);
    await strict.auth.waitUntilIdle();
    for (const clientId of ['literal', 'literal-https', 'name'])
      expect(await eventsOf(clientId)).toMatchObject([{ detail: { outcome: 'address_not_allowed' } }]);
    expect(receiver.connections()).toBe(connections);
    await strict.close();
  });
});
