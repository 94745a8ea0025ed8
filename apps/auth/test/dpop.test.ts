// Tests DPoP proofs, tokens that are bound to a key, and the attacks that proofs prevent (RFC 9449;
// docs/behaviour-auth.md, "High-security clients").
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { basic, createKeyStore, encryptionKey, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { authorize, owner, passwordTokens, pkce, player } from './flows.ts';
import { createKeyClient, type KeyClient, type ProofOptions } from './key-client.ts';

const server = useFixture(() => startAuthServer());
const tokenUrl = () => `${server.origin}/connect/token`;
const userinfoUrl = () => `${server.origin}/connect/userinfo`;
const createKey = () => createKeyClient('demo-native', server.origin);
const now = () => Math.floor(Date.now() / 1000);

const patHeaders = basic('demo-pat-north', 'demo-pat-north-secret');
const patForm = { grant_type: 'client_credentials', scope: scopes.bookings };

/**
 * Requests a token with a personal access token and a proof. Returns the status, the fields of the body, and the DPoP
 * nonce of the response.
 */
async function requestToken(
  proof: string,
  origin = server.origin,
): Promise<Record<string, unknown> & { nonce: string }> {
  const headers = { ...patHeaders, DPoP: proof };
  const body = new URLSearchParams(patForm);
  const response = await fetch(`${origin}/connect/token`, { method: 'POST', body, headers });
  return { ...(await statusAndBody(response)), nonce: response.headers.get('dpop-nonce') ?? '' };
}
/** Sends a token request with a proof of a new key, in which these claims replace the usual claims. */
const requestWithClaims = async (claims: NonNullable<ProofOptions['claims']>, origin?: string) =>
  requestToken(await (await createKey()).proof(tokenUrl(), { claims }), origin);

const nativeCallback = 'http://localhost:4010/native';
const codeForm = (code: string) => ({
  grant_type: 'authorization_code',
  client_id: 'demo-native',
  code,
  redirect_uri: nativeCallback,
  code_verifier: pkce.verifier,
});

/** Sends an authorization request of the public client demo-native, and returns the code. */
async function authorizeNative(scope: string, user = player): Promise<string> {
  const request = { response_type: 'code', client_id: 'demo-native', redirect_uri: nativeCallback, scope };
  return String((await authorize(server, { ...request, ...pkce.challenge }, { user })).code);
}

async function redeemCode(key: KeyClient, scope: string, user = player): Promise<Record<string, unknown>> {
  const code = await authorizeNative(scope, user);
  return server.token(codeForm(code), { DPoP: await key.proof(tokenUrl()) });
}
const obtainToken = async (key: KeyClient, scope: string) => String((await redeemCode(key, scope)).access_token);

// A proof needs a nonce if its `iat` differs from the current time by more than 300 s. The tests use 290 s and 310 s.
describe('proofs at the token endpoint', () => {
  const accepted = { status: 200, token_type: 'DPoP' };

  test.each([-290, 290])('a proof whose iat is %i s from now is accepted without a nonce', async (seconds) => {
    expect(await requestWithClaims({ iat: now() + seconds })).toMatchObject(accepted);
  });

  test.each([-310, 310])('a proof whose iat is %i s from now needs a nonce, which it gets', async (seconds) => {
    const iat = now() + seconds;
    const rejected = await requestWithClaims({ iat });
    expect(rejected).toMatchObject({ status: 400, error: 'use_dpop_nonce', nonce: expect.stringMatching(/./) });
    expect(await requestWithClaims({ iat, nonce: rejected.nonce })).toMatchObject(accepted);
  });

  test('a wrong nonce gets use_dpop_nonce', async () => {
    for (const iat of [now(), now() - 310]) {
      expect(await requestWithClaims({ iat, nonce: 'wrong' })).toMatchObject({ status: 400, error: 'use_dpop_nonce' });
    }
  });

  test('a nonce is valid at all instances and for all grant types, and after a rotation of the signing keys', async () => {
    const otherInstance = await server.startInstance();
    const iat = now() - 3600;
    const { nonce } = await requestWithClaims({ iat });
    await createKeyStore({ db: server.db, encryptionKeys: [Buffer.from(encryptionKey, 'base64')] }).rotate(0);
    await Promise.all([server.auth.refreshKeys(), otherInstance.auth.refreshKeys()]);
    for (const origin of [server.origin, otherInstance.origin]) {
      expect(await requestWithClaims({ iat, nonce }, origin)).toMatchObject({ status: 200 });
    }
    // oidc-provider has checked the nonce for client_credentials. Our own code checks it for `password`.
    const proof = await (await createKey()).proof(tokenUrl(), { claims: { iat, nonce } });
    const form = { grant_type: 'password', client_id: 'demo-native', ...player, scope: scopes.play };
    expect(await server.token(form, { DPoP: proof })).toMatchObject(accepted);
  });

  test('htu must be the address of the endpoint below ISSUER, whatever the Host header contains', async () => {
    const issuer = 'https://id.bay-booking.example';
    const key = await createKey();
    const { origin } = await server.startInstance({ ISSUER: issuer });
    // The comparison normalizes the scheme, host and port, and ignores the query and fragment (RFC 9449 section 4.3).
    for (const htu of [`${issuer}/connect/token`, `${issuer.toUpperCase()}:443/connect/token?a=1#b`])
      expect(await requestToken(await key.proof(htu), origin)).toMatchObject({ status: 200 });
    const forOtherAddress = await requestToken(await key.proof(`${origin}/connect/token`), origin);
    expect(forOtherAddress).toMatchObject({ status: 400, error: 'invalid_dpop_proof' });
  });

  test('a proof is accepted once, even if many copies arrive at two instances at the same time', async () => {
    const otherInstance = await server.startInstance();
    const proof = await (await createKey()).proof(tokenUrl());
    const origins = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? server.origin : otherInstance.origin));
    const responses = await Promise.all(origins.map((origin) => requestToken(proof, origin)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
  });
});

describe('tokens that are requested with a proof', () => {
  const requestAsNative = async (fields: Record<string, string>, key?: KeyClient) => {
    const headers = key && { DPoP: await key.proof(tokenUrl()) };
    return server.token({ client_id: 'demo-native', ...fields }, headers);
  };
  const scope = `offline_access ${scopes.bookings}`;

  test.each<[string, (key: KeyClient) => Promise<Record<string, unknown>>]>([
    ['password', (key) => requestAsNative({ grant_type: 'password', ...owner, scope }, key)],
    ['authorization_code', (key) => redeemCode(key, scope, owner)],
  ])(
    'the grant type %s gives a bound access token, and a bound refresh token to a public client',
    async (_grant, obtain) => {
      const [key, otherKey] = [await createKey(), await createKey()];
      const first = await obtain(key);
      expect(first).toMatchObject({ status: 200, token_type: 'DPoP' });
      expect(decodeJwt(String(first.access_token)).cnf).toEqual({ jkt: key.thumbprint });

      const refresh = { grant_type: 'refresh_token', refresh_token: String(first.refresh_token) };
      expect(await requestAsNative(refresh)).toMatchObject({ status: 400, error: 'invalid_grant' });
      expect(await requestAsNative(refresh, otherKey)).toMatchObject({ status: 400, error: 'invalid_grant' });
      const second = await requestAsNative(refresh, key);
      expect(second).toMatchObject({ status: 200, token_type: 'DPoP' });
      expect(decodeJwt(String(second.access_token)).cnf).toEqual({ jkt: key.thumbprint });
      const third = { ...refresh, refresh_token: String(second.refresh_token) };
      expect(await requestAsNative(third, otherKey)).toMatchObject({ status: 400, error: 'invalid_grant' });
      expect(await requestAsNative(third, key)).toMatchObject({ status: 200, token_type: 'DPoP' });
    },
  );

  test('a request that gets use_dpop_nonce uses up no code and stores no grant', async () => {
    const key = await createKey();
    const claims = { iat: now() - 3600 };
    const countGrants = async () =>
      Number((await server.db('oidc_artifact').where({ model: 'Grant' }).count())[0]?.count);
    const withProof = async (form: Record<string, string>, nonce?: string) => {
      const headers = { DPoP: await key.proof(tokenUrl(), { claims: { ...claims, ...(nonce && { nonce }) } }) };
      const response = await server.post('/connect/token', { client_id: 'demo-native', ...form }, headers);
      return { ...(await statusAndBody(response)), nonce: response.headers.get('dpop-nonce') ?? undefined };
    };
    const code = await authorizeNative(scope);
    const before = await countGrants();
    for (const form of [codeForm(code), { grant_type: 'password', ...owner, scope }]) {
      const rejected = await withProof(form);
      expect(rejected).toMatchObject({ status: 400, error: 'use_dpop_nonce' });
      expect(await countGrants()).toBe(before);
      expect(await withProof(form, rejected.nonce)).toMatchObject({ status: 200, token_type: 'DPoP' });
    }
  });
});

// An access token for userinfo alone is opaque. With a scope of an API, the access token is a JWT.
describe.each([
  ['a JWT', `openid profile ${scopes.play}`],
  ['opaque', 'openid profile'],
])('a bound token that is %s', (_title, scope) => {
  const userinfo = async (token: string, proof?: string, { scheme = 'DPoP', method = 'GET' } = {}) => {
    const headers = { Authorization: `${scheme} ${token}`, ...(proof !== undefined && { DPoP: proof }) };
    const response = await fetch(`${server.origin}/connect/userinfo`, { method, headers });
    const challenge = response.headers.get('www-authenticate');
    return { ...(await statusAndBody(response)), status: response.status, challenge };
  };

  test('userinfo accepts the token with a proof for the method and the token, and each proof only once', async () => {
    const key = await createKey();
    const accessToken = await obtainToken(key, scope);
    for (const method of ['GET', 'POST']) {
      const proof = await key.proof(userinfoUrl(), { method, accessToken });
      expect(await userinfo(accessToken, proof, { method })).toMatchObject({ status: 200, name: 'Pat Player' });
      expect(await userinfo(accessToken, proof, { method })).toMatchObject({ status: 401 });
    }
  });

  test('introspection shows the token with cnf and token_type DPoP', async () => {
    const key = await createKey();
    const token = await obtainToken(key, scope);
    const response = await server.post('/connect/introspect', { token }, basic('demo-web', 'demo-web-secret'));
    const shown = { active: true, token_type: 'DPoP', cnf: { jkt: key.thumbprint } };
    expect(await statusAndBody(response)).toMatchObject(shown);
  });
});

test('userinfo answers a request with the scheme DPoP with a DPoP challenge', async () => {
  const key = await createKey();
  const accessToken = String((await passwordTokens(server, player)).access_token);
  const proof = await key.proof(userinfoUrl(), { method: 'GET', accessToken });
  const headers = { Authorization: `DPoP ${accessToken}`, DPoP: proof };
  const rejected = await fetch(`${server.origin}/connect/userinfo`, { headers });
  expect([rejected.status, rejected.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringMatching(/^DPoP .*error="invalid_token".*algs="ES256 PS256 EdDSA Ed25519"/),
  ]);
  for (const [path, authorization] of [
    ['/connect/userinfo', 'DPoP'],
    ['/connect/userinfo', `DPoP ${accessToken} ${accessToken}`],
    ['/connect/userinfo?access_token=x', `DPoP ${accessToken}`],
  ] as const) {
    const malformed = await fetch(server.origin + path, { headers: { Authorization: authorization } });
    expect(malformed.headers.get('www-authenticate')).toMatch(/^DPoP .*error="invalid_request".*algs="/);
  }
});
