// Tests access tokens that are bound to a key (RFC 9449; docs/behaviour-auth.md, "High-security clients").
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { baseUrl, createTestSystem, type TestSystem } from './support/test-system.ts';

const path = '/api/booking-locations';
const algorithms = 'algs="ES256 PS256 EdDSA Ed25519"';
const invalidToken = `DPoP error="invalid_token", ${algorithms}`;
const invalidProof = `DPoP error="invalid_dpop_proof", ${algorithms}`;
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

const nowSeconds = () => Math.floor(Date.now() / 1000);

/**
 * Creates a key pair. `jkt` is the thumbprint of the public key (RFC 7638). `proof` creates a proof for a token, and
 * `claims` and `header` replace parts of the proof. A member with the value undefined is left out of the proof.
 */
function createKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { crv, kty, x, y } = privateKey.export({ format: 'jwk' });
  // RFC 7638 hashes the members in alphabetical order.
  const jwk = { crv, kty, x, y };
  return {
    jwk,
    privateJwk: privateKey.export({ format: 'jwk' }),
    jkt: sha256(JSON.stringify(jwk)),
    proof: (accessToken: string, claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) => {
      const iat = nowSeconds();
      const payload = { jti: randomUUID(), htm: 'GET', htu: baseUrl + path, iat, ath: sha256(accessToken), ...claims };
      const signed = `${encode({ typ: 'dpop+jwt', alg: 'ES256', jwk, ...header })}.${encode(payload)}`;
      const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
      return `${signed}.${signature.toString('base64url')}`;
    },
  };
}

let system: TestSystem;
const key = createKey();
let boundToken: string;
beforeAll(async () => {
  system = await createTestSystem();
  boundToken = await system.token(['fac-north'], { cnf: { jkt: key.jkt } });
});
afterAll(() => system.close());

/** Returns the status and the header WWW-Authenticate of the response. */
const send = async (instance: TestSystem, token: string, proof?: string, scheme = 'DPoP') => {
  const headers = { Authorization: `${scheme} ${token}`, ...(proof !== undefined && { DPoP: proof }) };
  const response = await instance.call('GET', path, { token: null, headers });
  return [response.status, response.headers['www-authenticate']];
};

test('a bound token with a proof returns 200, also with a query and with the scheme in lower case', async () => {
  expect(await send(system, boundToken, key.proof(boundToken))).toEqual([200, undefined]);
  expect(await send(system, boundToken, key.proof(boundToken), 'dpop')).toEqual([200, undefined]);
  const headers = { Authorization: `DPoP ${boundToken}`, DPoP: key.proof(boundToken) };
  expect((await system.call('GET', `${path}?page=1`, { token: null, headers })).status).toBe(200);
});

test('a proof is accepted if its htu is written differently, or if it has unknown members', async () => {
  const { protocol, host } = new URL(baseUrl);
  for (const htu of [`${baseUrl}${path}?query=1#fragment`, `${protocol.toUpperCase()}//${host.toUpperCase()}${path}`])
    expect(await send(system, boundToken, key.proof(boundToken, { htu }))).toEqual([200, undefined]);
  expect(await send(system, boundToken, key.proof(boundToken, { unknown: 1 }, { unknown: 1 }))).toEqual([
    200,
    undefined,
  ]);
});

test('htu must be the path below BASE_URL, no matter which Host header the request has', async () => {
  const headers = { Host: 'else.example', Authorization: `DPoP ${boundToken}` };
  const call = async (htu: string) =>
    (await system.call('GET', path, { token: null, headers: { ...headers, DPoP: key.proof(boundToken, { htu }) } }))
      .status;
  expect(await call(baseUrl + path)).toBe(200);
  expect(await call(`http://else.example${path}`)).toBe(401);
});

test('the 401 response to a request without a token has a challenge for Bearer and for DPoP', async () => {
  const response = await system.call('GET', path, { token: null });
  expect([response.status, response.headers['www-authenticate']]).toEqual([
    401,
    expect.stringMatching(new RegExp(`^Bearer realm="[^"]+", .*, DPoP ${algorithms}$`)),
  ]);
});

test('a bound token without the scope gets 403 with a DPoP challenge, or 401 if it is sent as Bearer', async () => {
  const token = await system.token(['fac-north'], { cnf: { jkt: key.jkt }, scope: 'other' });
  expect(await send(system, token, key.proof(token))).toEqual([
    403,
    expect.stringMatching(/^DPoP .*error="insufficient_scope"/),
  ]);
  expect(await send(system, token, undefined, 'Bearer')).toEqual([401, invalidToken]);
});

