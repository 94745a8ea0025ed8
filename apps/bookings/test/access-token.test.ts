// Tests access tokens, scopes and Bearer challenges (specification, "Tokens" and "Scopes"; RFC 6750; RFC 9068), the
// signing keys, the resource metadata (RFC 9728), and tokens that are bound to a key (RFC 9449).
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import type { Logger } from '@bay-booking/service/logging';
import type { TokenOptions } from '@bay-booking/testkit/issuer';
import { eventually } from '@bay-booking/testkit/wait';
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createSigningKeys } from '../src/auth/signing-keys.ts';
import { errorCodes } from './support/booking-requests.ts';
import { baseUrl, createExtraSystem, type TestSystem, useTestSystem } from './support/test-system.ts';

const path = '/api/booking-locations';
const resourceMetadataUrl = `${baseUrl}/.well-known/oauth-protected-resource`;
const bearerChallenge = `Bearer realm="bay-booking", resource_metadata="${resourceMetadataUrl}"`;
/** The current time in seconds since 1970, as in `exp` and `nbf`. */
const now = () => Math.floor(Date.now() / 1000);

const scopeBase = 'https://bay-booking.example/golf/';
const system = useTestSystem();

describe('an access token', () => {
  const withClaims = async (claims: TokenOptions) =>
    system.call('GET', path, { token: await system.token(['fac-north'], claims) });

  test('a token is accepted with several scopes or audiences, both forms of the type, any case of Bearer, and within the clock tolerance', async () => {
    const accepted: TokenOptions[] = [
      {},
      { scope: 'openid https://bay-booking.example/golf/bookings https://bay-booking.example/dr/play' },
      { typ: 'application/at+jwt' },
      { typ: 'AT+JWT' },
      { aud: ['https://else.example', baseUrl] },
      // The clock tolerance is 10 s.
      { exp: now() - 3 },
      { nbf: now() + 3 },
    ];
    for (const claims of accepted) expect([claims, (await withClaims(claims)).status]).toEqual([claims, 200]);
    const headers = { Authorization: `bEARER ${await system.token(['fac-north'])}` };
    expect((await system.call('GET', path, { token: null, headers })).status).toBe(200);
  });

  test.each([
    ['a request without an Authorization header', {}, false],
    ['a request with another scheme', { Authorization: 'Basic ZGVtbzpkZW1v' }, false],
    ['a request with the token in the query', {}, true],
  ])('%s returns 401 without an error attribute', async (_title, headers, isTokenInQuery) => {
    const token = await system.token(['fac-north']);
    const target = isTokenInQuery ? `${path}?access_token=${token}` : path;
    const response = await system.call('GET', target, { token: null, headers });
    expect(errorCodes(response)).toEqual(['ERR00401']);
    expect(response.headers['www-authenticate']).toBe(`${bearerChallenge}, DPoP algs="ES256 PS256 EdDSA Ed25519"`);
  });

  const invalidTokens: [string, TokenOptions][] = [
    ['that has expired', { exp: now() - 60 }],
    ['without exp', { exp: undefined }],
    ['that is not valid yet', { nbf: now() + 60 }],
    ['of another issuer', { iss: 'https://else.example' }],
    ['for another audience', { aud: 'https://else.example' }],
    ['without audience', { aud: undefined }],
    ['of another type', { typ: 'JWT' }],
    ['without type', { typ: '' }],
    ['signed with an unpublished key', { kid: 'unknown' }],
    ['signed with ES384', { alg: 'ES384' }],
    ['signed with another RSA key under a published kid', { alg: 'RS256' }],
    ['signed with PS256', { alg: 'PS256' }],
    ['signed with the public key as HMAC secret', { alg: 'HS256' }],
    ['without a signature', { alg: 'none' }],
    ['that needs an unknown extension', { crit: 'urn:example' }],
    ['that is longer than 32 KiB', { padding: 'x'.repeat(25_000) }],
  ];
  test.each(invalidTokens)('a token %s returns 401 invalid_token', async (_description, claims) => {
    const response = await withClaims(claims);
    expect(errorCodes(response)).toEqual(['ERR00401']);
    const [challenge, description] = response.headers['www-authenticate']?.split(', error_description=') ?? [];
    expect(challenge).toBe(`${bearerChallenge}, error="invalid_token"`);
    expect(description).toMatch(/^"[^"]+"$/);
  });

  // In `bnVsbA.e30.x`, the header is `null` and the payload is `{}`.
  test.each(['Bearer', 'Bearer ', 'Bearer a b', 'Bearer a.b.c', 'Bearer ....', 'Bearer bnVsbA.e30.x', 'Bearer "x"'])(
    'the Authorization header %j returns 401',
    async (value) => {
      const response = await system.call('GET', path, { token: null, headers: { Authorization: value } });
      expect(response.status).toBe(401);
    },
  );

  test('a token with a changed payload or signature returns 401, even after the original was accepted', async () => {
    const token = await system.token(['fac-north']);
    expect((await system.call('GET', path, { token })).status).toBe(200);
    const [header, payload, signature] = token.split('.') as [string, string, string];
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const changedPayload = Buffer.from(JSON.stringify({ ...claims, facilities: ['fac-east'] })).toString('base64url');
    const changedSignature = (signature[0] === 'A' ? 'B' : 'A') + signature.slice(1);
    for (const [body, sign] of [
      [changedPayload, signature],
      [payload, changedSignature],
      [payload, ''],
    ])
      expect((await system.call('GET', path, { token: [header, body, sign].join('.') })).status).toBe(401);
  });

  const ofOtherApis = ['dr/play', 'operate/bookings'].map((name) => `https://bay-booking.example/${name}`);
  test.each([undefined, '', 'openid', `${scopeBase}bookings2`, ...ofOtherApis])(
    'a token with the scope %j returns 403 insufficient_scope',
    async (scope) => {
      const response = await withClaims({ scope });
      expect(response.status).toBe(403);
      const description = expect.stringContaining('insufficient_scope');
      expect(response.body.errors[0]).toMatchObject({ code: 'ERR00403', description });
      expect(response.headers['www-authenticate']).toBe(
        `${bearerChallenge}, error="insufficient_scope", scope="https://bay-booking.example/golf/bookings.read"`,
      );
    },
  );

  test('401 and 403 responses to POST /api/bookings have contextData.externalBookingId ""', async () => {
    for (const token of [null, await system.token([], { scope: 'openid' })]) {
      const { body } = await system.call('POST', '/api/bookings', { token, body: {} });
      expect(body.errors[0].contextData).toEqual({ externalBookingId: '' });
    }
  });

  test('a token that was accepted before returns 401 after it has expired', async () => {
    let clock = Date.now();
    const withClock = await createExtraSystem({ sharing: system, now: () => new Date(clock) });
    const token = await system.token(['fac-north'], { exp: now() + 100 });
    expect((await withClock.call('GET', path, { token })).status).toBe(200);
    clock += 120_000;
    expect((await withClock.call('GET', path, { token })).status).toBe(401);
  });
});

