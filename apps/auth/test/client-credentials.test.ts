// Specification, "Client credentials flow" and "Bookings API access"; contract section 6.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { type AuthServer, audience, basic, scopes, startAuthServer } from './auth-server.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await startAuthServer();
});
afterAll(() => server.close());

const pat = { grant_type: 'client_credentials', client_id: 'demo-pat-north', client_secret: 'demo-pat-north-secret' };
const ask = (form: Record<string, string | readonly string[]>, headers?: Record<string, string>) =>
  server.post('/connect/token', form, headers);

describe('a personal access token', () => {
  test('yields a Bearer token for {scope_base}/golf/bookings', async () => {
    const response = await ask({ ...pat, scope: scopes.bookings });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-store');
    const body = (await response.json()) as Record<string, string>;
    expect(body).toEqual({
      access_token: expect.any(String),
      expires_in: 3600,
      token_type: 'Bearer',
      scope: scopes.bookings,
    });
    const keys = createRemoteJWKSet(new URL(`${server.origin}/connect/jwks`));
    const { payload, protectedHeader } = await jwtVerify(body.access_token as string, keys, {
      issuer: server.origin,
      audience,
      typ: 'at+jwt',
    });
    expect(protectedHeader).toMatchObject({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) });
    expect(payload).toEqual({
      iss: server.origin,
      aud: audience,
      sub: 'acc-bot-north',
      client_id: 'demo-pat-north',
      scope: scopes.bookings,
      facilities: ['fac-north'],
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: (payload.iat as number) + 3600,
    });
  });

  test('may send its credentials by the Basic scheme', async () => {
    const response = await ask(
      { grant_type: 'client_credentials', scope: scopes.bookings },
      basic('demo-pat-north', 'demo-pat-north-secret'),
    );
    expect(response.status).toBe(200);
  });
});
