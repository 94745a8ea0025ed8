// Tests who may use the management API: nobody but the clients that were imported for it.

import { gzipSync } from 'node:zlib';
import { startHttpServer } from '@bay-booking/service/http/server';
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import type { Express } from 'express';
import { decodeJwt } from 'jose';
import { audience, patForm, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { createKeyClient } from './key-client.ts';
import { operateAuth, operateBookings, startManagementServer } from './management-client.ts';

const management = useFixture(() => startManagementServer());
const withToken = (token: string, path = '/facilities') =>
  fetch(`${management.server.origin}/management${path}`, { headers: { Authorization: `Bearer ${token}` } });
const tokenOf = async (form: Record<string, string>) =>
  String((await statusAndBody(await management.server.post('/connect/token', form))).access_token);

test('each scope has its own audience, and is requested alone', async () => {
  expect(decodeJwt(management.token)).toMatchObject({
    aud: `${management.server.origin}/management`,
    scope: operateAuth,
    sub: 'operator',
  });
  const bookings = await statusAndBody(await management.requestToken({ scope: operateBookings }));
  expect(decodeJwt(String(bookings.access_token))).toMatchObject({ aud: audience, scope: operateBookings });
  expect((await withToken(String(bookings.access_token))).status).toBe(401);
  const both = await management.requestToken({ scope: `${operateAuth} ${operateBookings}` });
  expect(await statusAndBody(both)).toMatchObject({ status: 400, error: 'invalid_scope' });
  const other = await management.requestToken({ scope: operateAuth, resource: audience });
  expect(await statusAndBody(other)).toMatchObject({ status: 400, error: 'invalid_target' });
});

test('if MANAGEMENT_PORT is set, the management API is on that port only', async () => {
  const { origin, auth } = await management.server.startInstance({ MANAGEMENT_PORT: '1' });
  const headers = { Authorization: `Bearer ${management.token}` };
  expect((await fetch(`${origin}/management/facilities`, { headers })).status).toBe(404);
  const server = await startHttpServer({ handler: auth.management as Express, port: 0 });
  const separate = `http://127.0.0.1:${server.port}`;
  expect((await fetch(`${separate}/management/facilities`, { headers })).status).toBe(200);
  expect((await fetch(`${separate}/.well-known/openid-configuration`)).status).toBe(404);
  await server.drain();
});

describe('nobody else gets in', () => {
  const native = { client_id: 'demo-native', grant_type: 'password', scope: scopes.bookings };
  test.each<[string, Record<string, string>]>([
    ['an owner', { ...native, username: 'owner@north.example', password: 'demo-owner-pass' }],
    ['a player', { ...native, username: 'player@example.com', password: 'demo-player-pass', scope: scopes.play }],
    ['a personal access token', patForm],
  ])('%s', async (_who, form) => {
    const token = await tokenOf(form);
    expect(token.split('.')).toHaveLength(3);
    const response = await withToken(token);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/);
    expect(await response.json()).toMatchObject({ errors: [{ code: 'ERR00401', contextData: {} }] });
    // The scope is not granted to them.
    const asked = await management.server.post('/connect/token', { ...form, scope: operateAuth });
    expect(await statusAndBody(asked)).toMatchObject({ status: 400, error: 'invalid_scope' });
  });

  test('a request without a token, with a forged token, and to an unknown path or method', async () => {
    const { send, server } = management;
    expect((await fetch(`${server.origin}/management/facilities`)).status).toBe(401);
    expect((await withToken(`${management.token.slice(0, -8)}AAAAAAAA`)).status).toBe(401);
    expect(await send('GET', '/nothing')).toMatchObject({ status: 404, body: { errors: [{ code: 'ERR00404' }] } });
    const wrong = await send('POST', '/facilities', {});
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect(await send('GET', '/accounts/%E0')).toMatchObject({ status: 404 });
    expect(await send('GET', '/accounts/a%00b')).toMatchObject({ status: 404 });
  });

  test('too many parameters and a compressed body get the error envelope', async () => {
    expect(await management.send('GET', `/facilities?${'a&'.repeat(101)}`)).toMatchObject({
      status: 400,
      body: { errors: [{ code: 'ERR00002', moreInfo: '/query: the request has more than 100 parameters' }] },
    });
    const zipped = await fetch(`${management.server.origin}/management/facilities/f`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${management.token}`, 'Content-Encoding': 'gzip' },
      body: new Uint8Array(gzipSync('{"name":"F"}')),
    });
    expect(await statusAndBody(zipped)).toMatchObject({
      status: 415,
      errors: [{ code: 'ERR00415', moreInfo: expect.stringContaining('Send the body uncompressed') }],
    });
  });

  test('an operator that was disabled, at once', async () => {
    const key = await createKeyClient('leaver', management.server.origin);
    const leaver = {
      client_id: 'leaver',
      token_endpoint_auth_method: 'private_key_jwt',
      grant_types: ['client_credentials'],
      scope: operateAuth,
      jwks: { keys: [key.publicJwk] },
    };
    await management.server.load({ clients: [leaver] });
    const token = await tokenOf({
      grant_type: 'client_credentials',
      scope: operateAuth,
      ...(await key.authenticate()),
    });
    expect((await withToken(token)).status).toBe(200);
    expect(await management.send('PUT', '/clients/leaver', { ...leaver, disabled: true })).toMatchObject({
      status: 403,
    });
    await management.server.load({ clients: [{ ...leaver, disabled: true }] });
    expect((await withToken(token)).status).toBe(401);
  });
});

test.each<[string, Record<string, unknown>]>([
  ['a client with a secret', { client_secret: 's', grant_types: ['client_credentials'] }],
  ['a personal access token', { client_secret: 's', accountId: 'acc-bot-north' }],
  [
    'a client that signs users in',
    { token_endpoint_auth_method: 'private_key_jwt', grant_types: ['authorization_code', 'client_credentials'] },
  ],
  ['a public client', { token_endpoint_auth_method: 'none', redirect_uris: ['https://c.example/cb'] }],
])('an import refuses the scopes for %s', async (_title, client) => {
  const { publicJwk } = await createKeyClient('c', management.server.origin);
  for (const scope of [operateAuth, operateBookings]) {
    const jwks = client.token_endpoint_auth_method === 'private_key_jwt' && { jwks: { keys: [publicJwk] } };
    const result = management.server.load({ clients: [{ client_id: 'c', scope, ...client, ...jwks }] });
    const error = await result.catch((thrown: unknown) => thrown);
    expect((error as Error).message).toMatch(/\/clients\/0\/scope: .* is only for/);
  }
});

test('without MANAGEMENT=on there is nothing', async () => {
  const server = await startAuthServer();
  const headers = { Authorization: `Bearer ${management.token}` };
  for (const path of ['/management/facilities', '/management/openapi.json', '/management/audit', ...otherSpellings]) {
    expect([path, (await fetch(server.origin + path, { headers })).status]).toEqual([path, 404]);
  }
  await server.close();
});

/** Only the exact paths exist, because a proxy that blocks `/management` may let other spellings pass. */
const otherSpellings = [
  '/Management/facilities',
  '/MANAGEMENT/audit',
  '/management/Facilities',
  '/management/facilities/',
  '/management/export/?',
  '/management/openapi.json/',
  '/management/OpenAPI.json',
  '/%6danagement/facilities',
];

test.each(otherSpellings)('%s is not found, with and without a token', async (path) => {
  for (const headers of [{ Authorization: `Bearer ${management.token}` }, undefined]) {
    const response = await fetch(management.server.origin + path, headers && { headers });
    expect(response.status).toBe(404);
    expect(await response.text()).not.toMatch(/fac-north|"openapi"/);
  }
});

test('the OpenAPI document describes every path that works', async () => {
  const { body } = await management.send('GET', '/openapi.json');
  expect(body).toMatchObject({ openapi: '3.1.0' });
  const paths = Object.keys(body.paths as object);
  expect(paths).toEqual(
    expect.arrayContaining(['/management/facilities/{id}', '/management/accounts/{username}', '/management/import']),
  );
  for (const path of paths) {
    const response = await fetch(management.server.origin + path.replace(/\{\w+\}/g, 'x'), { method: 'PATCH' });
    expect([path, response.status]).toEqual([path, 405]);
  }
});
