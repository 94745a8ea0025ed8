// Tests who may use the management API, and the stories of an operator: rotate a secret, disable, unlock, end sessions,
// invite an owner, import and export.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { startHttpServer } from '@bay-booking/service/http/server';
import { useFixture } from '@bay-booking/testkit/fixture';
import { textOf } from '@bay-booking/testkit/html-forms';
import { eventually } from '@bay-booking/testkit/wait';
import { describe, expect, test } from '@jest/globals';
import type { Express } from 'express';
import { decodeJwt } from 'jose';
import { audience, patForm, scopes, statusAndBody } from './auth-server.ts';
import { openBrowser, passwordTokens, refreshTokens } from './flows.ts';
import { createKeyClient } from './key-client.ts';
import { operateAuth, operateBookings, startManagementServer } from './management-client.ts';

const management = useFixture(() => startManagementServer());
const send = (...args: Parameters<typeof management.send>) => management.send(...args);
const events = (query?: string) => management.events(query);
const withToken = (token: string, path = '/facilities') =>
  fetch(`${management.server.origin}/management${path}`, { headers: { Authorization: `Bearer ${token}` } });
const tokenOf = async (form: Record<string, string>) => String((await management.server.token(form)).access_token);

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
    const { server } = management;
    // A proxy that blocks `/management` may let other spellings pass.
    const headers = { Authorization: `Bearer ${management.token}` };
    for (const path of ['/Management/facilities', '/management/facilities/', '/%6danagement/facilities'])
      expect((await fetch(server.origin + path, { headers })).status).toBe(404);
    expect((await fetch(`${server.origin}/management/facilities`)).status).toBe(401);
    expect((await withToken(`${management.token.slice(0, -8)}AAAAAAAA`)).status).toBe(401);
    expect(await send('GET', '/nothing')).toMatchObject({ status: 404, body: { errors: [{ code: 'ERR00404' }] } });
    const wrong = await send('POST', '/facilities', {});
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect(await send('GET', '/accounts/%E0')).toMatchObject({ status: 404 });
    expect(await send('GET', '/accounts/a%00b')).toMatchObject({ status: 404 });
  });

  test('too many parameters and a compressed body get the error envelope', async () => {
    expect(await send('GET', `/facilities?${'a&'.repeat(101)}`)).toMatchObject({
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
    const credentials = await key.authenticate();
    const token = await tokenOf({ grant_type: 'client_credentials', scope: operateAuth, ...credentials });
    expect((await withToken(token)).status).toBe(200);
    expect(await send('PUT', '/clients/leaver', { ...leaver, disabled: true })).toMatchObject({ status: 403 });
    await management.server.load({ clients: [{ ...leaver, disabled: true }] });
    expect((await withToken(token)).status).toBe(401);
  });
});