test('a bound token that is sent as Bearer returns 401 invalid_token, with or without a proof', async () => {
  expect(await send(system, boundToken, undefined, 'Bearer')).toEqual([401, invalidToken]);
  expect(await send(system, boundToken, key.proof(boundToken), 'Bearer')).toEqual([401, invalidToken]);
});

test('an unbound token that is sent as DPoP returns 401 invalid_token', async () => {
  const unbound = await system.token(['fac-north']);
  expect(await send(system, unbound, key.proof(unbound))).toEqual([401, invalidToken]);
});

test('a valid proof by another key returns 401 invalid_token', async () => {
  expect(await send(system, boundToken, createKey().proof(boundToken))).toEqual([401, invalidToken]);
});

test.each<[string, () => string | undefined]>([
  ['is missing', () => undefined],
  ['is not a JWT', () => 'x'],
  ['is one of two', () => `${key.proof(boundToken)}, ${key.proof(boundToken)}`],
  ['has no type', () => key.proof(boundToken, {}, { typ: undefined })],
  ['has no algorithm', () => key.proof(boundToken, {}, { alg: undefined })],
  ['has no key', () => key.proof(boundToken, {}, { jwk: undefined })],
  ['contains a private key', () => key.proof(boundToken, {}, { jwk: key.privateJwk })],
  ['has another signature', () => `${key.proof(boundToken).slice(0, -8)}AAAAAAAA`],
  ['has no htm', () => key.proof(boundToken, { htm: undefined })],
  ['has no htu', () => key.proof(boundToken, { htu: undefined })],
  ['has no iat', () => key.proof(boundToken, { iat: undefined })],
  ['is for another method', () => key.proof(boundToken, { htm: 'POST' })],
  ['is for another path', () => key.proof(boundToken, { htu: `${baseUrl}/api/bays` })],
  ['is for another host', () => key.proof(boundToken, { htu: `https://else.example${path}` })],
  ['is for another token', () => key.proof('other')],
  ['has no ath', () => key.proof(boundToken, { ath: undefined })],
  ['has no jti', () => key.proof(boundToken, { jti: undefined })],
  ['is older than 60 s', () => key.proof(boundToken, { iat: nowSeconds() - 65 })],
  ['is more than 60 s in the future', () => key.proof(boundToken, { iat: nowSeconds() + 65 })],
  ['has another type', () => key.proof(boundToken, {}, { typ: 'JWT' })],
  ['has the algorithm none', () => key.proof(boundToken, {}, { alg: 'none' })],
  ['contains another key than that of the signature', () => key.proof(boundToken, {}, { jwk: createKey().jwk })],
])('a proof that %s returns 401 invalid_dpop_proof', async (_title, proof) => {
  expect(await send(system, boundToken, proof())).toEqual([401, invalidProof]);
});

test('a proof is accepted only once, also by several instances and for concurrent requests', async () => {
  const other = await createTestSystem({ sharing: system });
  const proof = key.proof(boundToken);
  const responses = await Promise.all(
    Array.from({ length: 10 }, (_, index) => send(index % 2 === 0 ? system : other, boundToken, proof)),
  );
  expect(responses.filter(([status]) => status === 200)).toHaveLength(1);
  expect(responses.filter(([, challenge]) => challenge === invalidProof)).toHaveLength(9);
  await other.close();
});

test('each of many proofs is accepted once, when two instances get all of them in opposite orders', async () => {
  // With opposite orders, each instance inserts the proofs that the other one is also inserting, and could deadlock.
  const other = await createTestSystem({ sharing: system });
  const proofs = Array.from({ length: 60 }, () => key.proof(boundToken));
  const sendAll = (instance: TestSystem, all: readonly string[]) =>
    Promise.all(all.map((proof) => send(instance, boundToken, proof)));
  const [first, second] = await Promise.all([sendAll(system, proofs), sendAll(other, proofs.toReversed())]);
  // The second instance got the proofs in reverse order.
  const statusesOfProofs = first.map(([status], index) => [status, second.at(-1 - index)?.[0]].toSorted());
  expect(statusesOfProofs).toEqual(proofs.map(() => [200, 401]));
  await other.close();
});
