// Tests flows with openid-client, a certified library for relying parties, and the website of docs/sign-in.md, which
// uses it. The test changes only the URLs of the website, and when it refreshes its token.
import { spawn } from 'node:child_process';
import { useFixture } from '@bay-booking/testkit/fixture';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { read, root } from '@bay-booking/testkit/repository';
import { eventually } from '@bay-booking/testkit/wait';
import { expect, test } from '@jest/globals';
import * as openid from 'openid-client';
import { scopes, startAuthServer } from '../auth-server.ts';
import { openBrowser, player, signInAndConsent } from '../flows.ts';
import { codeClient, implicitClient } from './relying-party.ts';

const server = useFixture(() => startAuthServer());

/** Reads the discovery document. Test servers use http, so the library must accept http. */
const configure = (clientId: string, authentication: openid.ClientAuth): Promise<openid.Configuration> =>
  openid.discovery(new URL(server.origin), clientId, undefined, authentication, {
    execute: [openid.allowInsecureRequests],
  });

/** Returns parameters of an authorization request, and the values with which openid-client checks the response. */
async function createChecks() {
  const checks = {
    expectedState: openid.randomState(),
    expectedNonce: openid.randomNonce(),
    pkceCodeVerifier: openid.randomPKCECodeVerifier(),
  };
  const params = {
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    code_challenge: await openid.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
  };
  return { checks, params };
}

/** Runs an authorization request in a new browser, in which the demo user Pat Player (acc-player) signs in. */
const signInWith = async (config: openid.Configuration, params: Record<string, string>) => {
  const browser = openBrowser(server);
  return signInAndConsent(browser, await browser.open(openid.buildAuthorizationUrl(config, params)));
};

test('a public client completes the code flow with PKCE, refreshes its tokens and reads userinfo', async () => {
  const config = await configure('demo-spa', openid.None());
  const { checks, params } = await createChecks();
  const request = { redirect_uri: 'http://localhost:4010/spa', scope: 'openid profile offline_access' };
  const back = await signInWith(config, { ...request, ...params });
  const tokens = await openid.authorizationCodeGrant(config, back.url, { ...checks, idTokenExpected: true });
  const sub = String(tokens.claims()?.sub);
  const refreshed = await openid.refreshTokenGrant(config, String(tokens.refresh_token));
  expect(await openid.fetchUserInfo(config, refreshed.access_token, sub)).toMatchObject({ sub, name: 'Pat Player' });
});

test('the client reads the code from a form_post response', async () => {
  const config = await configure(codeClient.id, openid.ClientSecretPost(codeClient.secret));
  const { checks, params } = await createChecks();
  const request = { redirect_uri: codeClient.redirectUri, scope: 'openid', response_mode: 'form_post' };
  const page = await signInWith(config, { ...request, ...params });
  // A real browser would submit the form of this page with JavaScript. The test builds the same request.
  const fields = page.forms[0]?.fields.map(({ name, value }) => [name, value] as [string, string]) ?? [];
  const formPost = new Request(codeClient.redirectUri, { method: 'POST', body: new URLSearchParams(fields) });
  const tokens = await openid.authorizationCodeGrant(config, formPost, { ...checks, idTokenExpected: true });
  expect(tokens.claims()).toMatchObject({ sub: 'acc-player', aud: codeClient.id });
});

test('the response type id_token gives an id_token with the claims of the requested scopes', async () => {
  const config = await configure(implicitClient.id, openid.None());
  openid.useIdTokenResponseType(config);
  const [expectedState, expectedNonce] = [openid.randomState(), openid.randomNonce()];
  const checks = { state: expectedState, nonce: expectedNonce };
  const request = { redirect_uri: implicitClient.redirectUri, scope: 'openid email' };
  const back = await signInWith(config, { ...request, ...checks });
  const claims = await openid.implicitAuthentication(config, back.url, expectedNonce, { expectedState });
  expect(claims).toMatchObject({ sub: 'acc-player', email: 'player@example.com' });
});