describe('the signing keys', () => {
  // With an interval of 1 ms, every unknown kid may cause a fetch, so a new key is accepted immediately.
  const system = useTestSystem({ issuer: { unknownKeyInterval: 1 } });
  const status = async (token: string) => (await system.call('GET', path, { token })).status;

  test('after a rotation, a new key is accepted immediately, and an old key only while it is published', async () => {
    const oldToken = await system.token(['fac-north']);
    expect(await status(oldToken)).toBe(200);
    await system.issuer.rotate();
    const newToken = await system.token(['fac-north']);
    expect(await status(newToken)).toBe(200);
    expect(await status(oldToken)).toBe(200);
    await system.issuer.rotate({ retire: true });
    expect(await status(await system.token(['fac-north']))).toBe(200);
    expect(await status(oldToken)).toBe(401);
    expect(await status(newToken)).toBe(401);
  });

  test('a token signed with a new key is accepted, even if the connection of the first fetch breaks', async () => {
    expect(await status(await system.token(['fac-north']))).toBe(200);
    await system.issuer.rotate();
    system.issuer.fail('down once');
    expect(await status(await system.token(['fac-north']))).toBe(200);
  });

  test('tokens with unknown kids cause few fetches, and a new key is still found within seconds', async () => {
    const interval = 500;
    const instance = await createExtraSystem({ sharing: system, issuer: { unknownKeyInterval: interval } });
    const statusOf = async (token: string) => (await instance.call('GET', path, { token })).status;
    // One fetch is allowed in each interval.
    const before = system.issuer.requests.jwks;
    const kids = Array.from({ length: 60 }, (_, index) => `unknown-${index}`);
    const tokens = await Promise.all(kids.map((kid) => system.token([], { kid })));
    const startedAt = performance.now();
    for (const token of tokens) expect(await statusOf(token)).toBe(401);
    const allowed = 1 + Math.ceil((performance.now() - startedAt) / interval);
    expect(system.issuer.requests.jwks - before).toBeLessThanOrEqual(allowed);
    await system.issuer.rotate();
    const newToken = await system.token(['fac-north']);
    const rotatedAt = performance.now();
    // The fetch begins when the interval has ended, and may take up to 2 s on a busy machine.
    while ((await statusOf(newToken)) !== 200) expect(performance.now() - rotatedAt).toBeLessThan(interval + 2_000);
  });

  test('a key that is no longer published leaves the cache within a minute, without any request', async () => {
    const kid = await system.issuer.rotate();
    // Not the keys of a system: a replaced clock does not reach a service, because its modules are shared (loadOnce).
    const logger = { warn: () => {}, debug: () => {} } as unknown as Logger;
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate', 'setInterval', 'hrtime'] });
    const signingKeys = createSigningKeys({ issuer: system.issuer.url, logger });
    const stop = signingKeys.start();
    try {
      while (!signingKeys.has(kid)) await new Promise(setImmediate);
      await system.issuer.rotate({ retire: true });
      // A part of the minute can pass outside this cache: 2 s until auth notices the removal, 15 s in caches between
      // the services, and 4 s during the fetch. The timers therefore advance by the remaining time only.
      await jest.advanceTimersByTimeAsync(60_000 - 2_000 - 15_000 - 4_000);
      while (signingKeys.has(kid)) await new Promise(setImmediate);
    } finally {
      jest.useRealTimers();
      await stop();
    }
  });

  test.each(['down', '500', 'garbage', 'slow'] as const)(
    'while the authorization server is unavailable (%s), tokens signed with known keys are accepted',
    async (failure) => {
      const instance = await createExtraSystem({ sharing: system, issuer: { timeout: 2_000 } });
      const token = await system.token(['fac-north']);
      expect((await instance.call('GET', path, { token })).status).toBe(200);
      system.issuer.fail(failure);
      expect((await instance.call('GET', path, { token: await system.token(['fac-south']) })).status).toBe(200);
      const response = await instance.call('GET', path, { token: await system.token([], { kid: 'unknown' }) });
      expect(response.status).toBe(401);
      // The authorization server works again.
      system.issuer.fail(undefined);
    },
  );

  test.each(['down', 'slow'] as const)(
    'if the authorization server is unavailable at the start (%s), requests get 503 until the keys can be fetched',
    async (failure) => {
      system.issuer.fail(failure);
      const config = { revocationPollSeconds: 1 };
      const instance = await createExtraSystem({ sharing: system, issuer: { timeout: 2_000 }, config });
      const stops = [instance.signingKeys.start(), instance.revocations.start()];
      const token = await system.token(['fac-north']);
      const response = await instance.call('GET', path, { token });
      expect(errorCodes(response)).toEqual(['ERR00503']);
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
      const notReady = await instance.call('GET', '/health/ready');
      expect(notReady.status).toBe(503);
      expect(notReady.body.checks).toMatchObject({ database: 'ok', signingKey: expect.stringContaining('key') });
      expect(notReady.body.checks.revocations).toContain('revocations');
      expect((await instance.call('GET', '/health/live')).status).toBe(200);
      system.issuer.fail(undefined);
      await eventually(async () => (await instance.call('GET', '/health/ready')).status === 200);
      expect((await instance.call('GET', path, { token })).status).toBe(200);
      await Promise.all(stops.map((stop) => stop()));
    },
  );
});

