// Tests flows with openid-client, a certified library for relying parties: a public client with PKCE, form_post, the
// response type id_token, social login (acr_values=idp:NAME), the grant social_access_token, device sign-in, and
// sign-out. docs/conformance.md lists the other tests that use the library.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { type SocialProviders, startSocialProviders } from '@bay-booking/testkit/social-providers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import * as openid from 'openid-client';
import { type AuthServer, scopes } from '../auth-server.ts';
import { openBrowser, signInAndConsent } from '../flows.ts';
import { codeClient, postLogoutRedirectUri, redirectUri, startForRelyingParty } from './relying-party.ts';

let social: SocialProviders;
let server: AuthServer;
beforeAll(async () => {
  social = await startSocialProviders();
  const SOCIAL_PROVIDERS_FILE = join(mkdtempSync(join(tmpdir(), 'social-')), 'providers.json');
  writeFileSync(SOCIAL_PROVIDERS_FILE, JSON.stringify(social.settings));
  server = await startForRelyingParty({ SOCIAL_PROVIDERS_FILE });
});
afterAll(async () => {
  await server.close();
  await social.stop();
});

const discover = (id: string, authentication: openid.ClientAuth): Promise<openid.Configuration> =>
  openid.discovery(new URL(server.origin), id, undefined, authentication, { execute: [openid.allowInsecureRequests] });
const newChecks = () => ({
  expectedState: openid.randomState(),
  expectedNonce: openid.randomNonce(),
  pkceCodeVerifier: openid.randomPKCECodeVerifier(),
});
const signInWith = async (config: openid.Configuration, params: Record<string, string>) => {
  const browser = openBrowser(server);
  return signInAndConsent(browser, await browser.open(openid.buildAuthorizationUrl(config, params)));
};

test('a public client: code with PKCE, refresh, userinfo', async () => {
  const config = await discover('demo-spa', openid.None());
  const checks = newChecks();
  const back = await signInWith(config, {
    redirect_uri: 'http://localhost:4010/spa',
    scope: 'openid profile offline_access',
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    code_challenge: await openid.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  const tokens = await openid.authorizationCodeGrant(config, back.url, { ...checks, idTokenExpected: true });
  const sub = String(tokens.claims()?.sub);
  const again = await openid.refreshTokenGrant(config, String(tokens.refresh_token));
  expect(await openid.fetchUserInfo(config, again.access_token, sub)).toMatchObject({ sub, name: 'Pat Player' });
});

test('the response with form_post', async () => {
  const config = await discover(codeClient.id, openid.ClientSecretPost(codeClient.secret));
  const checks = newChecks();
  const page = await signInWith(config, {
    redirect_uri: redirectUri,
    scope: 'openid',
    response_mode: 'form_post',
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    code_challenge: await openid.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  const fields = page.forms[0]?.fields.map(({ name, value }) => [name, value] as [string, string]) ?? [];
  const formPost = new Request(redirectUri, { method: 'POST', body: new URLSearchParams(fields) });
  const tokens = await openid.authorizationCodeGrant(config, formPost, { ...checks, idTokenExpected: true });
  expect(tokens.claims()).toMatchObject({ sub: 'acc-player', aud: codeClient.id });
});

test('an id_token alone', async () => {
  const config = await discover('rp-implicit', openid.None());
  openid.useIdTokenResponseType(config);
  const { expectedState, expectedNonce } = newChecks();
  const params = { redirect_uri: redirectUri, scope: 'openid email', state: expectedState, nonce: expectedNonce };
  const back = await signInWith(config, params);
  const claims = await openid.implicitAuthentication(config, back.url, expectedNonce, { expectedState });
  expect(claims).toMatchObject({ sub: 'acc-player', email: 'player@example.com' });
});

test.each(['google', 'facebook'])('acr_values=idp:%s, without openid and without a secret', async (name) => {
  const config = await discover('demo-native', openid.None());
  const browser = openFormBrowser([server.origin, social.origin]);
  const state = openid.randomState();
  const params = { redirect_uri: 'com.example.demo:/callback', scope: `offline_access ${scopes.play}`, state };
  const url = openid.buildAuthorizationUrl(config, { ...params, acr_values: `idp:${name}` });
  const consent = await browser.send(await browser.open(url), {}, { name: 'user', value: '100001' });
  const back = await browser.send(consent, {}, { name: 'decision', value: 'allow' });
  const tokens = await openid.authorizationCodeGrant(config, back.url, { expectedState: state });
  expect(tokens).toMatchObject({ access_token: expect.any(String), refresh_token: expect.any(String) });
});

test.each(['google', 'facebook'] as const)('social_access_token of %s', async (name) => {
  const config = await discover('demo-native', openid.None());
  const form = { token: social.nativeToken(name, '100002'), scope: scopes.play };
  const tokens = await openid.genericGrantRequest(config, 'social_access_token', form);
  expect(tokens).toMatchObject({ access_token: expect.any(String), expires_in: 3600, scope: scopes.play });
});

test('device sign-in: the codes, polling, refresh, userinfo', async () => {
  const config = await discover('demo-screen', openid.None());
  const scope = `openid profile roles offline_access ${scopes.play}`;
  const codes = await openid.initiateDeviceAuthorization(config, { scope });
  expect(codes).toMatchObject({ expires_in: 600, interval: 5, verification_uri: `${server.origin}/device` });
  const browser = openBrowser(server);
  const entered = await browser.send(await browser.open(codes.verification_uri_complete ?? ''), {});
  await signInAndConsent(browser, await browser.send(entered, {}, { name: 'decision', value: 'allow' }));
  // The library waits for the interval even before its first poll.
  const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...codes, interval: 0.01 });
  const sub = String(tokens.claims()?.sub);
  expect(tokens).toMatchObject({ scope, refresh_token: expect.any(String) });
  const again = await openid.refreshTokenGrant(config, String(tokens.refresh_token));
  expect(await openid.fetchUserInfo(config, again.access_token, sub)).toMatchObject({ sub, name: 'Pat Player' });
});

test('device sign-in: a denied request', async () => {
  const config = await discover('demo-screen', openid.None());
  const codes = await openid.initiateDeviceAuthorization(config, { scope: 'openid' });
  const browser = openBrowser(server);
  const entered = await browser.send(await browser.open(codes.verification_uri_complete ?? ''), {});
  await browser.send(entered, {}, { name: 'decision', value: 'deny' });
  await expect(openid.pollDeviceAuthorizationGrant(config, { ...codes, interval: 0.01 })).rejects.toMatchObject({
    error: 'access_denied',
  });
});

test('sign-out', async () => {
  const config = await discover(codeClient.id, openid.ClientSecretBasic(codeClient.secret));
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
