// Tests the authorization server for tests: its tokens verify against its JWKS, and it simulates chosen failures.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { createTestIssuer, type TestIssuer } from '../src/issuer.ts';

let issuer: TestIssuer;

beforeEach(async () => {
  issuer = await createTestIssuer({ audience: 'http://bookings.test', slowMilliseconds: 50 });
});

afterEach(() => issuer.close());

async function verify(token: string) {
  const jwks = createLocalJWKSet((await (await fetch(issuer.jwksUri)).json()) as JSONWebKeySet);
  return jwtVerify(token, jwks, { issuer: issuer.url, audience: 'http://bookings.test' });
}

test('tokens verify before and after a rotation, until their key is removed from the JWKS', async () => {
  const oldToken = await issuer.token({ facilities: ['fac-north'] });
  const { payload, protectedHeader } = await verify(oldToken);
  expect(payload).toMatchObject({
    facilities: ['fac-north'],
    scope: 'https://bay-booking.example/golf/bookings',
  });
  expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: 'key-1' });
  expect(await issuer.rotate()).toBe('key-2');
  expect((await verify(await issuer.token())).protectedHeader.kid).toBe('key-2');
  await verify(oldToken);
  await issuer.rotate({ retire: true });
  await expect(verify(oldToken)).rejects.toThrow('no applicable key');
  // `verify` was called four times, and fetches the JWKS each time.
  expect(issuer.requests.jwks).toBe(4);
});

test('a key can sign before it is published', async () => {
  await issuer.rotate({ publish: false });
  const token = await issuer.token();
  await expect(verify(token)).rejects.toThrow('no applicable key');
  issuer.publish();
  await verify(token);
});

test('a test can choose every claim, the algorithm and the header parameters of a token', async () => {
  await expect(verify(await issuer.token({ aud: 'http://other.test' }))).rejects.toThrow('"aud"');
  await expect(verify(await issuer.token({ exp: 1 }))).rejects.toThrow('"exp"');
  expect(decodeProtectedHeader(await issuer.token({ alg: 'HS256', typ: 'JWT', kid: 'other' }))).toEqual({
    alg: 'HS256',
    typ: 'JWT',
    kid: 'other',
  });
  expect(await issuer.token({ alg: 'none' })).toMatch(/\.$/);
});

test('the issuer simulates the chosen failure until the failure is removed', async () => {
  issuer.fail('down');
  await expect(fetch(issuer.jwksUri)).rejects.toThrow('fetch failed');
  issuer.fail('500');
  expect((await fetch(issuer.jwksUri)).status).toBe(500);
  issuer.fail('garbage');
  expect(await (await fetch(issuer.jwksUri)).text()).toBe('<html>{');
  issuer.fail('slow');
  expect((await fetch(`${issuer.url}/.well-known/openid-configuration`)).status).toBe(200);
  issuer.fail(undefined);
  expect(await (await fetch(`${issuer.url}/.well-known/openid-configuration`)).json()).toMatchObject({
    issuer: issuer.url,
    jwks_uri: issuer.jwksUri,
  });
});