test('GET /.well-known/oauth-protected-resource returns the resource metadata (RFC 9728) without a token', async () => {
  const { status, body, headers } = await system.call('GET', '/.well-known/oauth-protected-resource', { token: null });
  expect(status).toBe(200);
  expect(headers['access-control-allow-origin']).toBe('*');
  expect(body).toEqual({
    resource: baseUrl,
    authorization_servers: [system.issuer.url],
    scopes_supported: ['bookings.read', 'bookings', 'schedule'].map((name) => scopeBase + name),
    dpop_signing_alg_values_supported: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
    bearer_methods_supported: ['header'],
    resource_name: 'Bookings API',
    resource_documentation: `${baseUrl}/docs`,
  });
});

describe('DPoP', () => {
  const algorithms = 'algs="ES256 PS256 EdDSA Ed25519"';
  const invalidToken = `DPoP error="invalid_token", ${algorithms}`;
  const invalidProof = `DPoP error="invalid_dpop_proof", ${algorithms}`;
  const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

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
        const payload = { jti: randomUUID(), htm: 'GET', htu: baseUrl + path, iat: now(), ath: sha256(accessToken) };
        const signed = [
          { typ: 'dpop+jwt', alg: 'ES256', jwk, ...header },
          { ...payload, ...claims },
        ]
          .map(encode)
          .join('.');
        const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
        return `${signed}.${signature.toString('base64url')}`;
      },
    };
  }

  const key = createKey();
  let boundToken: string;
  beforeAll(async () => {
    boundToken = await system.token(['fac-north'], { cnf: { jkt: key.jkt } });
  });

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
    const unknown = key.proof(boundToken, { unknown: 1 }, { unknown: 1 });
    expect(await send(system, boundToken, unknown)).toEqual([200, undefined]);
  });

  test('htu must be the path below BASE_URL, no matter which Host header the request has', async () => {
    const call = async (htu: string) => {
      const DPoP = key.proof(boundToken, { htu });
      const headers = { Host: 'else.example', Authorization: `DPoP ${boundToken}`, DPoP };
      return (await system.call('GET', path, { token: null, headers })).status;
    };
    expect(await call(baseUrl + path)).toBe(200);
    expect(await call(`http://else.example${path}`)).toBe(401);
  });

  test('a bound token without the scope gets 403 with a DPoP challenge', async () => {
    const token = await system.token(['fac-north'], { cnf: { jkt: key.jkt }, scope: 'other' });
    const challenge = expect.stringMatching(/^DPoP .*error="insufficient_scope"/);
    expect(await send(system, token, key.proof(token))).toEqual([403, challenge]);
  });

  test('a bound token as Bearer, an unbound one as DPoP and a proof by another key return 401 invalid_token', async () => {
    const unbound = await system.token(['fac-north']);
    for (const response of [
      await send(system, boundToken, undefined, 'Bearer'),
      await send(system, boundToken, key.proof(boundToken), 'Bearer'),
      await send(system, unbound, key.proof(unbound)),
      await send(system, boundToken, createKey().proof(boundToken)),
    ])
      expect(response).toEqual([401, invalidToken]);
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
    ['is older than 60 s', () => key.proof(boundToken, { iat: now() - 65 })],
    ['is more than 60 s in the future', () => key.proof(boundToken, { iat: now() + 65 })],
    ['has another type', () => key.proof(boundToken, {}, { typ: 'JWT' })],
    ['has the algorithm none', () => key.proof(boundToken, {}, { alg: 'none' })],
    ['contains another key than that of the signature', () => key.proof(boundToken, {}, { jwk: createKey().jwk })],
  ])('a proof that %s returns 401 invalid_dpop_proof', async (_title, proof) => {
    expect(await send(system, boundToken, proof())).toEqual([401, invalidProof]);
  });

  test('each of many proofs is accepted once, when two instances get all of them in opposite orders', async () => {
    // With opposite orders, each instance inserts the proofs that the other one is also inserting, and could deadlock.
    const other = await createExtraSystem({ sharing: system });
    const proofs = Array.from({ length: 20 }, () => key.proof(boundToken));
    const sendAll = (instance: TestSystem, all: readonly string[]) =>
      Promise.all(all.map((proof) => send(instance, boundToken, proof)));
    const [first, second] = await Promise.all([sendAll(system, proofs), sendAll(other, proofs.toReversed())]);
    // The second instance got the proofs in reverse order.
    const answersOfProofs = first.map((answer, index) => [answer, second.at(-1 - index)].toSorted());
    expect(answersOfProofs).toEqual(
      proofs.map(() => [
        [200, undefined],
        [401, invalidProof],
      ]),
    );
  });
});