test('the OpenAPI document describes every path that works', async () => {
  const { body } = await send('GET', '/openapi.json');
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

const signIn = (username: string, password: string) => passwordTokens(management.server, { username, password });
const newAccount = async (name: string, more: object = {}) => {
  const username = `${name}@story.example`;
  const entry = { id: `acc-${name}`, password: 'first-password', ...more };
  expect(await send('PUT', `/accounts/${username}`, entry)).toMatchObject({ status: 201 });
  return { username, entry };
};
const revocations = () => management.server.db('revocation').orderBy('number');
const lastEvent = async (query: string) => (await events(query)).at(-1);

describe('secrets', () => {
  const token = async (secret: string) =>
    (await management.server.post('/connect/token', { ...patForm, client_secret: secret })).status;

  test('after a rotation both secrets work, and then only the new one', async () => {
    const { client_id: id, client_secret: old } = patForm;
    const rotated = await send('POST', `/clients/${id}/rotate-secret`, { overlapHours: 24 });
    expect(rotated).toMatchObject({ status: 200, body: { client_id: id } });
    expect(rotated.headers.get('cache-control')).toBe('no-store');
    const first = String(rotated.body.client_secret);
    expect([await token(old), await token(first)]).toEqual([200, 200]);
    const now = await send('POST', `/clients/${id}/rotate-secret`, { overlapHours: 0 });
    const second = String(now.body.client_secret);
    expect([await token(old), await token(first), await token(second)]).toEqual([401, 401, 200]);
    const event = { target: `clients/${id}`, changed: ['client_secret'] };
    expect(await lastEvent('action=client.secret-rotated')).toMatchObject(event);
    // The next test continues with the published secret.
    await management.server.load({ clients: [{ client_id: id, client_secret: old }] });
    expect([await token(old), await token(second)]).toEqual([200, 401]);
  });

  test('a repeated rotation gets the same response without the secret, and its key works at no other path', async () => {
    await send('PUT', '/clients/repeated', { client_secret: 's', redirect_uris: ['https://r.example/cb'] });
    const rotate = (id: string) =>
      send('POST', `/clients/${id}/rotate-secret`, undefined, { 'Idempotency-Key': 'rotation' });
    const first = await rotate('repeated');
    expect(first).toMatchObject({ status: 200, body: { client_secret: expect.any(String) } });
    const second = await rotate('repeated');
    expect(second).toMatchObject({ status: 200, body: { ...first.body, client_secret: null } });
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await rotate('rotating')).toMatchObject({ status: 422 });
  });

  test('the default overlap is 24 hours, and a wrong one is an error', async () => {
    await send('PUT', '/clients/rotating', { client_secret: 's', redirect_uris: ['https://r.example/cb'] });
    expect(await send('POST', '/clients/rotating/rotate-secret')).toMatchObject({ status: 200 });
    const old = management.server.db('client_secret').where({ client_id: 'rotating' }).whereNotNull('expires_at');
    expect(((await old.first()).expires_at - Date.now()) / 3_600_000).toBeCloseTo(24, 1);
    const errors = [{ code: 'ERR00002', contextData: { field: '/overlapHours' } }];
    const wrong = await send('POST', '/clients/rotating/rotate-secret', { overlapHours: -1 });
    expect(wrong).toMatchObject({ status: 400, body: { errors } });
    expect(await send('POST', '/clients/operator/rotate-secret')).toMatchObject({ status: 409 });
    expect(await send('POST', '/clients/nobody/rotate-secret')).toMatchObject({ status: 404 });
  });

  test('an import with only a new secret keeps every other field', async () => {
    const before = (await send('GET', '/clients/demo-range')).body;
    const clients = [{ client_id: 'demo-range', client_secret: 'another-secret' }];
    const { body } = await send('POST', '/import', { clients });
    expect(body).toEqual({ entries: [{ path: '/clients/0', action: 'update', errors: [] }] });
    expect((await send('GET', '/clients/demo-range')).body).toEqual(before);
    expect(await lastEvent('action=client.changed')).toMatchObject({ changed: ['client_secret'] });
  });
});

describe('accounts', () => {
  test('a new password ends sessions, grants and the lock-out', async () => {
    const { username, entry } = await newAccount('hijacked');
    const hijacker = await signIn(username, entry.password);
    expect(hijacker.status).toBe(200);
    for (let n = 0; n < 10; n++) await signIn(username, 'guess');
    expect(await signIn(username, entry.password)).toMatchObject({ status: 429 });
    const published = (await revocations()).length;
    const changed = { ...entry, password: 'password-number-two' };
    expect(await send('PUT', `/accounts/${username}`, changed)).toMatchObject({ status: 200 });
    expect(await refreshTokens(management.server, hijacker)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect((await revocations()).length).toBeGreaterThan(published);
    expect(await signIn(username, changed.password)).toMatchObject({ status: 200 });
    const event = { actor: { clientId: 'operator' }, changed: ['password'] };
    expect(await lastEvent('account=acc-hijacked')).toMatchObject(event);
  });

  test('unlock ends the lock-out', async () => {
    const { username, entry } = await newAccount('locked');
    const lockedUntil = async () => (await send('GET', `/accounts/${username}`)).body.lockedUntil;
    expect(await lockedUntil()).toBeNull();
    for (let n = 0; n < 10; n++) await signIn(username.toUpperCase(), 'guess');
    expect(await signIn(username, entry.password)).toMatchObject({ status: 429 });
    expect(Date.parse(String(await lockedUntil()))).toBeGreaterThan(Date.now());
    expect(await send('POST', `/accounts/${username}/unlock`)).toMatchObject({ status: 204 });
    expect(await lockedUntil()).toBeNull();
    expect(await signIn(username, entry.password)).toMatchObject({ status: 200 });
    expect(await send('POST', '/accounts/nobody/unlock')).toMatchObject({ status: 404 });
  });

  test('disabling and ending sessions act at once, also at resource servers', async () => {
    const { username, entry } = await newAccount('fired');
    const first = await signIn(username, entry.password);
    expect(await send('POST', `/accounts/${username}/end-sessions`)).toMatchObject({ status: 204 });
    expect(await refreshTokens(management.server, first)).toMatchObject({ status: 400 });
    expect(await revocations()).not.toEqual([]);
    const second = await signIn(username, entry.password);
    const before = (await revocations()).length;
    const disabled = await send('PUT', `/accounts/${username}`, { ...entry, disabled: true });
    expect(disabled).toMatchObject({ status: 200, body: { disabled: true } });
    expect((await revocations()).length).toBeGreaterThan(before);
    expect(await refreshTokens(management.server, second)).toMatchObject({ status: 400 });
    expect(await signIn(username, entry.password)).toMatchObject({ status: 400 });
    expect(await send('PUT', `/accounts/${username}`, entry)).toMatchObject({ status: 200 });
    expect(await signIn(username, entry.password)).toMatchObject({ status: 200 });
    const actions = (await events('account=acc-fired')).map(({ action }) => action);
    const expected = ['created', 'sessions-ended', 'disabled', 'enabled'];
    expect(actions).toEqual(expected.map((name) => `account.${name}`));
  });

  test('send-reset mails the link to the user', async () => {
    const { username } = await newAccount('forgetful');
    expect(await send('POST', `/accounts/${username}/send-reset`)).toMatchObject({ status: 204 });
    const mail = await management.smtp.mailTo(username);
    expect(mail.text).toContain('/reset-password/new?token=');
    await send('PUT', '/accounts/nomail', { id: 'acc-nomail' });
    expect(await send('POST', '/accounts/nomail/send-reset')).toMatchObject({ status: 409 });
  });
});

test('more requests at once than the pool has connections', async () => {
  await send('PUT', '/facilities/fac-busy', { name: 'Busy Range' });
  const invite = (_: unknown, n: number) =>
    send('POST', '/facilities/fac-busy/owner-invitations', { email: `owner${n}@busy.example` });
  const responses = await Promise.all(Array.from({ length: 15 }, invite));
  expect(responses.map(({ status }) => status)).toEqual(Array(15).fill(201));
});

test('an invited owner accepts and owns the facility, and only the mail has the link', async () => {
  const email = 'first@owner.example';
  await send('PUT', '/facilities/fac-invited', { name: 'Invited Range' });
  const path = '/facilities/fac-invited/owner-invitations';
  const linksTo = () =>
    management.smtp
      .mails()
      .filter(({ to }) => to.includes(email))
      .flatMap(({ text }) => /\S+\/portal\/invitation\?token=\S+/.exec(text)?.[0] ?? []);
  const invited = await send('POST', path, { email });
  expect(invited).toMatchObject({ status: 201, body: { facilityId: 'fac-invited', email, role: 'owner' } });
  expect(JSON.stringify(invited.body)).not.toContain('token');
  await eventually(async () => linksTo().length === 1);
  // A second request sends a new link, and the first one ends.
  expect(await send('POST', path, { email })).toMatchObject({ status: 201 });
  const link = await eventually(async () => linksTo()[1]);
  const browser = openBrowser(management.server);
  expect((await browser.open(String(linksTo()[0]))).status).toBe(410);
  const page = await browser.open(String(link));
  expect(page.html).toContain('Owner');
  await browser.send(page, { name: 'First Owner', password: 'a-long-owner-password' });
  expect((await send('GET', '/accounts?facilityId=fac-invited&role=owner')).body.items).toMatchObject([
    { username: email, emailVerified: true },
  ]);
  expect(await send('POST', path, { email })).toMatchObject({ status: 409 });
  expect(await send('POST', path, { email: 'bot@north.example' })).toMatchObject({ status: 409 });
  expect(await send('POST', path, { email: 'no address' })).toMatchObject({ status: 400 });
  const { html } = await browser.open('/portal/facilities/fac-invited/history');
  expect(textOf(html)).toMatch(/The operator of the service +invited +first@owner.example +as Owner/);
});

test('personal access tokens are listed and revoked', async () => {
  await management.server.load({
    clients: [{ client_id: 'pat-revoked', client_secret: 's', accountId: 'acc-bot-north', name: 'Till' }],
  });
  const idsOf = async (query: string) => {
    const { body } = await send('GET', `/personal-access-tokens?${query}`);
    return (body.items as { client_id: string }[]).map(({ client_id }) => client_id);
  };
  expect(await idsOf('accountId=acc-bot-north')).toEqual(['demo-pat-north', 'pat-revoked']);
  expect(await idsOf('facilityId=fac-north')).toEqual(['demo-pat-north', 'pat-revoked']);
  expect(await idsOf('facilityId=fac-south')).toEqual([]);
  expect(await send('DELETE', '/personal-access-tokens/pat-revoked')).toMatchObject({ status: 204 });
  expect(await send('DELETE', '/personal-access-tokens/pat-revoked')).toMatchObject({ status: 404 });
  expect(await send('DELETE', '/personal-access-tokens/demo-web')).toMatchObject({ status: 404 });
  expect(await idsOf('')).toEqual(['demo-pat-north']);
  const form = { ...patForm, client_id: 'pat-revoked', client_secret: 's' };
  expect((await management.server.post('/connect/token', form)).status).toBe(401);
});

describe('import and export', () => {
  test('an export with hashes is in the audit trail', async () => {
    await send('GET', '/export');
    expect(await events('action=credentials.exported')).toEqual([]);
    await send('GET', '/export?credentials=hashed');
    const env = { ...process.env, DATABASE_URL: management.server.databaseUrl };
    await promisify(execFile)(process.execPath, ['src/commands/export.ts', '--credentials=hashed'], { env });
    expect(await events('action=credentials.exported')).toMatchObject([
      { actor: { clientId: 'operator' }, facilityId: null, target: 'export', changed: [] },
      { actor: { clientId: 'export' } },
    ]);
  });

  test.each(['', '?credentials=hashed'])('importing the export changes nothing: %s', async (query) => {
    const { body } = await send('GET', `/export${query}`);
    const { last } = (await send('GET', '/audit?pageSize=1000')).body;
    expect(JSON.stringify(body).includes('$argon2id$')).toBe(query !== '');
    const dry = await send('POST', '/import?dryRun=true', body);
    const imported = await send('POST', '/import', body);
    for (const { status, body: result } of [dry, imported]) {
      expect(status).toBe(200);
      const actions = (result.entries as { action: string }[]).map(({ action }) => action);
      expect(new Set(actions)).toEqual(new Set(['unchanged']));
    }
    expect((await send('GET', '/audit?pageSize=1000')).body.last).toBe(last);
    expect((await send('GET', `/export${query}`)).body).toEqual(body);
  });

  test('the audit trail has no secrets', async () => {
    const all = JSON.stringify(await events('pageSize=1000'));
    expect(all).toContain('client_secret');
    expect(all).not.toMatch(/password-number|another-secret|first-password/);
  });
});
