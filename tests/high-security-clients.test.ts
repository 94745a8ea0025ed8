// Tests a client with the profile fapi2 with the library openid-client: it signs in with private_key_jwt, a pushed
// request and DPoP, and books a bay with the bound token (docs/behaviour-auth.md, "High-security clients").
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { beforeAll, expect, test } from '@jest/globals';
import { importJWK } from 'jose';
import * as openid from 'openid-client';
import { callApi } from './support/api.ts';
import { useClientSystem } from './support/client-system.ts';

const clientId = 'demo-fapi';
const redirect_uri = 'http://localhost:4010/fapi';
const scope = 'openid profile offline_access https://bay-booking.example/golf/bookings';
const owner = { username: 'owner@north.example', password: 'demo-owner-pass' };

const system = useClientSystem();
let clientKey: openid.CryptoKey;
beforeAll(async () => {
  const path = join(import.meta.dirname, '../packages/local/demo/demo-fapi.jwk.json');
  clientKey = (await importJWK(JSON.parse(readFileSync(path, 'utf8')), 'ES256')) as openid.CryptoKey;
});

/** Signs in and consents on the pages of auth. Returns the redirect URI with the authorization response. */
async function authorize(address: URL): Promise<URL> {
  const browser = openFormBrowser([system.auth.base]);
  const page = await browser.submit(address, owner);
  // The consent is remembered.
  if (!page.title.startsWith('Allow')) return page.url;
  return (await browser.send(page, {}, { name: 'decision', value: 'allow' })).url;
}

/** The tests book days in a far future, so that they do not collide with bookings of other tests. */
const bookingOn = (day: string) =>
  JSON.stringify({
    bayId: 'bay-n1-01',
    userAlias: 'fapi',
    startDate: `${day}T10:00:00.000Z`,
    endDate: `${day}T11:00:00.000Z`,
  });
const jsonHeaders = new Headers({ 'Content-Type': 'application/json' });

test('openid-client signs in, reads userinfo, refreshes and books bays with bound tokens', async () => {
  const config = await openid.discovery(
    new URL(system.auth.base),
    clientId,
    undefined,
    openid.PrivateKeyJwt(clientKey),
    {
      execute: [openid.allowInsecureRequests],
    },
  );
  const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'));
  const expectedState = openid.randomState();
  const expectedNonce = openid.randomNonce();
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const request = {
    redirect_uri,
    scope,
    state: expectedState,
    nonce: expectedNonce,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  };
  const response = await authorize(await openid.buildAuthorizationUrlWithPAR(config, request, { DPoP }));
  const checks = { expectedState, expectedNonce, pkceCodeVerifier };
  const tokens = await openid.authorizationCodeGrant(config, response, checks, undefined, { DPoP });
  expect(tokens).toMatchObject({ token_type: 'dpop', scope });
  const sub = String(tokens.claims()?.sub);
  expect(await openid.fetchUserInfo(config, tokens.access_token, sub, { DPoP })).toMatchObject({ sub });

  const refreshed = await openid.refreshTokenGrant(config, String(tokens.refresh_token), undefined, { DPoP });
  const url = new URL(`${system.baseUrl}/api/bookings`);
  const book = async (token: string, day: string) =>
    (await openid.fetchProtectedResource(config, token, url, 'POST', bookingOn(day), jsonHeaders, { DPoP })).status;
  expect(await book(tokens.access_token, '2198-01-01')).toBe(201);
  expect(await book(refreshed.access_token, '2198-01-02')).toBe(201);
  // `callApi` sends the token as Bearer, without a proof.
  expect((await callApi(system.baseUrl, tokens.access_token, 'POST', '/api/bookings', {})).status).toBe(401);
});
