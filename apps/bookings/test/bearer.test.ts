// Who comes in: access tokens, scope, refusals. Specification, "Tokens" and "Scopes"; contract sections 6 and 7; RFC 6750, RFC 9068.

import type { TokenOptions } from '@bay-booking/testkit/issuer';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
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
const metadata = `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource"`;
const seconds = () => Math.floor(Date.now() / 1000);

describe('a token', () => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await createTestSystem();
  });
  afterAll(() => system.close());

  const withClaims = async (claims: TokenOptions) =>
    system.call('GET', path, { token: await system.token(['fac-north'], claims) });

  test('200 with the scope among others, in either spelling of the type, with several audiences', async () => {
    const accepted: TokenOptions[] = [
      {},
      { scope: 'openid https://bay-booking.example/golf/bookings https://bay-booking.example/dr/play' },
      { typ: 'application/at+jwt' },
      { typ: 'AT+JWT' },
      { aud: ['https://else.example', baseUrl] },
      { exp: seconds() - 3 },
      { nbf: seconds() + 3 },
    ];
    for (const claims of accepted) expect([claims, (await withClaims(claims)).status]).toEqual([claims, 200]);
  });

  test('200 with the scheme in any case', async () => {
    const token = await system.token(['fac-north']);
    const headers = { Authorization: `bEARER ${token}` };
    expect((await system.call('GET', path, { token: null, headers })).status).toBe(200);
  });

  test.each([
    ['no Authorization header', {}],
    ['another scheme', { Authorization: 'Basic ZGVtbzpkZW1v' }],
    ['a token in the query', {}],
  ])('401 without an error attribute for %s', async (what, headers) => {
    const token = await system.token(['fac-north']);
    const target = what.includes('query') ? `${path}?access_token=${token}` : path;
    const response = await system.call('GET', target, { token: null, headers });
    expect(response.status).toBe(401);
    expect(errorCodes(response)).toEqual(['ERR00401']);
    expect(response.headers['www-authenticate']).toBe(`Bearer realm="bay-booking", ${metadata}`);
  });

  const refused: [string, TokenOptions][] = [
    ['expired', { exp: seconds() - 60 }],
    ['without exp', { exp: undefined }],
    ['not valid yet', { nbf: seconds() + 60 }],
    ['of another issuer', { iss: 'https://else.example' }],
    ['for another audience', { aud: 'https://else.example' }],
    ['without audience', { aud: undefined }],
    ['of another type', { typ: 'JWT' }],
    ['without type', { typ: '' }],
    ['bound to a key (DPoP)', { cnf: { jkt: 'x' } }],
    ['of a key that is not published', { kid: 'unknown' }],
    ['signed by another key', { alg: 'ES384' }],
    ['signed by another RSA key under our kid', { alg: 'RS256' }],
    ['signed with PS256', { alg: 'PS256' }],
    ['with a public key as HMAC secret', { alg: 'HS256' }],
    ['not signed', { alg: 'none' }],
  ];
  test.each(refused)('401 invalid_token when it is %s', async (_what, claims) => {
    const response = await withClaims(claims);
    expect(response.status).toBe(401);
    expect(errorCodes(response)).toEqual(['ERR00401']);
    expect(response.headers['www-authenticate']).toMatch(
      new RegExp(
        `^Bearer realm="bay-booking", ${metadata.replaceAll('.', '\\.')}, error="invalid_token", error_description="[^"]+"$`,
      ),
    );
  });

  test.each(['Bearer', 'Bearer ', 'Bearer a b', 'Bearer a.b.c', 'Bearer ....', 'Bearer bnVsbA.e30.x', 'Bearer "x"'])(
    '401 for the header %j',
    async (value) => {
      const response = await system.call('GET', path, { token: null, headers: { Authorization: value } });
      expect(response.status).toBe(401);
    },
  );

  test('401 when a byte of payload or signature is changed, also after the true one was accepted', async () => {
    const token = await system.token(['fac-north']);
    expect((await system.call('GET', path, { token })).status).toBe(200);
    const [header, payload, signature] = token.split('.') as [string, string, string];
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const forged = Buffer.from(JSON.stringify({ ...claims, facilities: ['fac-east'] })).toString('base64url');
    const bent = (signature[5] === 'A' ? 'B' : 'A') + signature.slice(1);
    for (const bad of [`${header}.${forged}.${signature}`, `${header}.${payload}.${bent}`, `${header}.${payload}.`]) {
      expect((await system.call('GET', path, { token: bad })).status).toBe(401);
    }
  });

  test.each([
    undefined,
    '',
    'openid',
    'https://bay-booking.example/golf/bookings2',
    'https://bay-booking.example/dr/play',
  ])('403 insufficient_scope with the scope %j', async (scope) => {
    const response = await withClaims({ scope });
    expect(response.status).toBe(403);
    expect(response.body.errors[0]).toMatchObject({
      code: 'ERR00403',
      description: expect.stringContaining('insufficient_scope'),
    });
    expect(response.headers['www-authenticate']).toBe(
      `Bearer realm="bay-booking", ${metadata}, error="insufficient_scope", scope="https://bay-booking.example/golf/bookings"`,
    );
  });

  test('401 and 403 of a booking carry contextData.externalBookingId ""', async () => {
    for (const token of [null, await system.token([], { scope: 'openid' })]) {
      const { body } = await system.call('POST', '/api/bookings', { token, body: {} });
      expect(body.errors[0].contextData).toEqual({ externalBookingId: '' });
    }
  });

  test('a token is remembered no longer than it lives', async () => {
    let now = Date.now();
    const turning = await createExtraSystem({ sharing: system, now: () => new Date(now) });
    const token = await system.token(['fac-north'], { exp: seconds() + 100 });
    expect((await turning.call('GET', path, { token })).status).toBe(200);
    now += 120_000;
    expect((await turning.call('GET', path, { token })).status).toBe(401);
  });
});