test('a device gets codes, polls for its tokens, refreshes them and reads userinfo', async () => {
  const config = await configure('demo-screen', openid.None());
  const scope = `openid profile roles offline_access ${scopes.play}`;
  const codes = await openid.initiateDeviceAuthorization(config, { scope });
  expect(codes).toMatchObject({ expires_in: 600, interval: 5, verification_uri: `${server.origin}/device` });
  const browser = openBrowser(server);
  const entered = await browser.submit(codes.verification_uri_complete ?? '', {});
  await signInAndConsent(browser, await browser.send(entered, {}, { name: 'decision', value: 'allow' }));
  // openid-client waits for the interval even before its first poll, so the test shortens it to 0.01 s.
  const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...codes, interval: 0.01 });
  const sub = String(tokens.claims()?.sub);
  expect(tokens).toMatchObject({ scope, refresh_token: expect.any(String) });
  const refreshed = await openid.refreshTokenGrant(config, String(tokens.refresh_token));
  expect(await openid.fetchUserInfo(config, refreshed.access_token, sub)).toMatchObject({ sub, name: 'Pat Player' });
});

/** Runs the website of the guide. Its access tokens expire after 60 s. Every page view refreshes the tokens. */
async function startWebsite() {
  const { port, close } = await serveHttp();
  await close();
  const site = `http://localhost:${port}`;
  await server.load({
    clients: [
      {
        client_id: 'demo-web',
        client_secret: 'demo-web-secret',
        redirect_uris: [`${site}/callback`],
        post_logout_redirect_uris: [`${site}/signed-out`],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        scope: scopes.all.join(' '),
        access_token_ttl: 60,
      },
    ],
  });
  const program = read('examples/website/website.mjs')
    .replaceAll('http://localhost:4000', server.origin)
    .replaceAll('4010', String(port))
    // The website refreshes tokens that expire within 30 s. With 90 s, it refreshes every token of this client (60 s).
    .replace('expiresIn() < 30', 'expiresIn() < 90');
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { cwd: root, stdio: 'inherit' });
  await eventually(() => fetch(site).catch(() => undefined));
  return { site, stop: () => child.kill() };
}

const countRefreshes = async (): Promise<number> => {
  const metrics = await (await fetch(`${server.origin}/metrics`)).text();
  return Number(
    /auth_tokens_total\{[^}]*grant_type="refresh_token"[^}]*outcome="issued"[^}]*\} (\d+)/.exec(metrics)?.[1] ?? 0,
  );
};

test('the website signs a user in with code and PKCE, refreshes the token, and signs the user out', async () => {
  const { site, stop } = await startWebsite();
  try {
    const refreshes = await countRefreshes();
    const browser = openFormBrowser([server.origin, site]);
    expect((await browser.open(site)).html).toBe('Nobody is signed in.');
    const consent = await browser.submit(`${site}/sign-in`, player);
    expect((await browser.send(consent, {}, { name: 'decision', value: 'allow' })).html).toBe('Hello Pat Player');
    expect((await browser.open(site)).html).toBe('Hello Pat Player');
    // The signed-in user has seen the page twice. Each time, the website has refreshed the tokens.
    expect(await countRefreshes()).toBe(refreshes + 2);

    const signedOut = await browser.submit(`${site}/sign-out`, {}, 'Sign out');
    expect(signedOut.url.href).toBe(`${site}/signed-out`);
    expect(signedOut.html).toBe('Nobody is signed in.');
    expect((await browser.open(`${site}/sign-in`)).title).toMatch(/^Sign in/);
  } finally {
    stop();
  }
});

test('the website reports that the user has cancelled', async () => {
  const { site, stop } = await startWebsite();
  try {
    const browser = openFormBrowser([server.origin, site]);
    const cancelled = await browser.submit(`${site}/sign-in`, {}, 'Cancel');
    expect([cancelled.status, cancelled.html]).toEqual([400, 'Sign-in failed: access_denied']);
  } finally {
    stop();
  }
});
