// Tests flows with openid-client, a certified library for relying parties. docs/conformance.md lists the flows, and the
// other tests that use the library.
import { useFixture } from '@bay-booking/testkit/fixture';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { expect, test } from '@jest/globals';
import * as openid from 'openid-client';
import { scopes } from '../auth-server.ts';
import { openBrowser, signInAndConsent } from '../flows.ts';
import { configureOpenidClient } from '../openid-client.ts';
import { startSocialServer } from '../social-server.ts';
import {
  codeClient,
  implicitClient,
  postLogoutRedirectUri,
  redirectUri,
  startForRelyingParty,
} from './relying-party.ts';

/** The ids of users of the stand-in providers. */
const ada = '100001';
const ben = '100002';

const server = useFixture(() => startSocialServer(startForRelyingParty));

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
  const config = await configureOpenidClient(server, 'demo-spa', openid.None());
  const { checks, params } = await createChecks();
  const request = { redirect_uri: 'http://localhost:4010/spa', scope: 'openid profile offline_access' };
  const back = await signInWith(config, { ...request, ...params });
  const tokens = await openid.authorizationCodeGrant(config, back.url, { ...checks, idTokenExpected: true });
  const sub = String(tokens.claims()?.sub);
  const refreshed = await openid.refreshTokenGrant(config, String(tokens.refresh_token));
  expect(await openid.fetchUserInfo(config, refreshed.access_token, sub)).toMatchObject({ sub, name: 'Pat Player' });
});

test('the client reads the code from a form_post response', async () => {
  const config = await configureOpenidClient(server, codeClient.id, openid.ClientSecretPost(codeClient.secret));
  const { checks, params } = await createChecks();
  const request = { redirect_uri: redirectUri, scope: 'openid', response_mode: 'form_post' };
  const page = await signInWith(config, { ...request, ...params });
  // A real browser would submit the form of this page with JavaScript. The test builds the same request.
  const fields = page.forms[0]?.fields.map(({ name, value }) => [name, value] as [string, string]) ?? [];
  const formPost = new Request(redirectUri, { method: 'POST', body: new URLSearchParams(fields) });
  const tokens = await openid.authorizationCodeGrant(config, formPost, { ...checks, idTokenExpected: true });
  expect(tokens.claims()).toMatchObject({ sub: 'acc-player', aud: codeClient.id });
});

test('the response type id_token gives an id_token with the claims of the requested scopes', async () => {
  const config = await configureOpenidClient(server, implicitClient.id, openid.None());
  openid.useIdTokenResponseType(config);
  const [expectedState, expectedNonce] = [openid.randomState(), openid.randomNonce()];
  const request = { redirect_uri: redirectUri, scope: 'openid email', state: expectedState, nonce: expectedNonce };
  const back = await signInWith(config, request);
  const claims = await openid.implicitAuthentication(config, back.url, expectedNonce, { expectedState });
  expect(claims).toMatchObject({ sub: 'acc-player', email: 'player@example.com' });
});

test.each(['google', 'facebook'])(
  'a public client that names %s in acr_values and does not request openid gets tokens',
  async (name) => {
    // PKCE is optional for the client demo-native. This test does not use PKCE.
    const config = await configureOpenidClient(server, 'demo-native', openid.None());
    const browser = openFormBrowser([server.origin, server.social.origin]);
    const state = openid.randomState();
    const params = { redirect_uri: 'com.example.demo:/callback', scope: `offline_access ${scopes.play}`, state };
    const url = openid.buildAuthorizationUrl(config, { ...params, acr_values: `idp:${name}` });
    // The sign-in page of the stand-in provider has a button for each user, and no fields to fill in.
    const consent = await browser.send(await browser.open(url), {}, { name: 'user', value: ada });
    const back = await browser.send(consent, {}, { name: 'decision', value: 'allow' });
    const tokens = await openid.authorizationCodeGrant(config, back.url, { expectedState: state });
    expect(tokens).toMatchObject({ access_token: expect.any(String), refresh_token: expect.any(String) });
  },
);

test.each(['google', 'facebook'] as const)(
  'the grant type social_access_token gives an access token for a token of %s',
  async (name) => {
    const config = await configureOpenidClient(server, 'demo-native', openid.None());
    const form = { token: server.social.nativeToken(name, ben), scope: scopes.play };
    const tokens = await openid.genericGrantRequest(config, 'social_access_token', form);
    expect(tokens).toMatchObject({ access_token: expect.any(String), expires_in: 3600, scope: scopes.play });
  },
);

test('a device gets codes, polls for its tokens, refreshes them and reads userinfo', async () => {
  const config = await configureOpenidClient(server, 'demo-screen', openid.None());
  const scope = `openid profile roles offline_access ${scopes.play}`;
  const codes = await openid.initiateDeviceAuthorization(config, { scope });
  expect(codes).toMatchObject({ expires_in: 600, interval: 5, verification_uri: `${server.origin}/device` });
  const browser = openBrowser(server);
  const entered = await browser.send(await browser.open(codes.verification_uri_complete ?? ''), {});
  await signInAndConsent(browser, await browser.send(entered, {}, { name: 'decision', value: 'allow' }));
  // openid-client waits for the interval even before its first poll, so the test shortens it to 0.01 s.
  const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...codes, interval: 0.01 });
  const sub = String(tokens.claims()?.sub);
  expect(tokens).toMatchObject({ scope, refresh_token: expect.any(String) });
  const refreshed = await openid.refreshTokenGrant(config, String(tokens.refresh_token));
  expect(await openid.fetchUserInfo(config, refreshed.access_token, sub)).toMatchObject({ sub, name: 'Pat Player' });
});

test('a device whose user denies the access gets access_denied', async () => {
  const config = await configureOpenidClient(server, 'demo-screen', openid.None());
  const codes = await openid.initiateDeviceAuthorization(config, { scope: 'openid' });
  const browser = openBrowser(server);
  const entered = await browser.send(await browser.open(codes.verification_uri_complete ?? ''), {});
  await browser.send(entered, {}, { name: 'decision', value: 'deny' });
  await expect(openid.pollDeviceAuthorizationGrant(config, { ...codes, interval: 0.01 })).rejects.toMatchObject({
    error: 'access_denied',
  });
});

test('a user who signs out returns to the client with its state', async () => {
  const config = await configureOpenidClient(server, codeClient.id, openid.ClientSecretBasic(codeClient.secret));
  const browser = openBrowser(server);
  const params = { redirect_uri: redirectUri, scope: 'openid' };
  const back = await signInAndConsent(browser, await browser.open(openid.buildAuthorizationUrl(config, params)));
  const tokens = await openid.authorizationCodeGrant(config, back.url, { idTokenExpected: true });
  const end = openid.buildEndSessionUrl(config, {
    id_token_hint: String(tokens.id_token),
    post_logout_redirect_uri: postLogoutRedirectUri,
    state: 'bye',
  });
  const signedOut = await browser.send(await browser.open(end), {}, 'Sign out');
  expect(signedOut.url.href).toBe(`${postLogoutRedirectUri}?state=bye`);
});
