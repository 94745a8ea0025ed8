// Tests access tokens, scopes and Bearer challenges (specification, "Tokens" and "Scopes"; RFC 6750; RFC 9068), the
// signing keys, and the resource metadata (RFC 9728).
import type { TokenOptions } from '@bay-booking/testkit/issuer';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { errorCodes } from './support/booking-requests.ts';
import {
  baseUrl,
  closeExtraSystems,
  createExtraSystem,
  createTestSystem,
  type TestSystem,
} from './support/test-system.ts';

afterEach(closeExtraSystems);

const path = '/api/booking-locations';
const resourceMetadataUrl = `${baseUrl}/.well-known/oauth-protected-resource`;
const bearerChallenge = `Bearer realm="bay-booking", resource_metadata="${resourceMetadataUrl}"`;
/** The current time in seconds since 1970, as in `exp` and `nbf`. */
const now = () => Math.floor(Date.now() / 1000);

describe('an access token', () => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await createTestSystem();
  });
  afterAll(() => system.close());

  const withClaims = async (claims: TokenOptions) =>
    system.call('GET', path, { token: await system.token(['fac-north'], claims) });

  test('a token is accepted with several scopes or audiences, both forms of the type, and within the clock tolerance', async () => {
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
  });

  test('the scheme Bearer can be written in mixed case', async () => {
    const token = await system.token(['fac-north']);
    const headers = { Authorization: `bEARER ${token}` };
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
    expect(response.status).toBe(401);
    expect(errorCodes(response)).toEqual(['ERR00401']);
    expect(response.headers['www-authenticate']).toBe(`${bearerChallenge}, DPoP algs="ES256 PS256 EdDSA Ed25519"`);
  });

  const endpoints = [
    ['POST', '/api/bookings'],
    ['PUT', '/api/bookings/any'],
    ['DELETE', '/api/bookings/any'],
    ['GET', '/api/bookings'],
    ['GET', '/api/bookings/any'],
    ['GET', '/api/booking-locations'],
    ['GET', '/api/booking-locations/any'],
    ['GET', '/api/booking-bays'],
    ['GET', '/api/bays/any/upcoming-bookings'],
  ] as const;
  test.each(endpoints)(
    '%s %s returns 401 without a token, with an expired one or without the scheme Bearer, and 403 without the scope',
    async (method, target) => {
      const token = await system.token(['fac-north']);
      const withHeaders = (headers: Record<string, string>) => system.call(method, target, { token: null, headers });
      for (const headers of [{}, { Authorization: token }, { Authorization: `Basic ${token}` }]) {
        const response = await withHeaders(headers as Record<string, string>);
        expect(response.status).toBe(401);
        expect(errorCodes(response)).toEqual(['ERR00401']);
        expect(response.headers['www-authenticate']).toContain('Bearer');
      }
      const expired = await system.call(method, target, { token: await system.token([], { exp: now() - 60 }) });
      expect(expired.status).toBe(401);
      const otherScope = await system.call(method, target, { token: await system.token([], { scope: 'openid' }) });
      expect(otherScope.status).toBe(403);
      // The token is accepted. Some of these requests then fail, because they have no body or an unknown id.
      expect([200, 400, 404]).toContain((await withHeaders({ Authorization: `Bearer ${token}` })).status);
    },
  );

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
  ];
  test.each(invalidTokens)('a token %s returns 401 invalid_token', async (_description, claims) => {
    const response = await withClaims(claims);
    expect(response.status).toBe(401);
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
    for (const changed of [
      `${header}.${changedPayload}.${signature}`,
      `${header}.${payload}.${changedSignature}`,
      `${header}.${payload}.`,
    ]) {
      expect((await system.call('GET', path, { token: changed })).status).toBe(401);
    }
  });

  test.each([
    undefined,
    '',
    'openid',
    'https://bay-booking.example/golf/bookings2',
    'https://bay-booking.example/dr/play',
  ])('a token with the scope %j returns 403 insufficient_scope', async (scope) => {
    const response = await withClaims({ scope });
    expect(response.status).toBe(403);
    expect(response.body.errors[0]).toMatchObject({
      code: 'ERR00403',
      description: expect.stringContaining('insufficient_scope'),
    });
    expect(response.headers['www-authenticate']).toBe(
      `${bearerChallenge}, error="insufficient_scope", scope="https://bay-booking.example/golf/bookings.read"`,
    );
  });

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
  let system: TestSystem;
  beforeAll(async () => {
    // With an interval of 1 ms, every unknown kid may cause a fetch, so a new key is accepted immediately.
    system = await createTestSystem({ issuer: { unknownKeyInterval: 1 } });
  });
  afterAll(() => system.close());
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
    const tokens = await Promise.all(
      Array.from({ length: 60 }, (_, index) => system.token([], { kid: `unknown-${index}` })),
    );
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
    const { signingKeys } = await createExtraSystem({ sharing: system, readsRevocations: false });
    const kid = await system.issuer.rotate();
    // Only setTimeout and the monotonic clock are replaced, so that the test can simulate that a minute passes.
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate', 'setInterval', 'hrtime'] });
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

  test.each(['down', '500', 'garbage'] as const)(
    'while the authorization server is unavailable (%s), tokens signed with known keys are accepted',
    async (failure) => {
      const instance = await createExtraSystem({ sharing: system });
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

  test.each(['down', '500', 'garbage', 'slow'] as const)(
    'if the authorization server is unavailable at the start (%s), requests get 503 until the keys can be fetched',
    async (failure) => {
      system.issuer.fail(failure);
      const instance = await createExtraSystem({ sharing: system, issuer: { timeout: 200 } });
      const stops = [instance.signingKeys.start(), instance.revocations.start()];
      const token = await system.token(['fac-north']);
      const response = await instance.call('GET', path, { token });
      expect(response.status).toBe(503);
      expect(errorCodes(response)).toEqual(['ERR00503']);
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
      const notReady = await instance.call('GET', '/health/ready');
      expect(notReady.status).toBe(503);
      expect(notReady.body.checks).toMatchObject({ database: 'ok', signingKey: expect.stringContaining('key') });
      expect(notReady.body.checks.revocations).toContain('revocations');
      expect((await instance.call('GET', '/health/live')).status).toBe(200);
      system.issuer.fail(undefined);
      while ((await instance.call('GET', '/health/ready')).status !== 200) await new Promise(setImmediate);
      expect((await instance.call('GET', path, { token })).status).toBe(200);
      await Promise.all(stops.map((stop) => stop()));
    },
  );
});

test('GET /.well-known/oauth-protected-resource returns the resource metadata (RFC 9728) without a token', async () => {
  const system = await createExtraSystem();
  const { status, body, headers } = await system.call('GET', '/.well-known/oauth-protected-resource', { token: null });
  expect(status).toBe(200);
  expect(headers['access-control-allow-origin']).toBe('*');
  expect(body).toEqual({
    resource: baseUrl,
    authorization_servers: [system.issuer.url],
    scopes_supported: ['bookings.read', 'bookings', 'schedule'].map(
      (name) => `https://bay-booking.example/golf/${name}`,
    ),
    dpop_signing_alg_values_supported: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
    bearer_methods_supported: ['header'],
    resource_name: 'Bookings API',
    resource_documentation: `${baseUrl}/docs`,
  });
});