describe('the authorization server', () => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await createTestSystem();
  });
  afterAll(() => system.close());
  const status = async (token: string) => (await system.call('GET', path, { token })).status;

  test('rotates: a new key is taken at once, the old one while it is published, and no longer', async () => {
    const old = await system.token(['fac-north']);
    expect(await status(old)).toBe(200);
    await system.issuer.rotate();
    const young = await system.token(['fac-north']);
    expect(await status(young)).toBe(200);
    expect(await status(old)).toBe(200);
    await system.issuer.rotate({ retire: true });
    expect(await status(await system.token(['fac-north']))).toBe(200);
    expect(await status(old)).toBe(401);
    expect(await status(young)).toBe(401);
  });

  test('breaks the connection while its keys are asked for: a token of a new key is served', async () => {
    expect(await status(await system.token(['fac-north']))).toBe(200);
    await system.issuer.rotate();
    system.issuer.fail('down once');
    expect(await status(await system.token(['fac-north']))).toBe(200);
  });

  test('is not asked again and again for kids that nobody knows', async () => {
    const before = system.issuer.requests.jwks;
    const tokens = await Promise.all(
      Array.from({ length: 60 }, (_, index) => system.token([], { kid: `unknown-${index}` })),
    );
    for (const token of tokens) expect(await status(token)).toBe(401);
    expect(system.issuer.requests.jwks - before).toBeLessThanOrEqual(12);
  });

  test.each(['down', '500', 'garbage'] as const)('is away (%s): tokens of known keys are served on', async (how) => {
    const known = await createExtraSystem({ sharing: system });
    const token = await system.token(['fac-north']);
    expect((await known.call('GET', path, { token })).status).toBe(200);
    system.issuer.fail(how);
    expect((await known.call('GET', path, { token: await system.token(['fac-south']) })).status).toBe(200);
    const unknown = await known.call('GET', path, { token: await system.token([], { kid: 'unknown' }) });
    expect(unknown.status).toBe(401);
    system.issuer.fail(undefined);
  });

  test.each(['down', '500', 'garbage', 'slow'] as const)(
    'was never seen (%s): 503 with Retry-After, not ready, and then recovers by itself',
    async (how) => {
      system.issuer.fail(how);
      const young = await createExtraSystem({ sharing: system, issuer: { timeout: 200 } });
      young.jwksCache.start();
      const token = await system.token(['fac-north']);
      const refused = await young.call('GET', path, { token });
      expect(refused.status).toBe(503);
      expect(errorCodes(refused)).toEqual(['ERR00503']);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      const notReady = await young.call('GET', '/health/ready');
      expect(notReady.status).toBe(503);
      expect(notReady.body.checks).toMatchObject({ database: 'ok', signingKey: expect.stringContaining('key') });
      expect((await young.call('GET', '/health/live')).status).toBe(200);
      system.issuer.fail(undefined);
      while ((await young.call('GET', '/health/ready')).status !== 200) await new Promise(setImmediate);
      expect((await young.call('GET', path, { token })).status).toBe(200);
    },
  );
});

test('GET /.well-known/oauth-protected-resource: RFC 9728 metadata, without a token', async () => {
  const system = await createExtraSystem();
  const { status, body, headers } = await system.call('GET', '/.well-known/oauth-protected-resource', { token: null });
  expect(status).toBe(200);
  expect(headers['access-control-allow-origin']).toBe('*');
  expect(body).toEqual({
    resource: baseUrl,
    authorization_servers: [system.issuer.url],
    scopes_supported: ['https://bay-booking.example/golf/bookings'],
    bearer_methods_supported: ['header'],
    resource_name: 'Bookings API',
    resource_documentation: `${baseUrl}/docs`,
  });
});
