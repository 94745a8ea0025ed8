// Tests when clients get logout tokens, and what the tokens contain (docs/behaviour-auth.md, "Back-channel logout").
import { useFixture } from '@bay-booking/testkit/fixture';
import type { FormBrowser, Page } from '@bay-booking/testkit/form-browser';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt, type JWTPayload } from 'jose';
import { basic, eventually, startAuthServer, statusAndBody } from './auth-server.ts';
import { authorizeUrl, openBrowser, pkce, redirectParameters, signInAndConsent } from './flows.ts';
import { createKeyClient } from './key-client.ts';
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
  await server.load({
    clients: [
      logoutClient('app-session', `${receiver.url}/app-session`, { backchannel_logout_session_required: true }),
      logoutClient('app-user', `${receiver.url}/app-user`),
      logoutClient('app-es256', `${receiver.url}/app-es256`, { id_token_signed_response_alg: 'ES256' }),
      logoutClient('app-silent', `${receiver.url}/app-silent`, { backchannel_logout_uri: undefined }),
    ],
  });
  const close = async (): Promise<void> => {
    await server.close();
    await receiver.close();
  };
  return { server, receiver, close };
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
  const tokens = await statusAndBody(
    await fixture.server.post('/connect/token', form, basic(clientId, appSecret(clientId))),
  );
  expect(tokens).toMatchObject({ status: 200 });
  return { ...decodeJwt(String(tokens.id_token)), idToken: tokens.id_token, refreshToken: tokens.refresh_token };
}

/** Registers a user, and signs the user in at the client app-session. */
async function registerUserOfClient() {
  const user = await registerUser(fixture.server);
  const { sub = '', sid, idToken } = await signInAtClient(user.browser, 'app-session');
  return { ...user, sub, sid: String(sid), idToken: String(idToken) };
}

/**
 * Returns the logout tokens that clients have received for a user, sorted, each as the text `CLIENT SID`. Without sid,
 * SID is `-`.
 */
async function receivedLogouts(sub: string): Promise<readonly string[]> {
  await fixture.server.auth.waitUntilIdle();
  return fixture.receiver.logoutsOf(sub);
}

/**
 * How long a client may wait for its logout token after an import, in ms. The server looks for new logout tokens every
 * second. The limit also contains the time that a slow test machine needs.
 */
const maxDelayAfterImport = 2_500;

const lastReceived = (): ReceivedLogout => fixture.receiver.received.at(-1) as ReceivedLogout;

const openAccount = (browser: FormBrowser): Promise<Page> => browser.open(`${fixture.server.origin}/account`);
const requestSignOut = (browser: FormBrowser, params: Record<string, string> = {}): Promise<Page> =>
  browser.open(`${fixture.server.origin}/connect/endsession?${new URLSearchParams(params)}`);

test('the discovery document lists back-channel logout with sessions, and the claim sid', async () => {
  const response = await fetch(`${fixture.server.origin}/.well-known/openid-configuration`);
  const metadata = (await response.json()) as Record<string, unknown>;
  expect(metadata).toMatchObject({ backchannel_logout_supported: true, backchannel_logout_session_supported: true });
  expect(metadata.claims_supported).toContain('sid');
  expect(metadata).not.toHaveProperty('frontchannel_logout_supported');
});

describe('the id_token of a client that requires the session', () => {
  test('the id_token contains the same sid after a refresh', async () => {
    const { browser } = await registerUser(fixture.server);
    const { sid, refreshToken } = await signInAtClient(browser, 'app-session', 'openid offline_access');
    const form = { grant_type: 'refresh_token', refresh_token: String(refreshToken) };
    const client = basic('app-session', appSecret('app-session'));
    const refreshed = await statusAndBody(await fixture.server.post('/connect/token', form, client));
    expect(sid).toEqual(expect.any(String));
    expect(decodeJwt(String(refreshed.id_token)).sid).toBe(sid);
  });

  test('the id_token of the implicit flow contains the sid that is in the logout token', async () => {
    const { server, receiver } = fixture;
    const metadata = {
      token_endpoint_auth_method: 'none',
      grant_types: ['implicit'],
      response_types: ['id_token', 'id_token token'],
      backchannel_logout_session_required: true,
    };
    const { client_secret: _, ...client } = logoutClient('app-implicit', `${receiver.url}/app-implicit`, metadata);
    await server.load({ clients: [client] });
    const { browser, account } = await registerUser(server);
    const request = { client_id: 'app-implicit', redirect_uri: appRedirectUri, scope: 'openid', nonce: 'n-1' };
    const url = authorizeUrl(server, { ...request, response_type: 'id_token' });
    const { id_token = '' } = redirectParameters(await signInAndConsent(browser, await browser.open(url)));
    const { sub = '', sid } = decodeJwt(id_token);
    expect(sid).toEqual(expect.any(String));
    await browser.send(account, {}, 'Sign out');
    expect(await receivedLogouts(sub)).toEqual([`app-implicit ${sid}`]);
  });
});

describe('the logout token', () => {
  test('the logout token contains sub and the sid of the id_token if the client requires the session', async () => {
    const { browser, account, sub, sid } = await registerUserOfClient();
    await browser.send(account, {}, 'Sign out');
    expect(await receivedLogouts(sub)).toEqual([`app-session ${sid}`]);
    const received = lastReceived();
    expect(received).toMatchObject({ method: 'POST', path: '/app-session' });
    expect(received.headers).toMatchObject({ 'content-type': 'application/x-www-form-urlencoded' });
    const claims = await validateLogoutToken(received, {
      issuer: fixture.server.origin,
      clientId: 'app-session',
    });
    expect(Object.keys(claims).toSorted()).toEqual(['aud', 'events', 'exp', 'iat', 'iss', 'jti', 'sid', 'sub']);
  });

  test('logout token and id_token contain no sid if the client does not require the session', async () => {
    const { browser, account } = await registerUser(fixture.server);
    const { sub = '', sid } = await signInAtClient(browser, 'app-user');
    expect(sid).toBeUndefined();
    await browser.send(account, {}, 'Sign out');
    expect(await receivedLogouts(sub)).toEqual(['app-user -']);
    const claims = await validateLogoutToken(lastReceived(), {
      issuer: fixture.server.origin,
      clientId: 'app-user',
    });
    expect(Object.keys(claims).toSorted()).toEqual(['aud', 'events', 'exp', 'iat', 'iss', 'jti', 'sub']);
  });

  test('the logout token is signed with the algorithm in id_token_signed_response_alg', async () => {
    const { browser, account } = await registerUser(fixture.server);
    const { sub = '' } = await signInAtClient(browser, 'app-es256');
    await browser.send(account, {}, 'Sign out');
    expect(await receivedLogouts(sub)).toEqual(['app-es256 -']);
    const validation = { issuer: fixture.server.origin, clientId: 'app-es256', alg: 'ES256' };
    await validateLogoutToken(lastReceived(), validation);
  });

  test('the logout token for a client with the profile fapi2 is signed with ES256', async () => {
    const { server, receiver } = fixture;
    const client = await createKeyClient('app-fapi', server.origin);
    const metadata = {
      client_id: 'app-fapi',
      profile: 'fapi2' as const,
      redirect_uris: [appRedirectUri],
      jwks: { keys: [client.publicJwk] },
      scope: 'openid',
      backchannel_logout_uri: `${receiver.url}/app-fapi`,
      backchannel_logout_session_required: true,
    };
    await server.load({ clients: [metadata] });
    const request = { response_type: 'code', redirect_uri: appRedirectUri, scope: 'openid', ...pkce.challenge };
    const pushed = await server.post('/connect/par', { ...request, ...(await client.authenticate()) });
    const { request_uri } = await statusAndBody(pushed);
    const { browser, account } = await registerUser(server);
    const url = authorizeUrl(server, { client_id: 'app-fapi', request_uri: String(request_uri) });
    expect(redirectParameters(await signInAndConsent(browser, await browser.open(url))).code).toBeDefined();
    await browser.send(account, {}, 'Sign out');
    await server.auth.waitUntilIdle();
    const validation = { issuer: server.origin, clientId: 'app-fapi', alg: 'ES256' };
    const claims = await validateLogoutToken(lastReceived(), validation);
    expect(claims.sid).toEqual(expect.any(String));
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
  test('when a user signs out on our pages, each client of the session gets one token', async () => {
    const { browser, account, sub, sid } = await registerUserOfClient();
    await signInAtClient(browser, 'app-user');
    await signInAtClient(browser, 'app-silent');
    // A second sign-in at the same client does not add the client to the session again.
    await signInAtClient(browser, 'app-session');
    await browser.send(account, {}, 'Sign out');
    expect(await receivedLogouts(sub)).toEqual([`app-session ${sid}`, 'app-user -']);
  });

  test('when a user signs out through one client, every client of the session gets one token', async () => {
    const { browser, sub, sid, idToken } = await registerUserOfClient();
    await signInAtClient(browser, 'app-user', 'openid offline_access');
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
    const { browser, username, sub, sid } = await registerUserOfClient();
    const otherSession = await signInUser(fixture.server, username);
    const { sid: otherSid } = await signInAtClient(otherSession.browser, 'app-session');
    await browser.send(await openAccount(browser), { password, newPassword: 'eight quiet harbours' });
    expect(await receivedLogouts(sub)).toEqual([`app-session ${sid}`, `app-session ${otherSid}`].toSorted());
    // The session of this browser continues, but the client is no longer part of it.
    await browser.send(await openAccount(browser), {}, 'Sign out');
    expect(await receivedLogouts(sub)).toHaveLength(2);
  });

  test('a user who changes the password can keep the access of clients in this browser', async () => {
    const { browser, username, sub } = await registerUserOfClient();
    const otherSession = await signInUser(fixture.server, username);
    const { sid: otherSid } = await signInAtClient(otherSession.browser, 'app-session');
    const form = { password, newPassword: 'eight quiet harbours', keepApplications: 'yes' };
    await browser.send(await openAccount(browser), form);
    expect(await receivedLogouts(sub)).toEqual([`app-session ${otherSid}`]);
  });

  test('when a user resets the password, the client gets a token', async () => {
    const { username, sub, sid } = await registerUserOfClient();
    const visitor = openBrowser(fixture.server);
    await visitor.send(await visitor.open(`${fixture.server.origin}/reset-password`), { username });
    // This server has no mail server, so it logs its mails.
    const link = await eventually(async () =>
      fixture.server.log
        .map((line) => JSON.parse(line).mail as { to: string; text: string } | undefined)
        .filter((mail) => mail?.to === username)
        .map((mail) => /https?:\/\/\S+reset-password\S+token=\S+/.exec(mail?.text ?? '')?.[0])
        .at(-1),
    );
    await visitor.send(await visitor.open(link), { password: 'eight quiet harbours' });
    expect(await receivedLogouts(sub)).toEqual([`app-session ${sid}`]);
  });

  test('when a user ends another session, the client of that session gets a token', async () => {
    const { browser, username, sub } = await registerUserOfClient();
    const otherSession = await signInUser(fixture.server, username);
    const { sid: otherSid } = await signInAtClient(otherSession.browser, 'app-session');
    const account = await openAccount(browser);
    // The page has no form to end the session of this browser, so the first `uid` belongs to the other session.
    const uid = account.forms.flatMap(({ fields }) => fields).find(({ name }) => name === 'uid')?.value ?? '';
    await browser.send(account, { uid });
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
  });

  test('when a user removes the access of a client, only this client gets tokens', async () => {
    const { browser, username, sub, sid } = await registerUserOfClient();
    const otherSession = await signInUser(fixture.server, username);
    const { sid: otherSid } = await signInAtClient(otherSession.browser, 'app-session');
    await signInAtClient(browser, 'app-user');
    await browser.send(await openAccount(browser), { client: 'app-session' }, 'Remove access');
    const ofRemovedClient = [`app-session ${sid}`, `app-session ${otherSid}`].toSorted();
    expect(await receivedLogouts(sub)).toEqual(ofRemovedClient);
    // The user stays signed in, but the client is no longer part of the session.
    await browser.send(await openAccount(browser), {}, 'Sign out');
    expect(await receivedLogouts(sub)).toEqual([...ofRemovedClient, 'app-user -']);
  });

  test('when an import disables an account, its sessions end, and clients get tokens', async () => {
    const { server } = fixture;
    const { browser, username, sub, sid } = await registerUserOfClient();
    const account = { id: sub, username };
    await server.load({ accounts: [{ ...account, disabled: true }] });
    const importedAt = Date.now();
    await eventually(async () => (await receivedLogouts(sub)).length > 0);
    expect(Date.now() - importedAt).toBeLessThan(maxDelayAfterImport);
    expect(await receivedLogouts(sub)).toEqual([`app-session ${sid}`]);
    expect((await openAccount(browser)).title).toMatch(/^Sign in/);
    // A second import of the same file changes nothing. An import with `disabled: false` enables the account again.
    await server.load({ accounts: [{ ...account, disabled: true }] });
    const attempt = { username, password };
    expect((await browser.send(await openAccount(browser), attempt)).title).toMatch(/^Error: Sign in/);
    await server.load({ accounts: [{ ...account, disabled: false }] });
    expect((await browser.send(await openAccount(browser), attempt)).title).toMatch(/^Your account/);
    expect(await receivedLogouts(sub)).toHaveLength(1);
  });

  test('when another user signs in in the same browser, the client of the first user gets a token', async () => {
    const { browser, sub, sid } = await registerUserOfClient();
    const otherUser = await registerUser(fixture.server);
    const page = await browser.open(`${fixture.server.origin}/sign-in?return=/account&again=1`);
    const account = await browser.send(page, { username: otherUser.username, password });
    expect(account.html).toContain(otherUser.username);
    expect(await receivedLogouts(sub)).toEqual([`app-session ${sid}`]);
  });
});

describe('requests that send no logout token', () => {
  test('a client gets no logout token if the user declines to sign out', async () => {
    const { browser, sub, idToken } = await registerUserOfClient();
    await signInAtClient(browser, 'app-user');
    const params = { id_token_hint: idToken, client_id: 'app-session', post_logout_redirect_uri: appRedirectUri };
    await browser.send(await requestSignOut(browser, params), {}, 'Stay signed in');
    expect(await receivedLogouts(sub)).toEqual([]);
    expect((await openAccount(browser)).title).toMatch(/^Your account/);
  });

  test('a client gets no logout token if the user signs in again, which gives the session a new id', async () => {
    const { browser, username, sub } = await registerUserOfClient();
    const again = await browser.open(`${fixture.server.origin}/sign-in?return=/account&again=1`);
    expect((await browser.send(again, { password })).title).toMatch(/^Your account/);
    const login = await browser.open(codeFlowUrl('app-user', { prompt: 'login' }));
    const page = await browser.send(login, { username, password });
    expect(redirectParameters(await signInAndConsent(browser, page)).code).toBeDefined();
    expect(await receivedLogouts(sub)).toEqual([]);
  });

  test('a client to which the user denied access gets no logout token', async () => {
    const { browser, account, sub, sid } = await registerUserOfClient();
    const consent = await browser.open(codeFlowUrl('app-user'));
    await browser.send(consent, {}, { name: 'decision', value: 'deny' });
    await browser.send(account, {}, 'Sign out');
    expect(await receivedLogouts(sub)).toEqual([`app-session ${sid}`]);
  });
});

describe('the import of a client with back-channel logout', () => {
  const address = 'https://app.example/logout';
  test.each([
    [{ backchannel_logout_uri: undefined, backchannel_logout_session_required: true }, 'needs backchannel_logout_uri'],
    [{ backchannel_logout_uri: 'app.example/logout' }, 'must be an https address'],
    // 203.0.114.1 is a public address, so the only error is the protocol.
    [{ backchannel_logout_uri: 'http://203.0.114.1/logout' }, 'must be an https address'],
    [{ backchannel_logout_uri: 'https://10.1.2.3/logout' }, 'must lead to a public address'],
    [{ backchannel_logout_uri: 'https://[fd00::1]/logout' }, 'must lead to a public address'],
    [{ backchannel_logout_uri: `${address}#part` }, 'must not contain a fragment'],
    [{ backchannel_logout_uri: 'https://user:secret@app.example/' }, 'must not contain user information'],
    [{ backchannel_logout_session_required: 'yes' }, 'backchannel_logout_session_required'],
  ])('the import rejects the client metadata %j', async (metadata, reason) => {
    await expect(fixture.server.load({ clients: [logoutClient('invalid', address, metadata)] })).rejects.toThrow(
      reason,
    );
  });
});
