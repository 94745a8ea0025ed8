// Tests the stories of an operator: rotate a secret, disable, unlock, end sessions, invite an owner, import and export.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, openFormBrowser } from '@bay-booking/testkit/form-browser';
import { type SmtpSink, startSmtpSink } from '@bay-booking/testkit/smtp-sink';
import { describe, expect, test } from '@jest/globals';
import { basic, eventually, patForm, scopes, statusAndBody } from './auth-server.ts';
import { startManagementServer } from './management-client.ts';

const fixture = useFixture(async () => {
  const smtp: SmtpSink = await startSmtpSink();
  const management = await startManagementServer({
    SMTP_URL: smtp.url,
  });
  return {
    ...management,
    smtp,
    close: async () => {
      await management.close();
      await smtp.close();
    },
  };
});

const passwordForm = (username: string, password: string) => ({
  grant_type: 'password',
  client_id: 'demo-native',
  scope: `${scopes.play} offline_access`,
  username,
  password,
});
const signIn = async (username: string, password: string) =>
  statusAndBody(await fixture.server.post('/connect/token', passwordForm(username, password)));
const refresh = async (token: unknown) =>
  statusAndBody(
    await fixture.server.post('/connect/token', {
      grant_type: 'refresh_token',
      client_id: 'demo-native',
      refresh_token: String(token),
    }),
  );
const newAccount = async (name: string, more: object = {}) => {
  const username = `${name}@story.example`;
  const entry = { id: `acc-${name}`, password: 'first-password', ...more };
  expect(await fixture.send('PUT', `/accounts/${username}`, entry)).toMatchObject({ status: 201 });
  return { username, entry };
};
const revocations = () => fixture.server.db('revocation').orderBy('number');
const lastEvent = async (query: string) => (await fixture.events(query)).at(-1);

describe('secrets', () => {
  const token = async (secret: string) =>
    (await fixture.server.post('/connect/token', { ...patForm, client_secret: secret })).status;

  test('after a rotation both secrets work, and then only the new one', async () => {
    const { client_id: id, client_secret: old } = patForm;
    const rotated = await fixture.send('POST', `/clients/${id}/rotate-secret`, { overlapHours: 24 });
    expect(rotated).toMatchObject({ status: 200, body: { client_id: id } });
    expect(rotated.headers.get('cache-control')).toBe('no-store');
    const first = String(rotated.body.client_secret);
    expect([await token(old), await token(first)]).toEqual([200, 200]);
    const now = await fixture.send('POST', `/clients/${id}/rotate-secret`, { overlapHours: 0 });
    const second = String(now.body.client_secret);
    expect([await token(old), await token(first), await token(second)]).toEqual([401, 401, 200]);
    expect(await lastEvent('action=client.secret-rotated')).toMatchObject({
      target: `clients/${id}`,
      changed: ['client_secret'],
    });
    // The next test continues with the published secret.
    await fixture.server.load({ clients: [{ client_id: id, client_secret: old }] });
    expect([await token(old), await token(second)]).toEqual([200, 401]);
  });

  test('a repeated rotation gets the same response without the secret, and its key works at no other path', async () => {
    await fixture.send('PUT', '/clients/repeated', { client_secret: 's', redirect_uris: ['https://r.example/cb'] });
    const rotate = (id: string) =>
      fixture.send('POST', `/clients/${id}/rotate-secret`, undefined, { 'Idempotency-Key': 'rotation' });
    const first = await rotate('repeated');
    expect(first).toMatchObject({ status: 200, body: { client_secret: expect.any(String) } });
    const second = await rotate('repeated');
    expect(second).toMatchObject({ status: 200, body: { ...first.body, client_secret: null } });
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await rotate('rotating')).toMatchObject({ status: 422 });
  });

  test('the default overlap is 24 hours, and a wrong one is an error', async () => {
    await fixture.send('PUT', '/clients/rotating', { client_secret: 's', redirect_uris: ['https://r.example/cb'] });
    expect(await fixture.send('POST', '/clients/rotating/rotate-secret')).toMatchObject({ status: 200 });
    const { rows } = await fixture.server.db.raw(
      `select round(extract(epoch from expires_at - now()) / 3600)::int as hours from client_secret
        where client_id = 'rotating' and expires_at is not null`,
    );
    expect(rows).toEqual([{ hours: 24 }]);
    expect(await fixture.send('POST', '/clients/rotating/rotate-secret', { overlapHours: -1 })).toMatchObject({
      status: 400,
      body: { errors: [{ code: 'ERR00002', contextData: { field: '/overlapHours' } }] },
    });
    expect(await fixture.send('POST', '/clients/operator/rotate-secret')).toMatchObject({ status: 409 });
    expect(await fixture.send('POST', '/clients/nobody/rotate-secret')).toMatchObject({ status: 404 });
  });

  test('an import with only a new secret keeps every other field', async () => {
    const before = (await fixture.send('GET', '/clients/demo-range')).body;
    const { body } = await fixture.send('POST', '/import', {
      clients: [{ client_id: 'demo-range', client_secret: 'another-secret' }],
    });
    expect(body).toEqual({ entries: [{ path: '/clients/0', action: 'update', errors: [] }] });
    expect((await fixture.send('GET', '/clients/demo-range')).body).toEqual(before);
    expect(await lastEvent('action=client.changed')).toMatchObject({ changed: ['client_secret'] });
  });
});

describe('accounts', () => {
  test('a new password ends sessions, grants and the lock-out, for a PUT and for an import', async () => {
    const { username, entry } = await newAccount('hijacked');
    for (const [index, change] of [
      (password: string) => fixture.send('PUT', `/accounts/${username}`, { ...entry, password }),
      (password: string) => fixture.server.load({ accounts: [{ id: entry.id, username, password }] }),
    ].entries()) {
      const password = `password-number-${index}`;
      await change(`${password}-old`);
      const hijacker = await signIn(username, `${password}-old`);
      expect(hijacker.status).toBe(200);
      for (let n = 0; n < 10; n++) await signIn(username, 'guess');
      expect(await signIn(username, `${password}-old`)).toMatchObject({ status: 429 });
      const published = (await revocations()).length;
      await change(password);
      expect(await refresh(hijacker.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
      expect((await revocations()).length).toBeGreaterThan(published);
      expect(await signIn(username, password)).toMatchObject({ status: 200 });
    }
    expect(await lastEvent('account=acc-hijacked')).toMatchObject({
      actor: { clientId: 'import' },
      changed: ['password'],
    });
  });

  test('unlock ends the lock-out', async () => {
    const { username, entry } = await newAccount('locked');
    const lockedUntil = async () => (await fixture.send('GET', `/accounts/${username}`)).body.lockedUntil;
    expect(await lockedUntil()).toBeNull();
    for (let n = 0; n < 10; n++) await signIn(username.toUpperCase(), 'guess');
    expect(await signIn(username, entry.password)).toMatchObject({ status: 429 });
    expect(Date.parse(String(await lockedUntil()))).toBeGreaterThan(Date.now());
    expect(await fixture.send('POST', `/accounts/${username}/unlock`)).toMatchObject({ status: 204 });
    expect(await lockedUntil()).toBeNull();
    expect(await signIn(username, entry.password)).toMatchObject({ status: 200 });
    expect(await fixture.send('POST', '/accounts/nobody/unlock')).toMatchObject({ status: 404 });
  });

  test('disabling and ending sessions act at once, also at resource servers', async () => {
    const { username, entry } = await newAccount('fired');
    const first = await signIn(username, entry.password);
    expect(await fixture.send('POST', `/accounts/${username}/end-sessions`)).toMatchObject({ status: 204 });
    expect(await refresh(first.refresh_token)).toMatchObject({ status: 400 });
    expect(await revocations()).not.toEqual([]);
    const second = await signIn(username, entry.password);
    const before = (await revocations()).length;
    expect(await fixture.send('PUT', `/accounts/${username}`, { ...entry, disabled: true })).toMatchObject({
      status: 200,
      body: { disabled: true },
    });
    expect((await revocations()).length).toBeGreaterThan(before);
    expect(await refresh(second.refresh_token)).toMatchObject({ status: 400 });
    expect(await signIn(username, entry.password)).toMatchObject({ status: 400 });
    expect(await fixture.send('PUT', `/accounts/${username}`, entry)).toMatchObject({ status: 200 });
    expect(await signIn(username, entry.password)).toMatchObject({ status: 200 });
    expect((await fixture.events('account=acc-fired')).map(({ action }) => action)).toEqual([
      'account.created',
      'account.sessions-ended',
      'account.disabled',
      'account.enabled',
    ]);
  });

  test('send-reset mails the link to the user', async () => {
    const { username } = await newAccount('forgetful');
    expect(await fixture.send('POST', `/accounts/${username}/send-reset`)).toMatchObject({ status: 204 });
    const mail = await fixture.smtp.mailTo(username);
    expect(mail.text).toContain('/reset-password/new?token=');
    await fixture.send('PUT', '/accounts/nomail', { id: 'acc-nomail' });
    expect(await fixture.send('POST', '/accounts/nomail/send-reset')).toMatchObject({ status: 409 });
  });
});

test('more requests at once than the pool has connections', async () => {
  await fixture.send('PUT', '/facilities/fac-busy', { name: 'Busy Range' });
  const invite = (_: unknown, n: number) =>
    fixture.send('POST', '/facilities/fac-busy/owner-invitations', { email: `owner${n}@busy.example` });
  const responses = await Promise.all(Array.from({ length: 15 }, invite));
  expect(responses.map(({ status }) => status)).toEqual(Array(15).fill(201));
});

test('an invited owner accepts and owns the facility, and only the mail has the link', async () => {
  const email = 'first@owner.example';
  await fixture.send('PUT', '/facilities/fac-invited', { name: 'Invited Range' });
  const path = '/facilities/fac-invited/owner-invitations';
  const linksTo = () =>
    fixture.smtp
      .mails()
      .filter(({ to }) => to.includes(email))
      .flatMap(({ text }) => /\S+\/portal\/invitation\?token=\S+/.exec(text)?.[0] ?? []);
  const invited = await fixture.send('POST', path, { email });
  expect(invited).toMatchObject({ status: 201, body: { facilityId: 'fac-invited', email, role: 'owner' } });
  expect(JSON.stringify(invited.body)).not.toContain('token');
  await eventually(async () => linksTo().length === 1);
  // A second request sends a new link, and the first one ends.
  expect(await fixture.send('POST', path, { email })).toMatchObject({ status: 201 });
  const link = await eventually(async () => linksTo()[1]);
  const browser: FormBrowser = openFormBrowser([fixture.server.origin]);
  expect((await browser.open(String(linksTo()[0]))).status).toBe(410);
  const page = await browser.open(String(link));
  expect(page.html).toContain('Owner');
  await browser.send(page, { name: 'First Owner', password: 'a-long-owner-password' });
  expect((await fixture.send('GET', '/accounts?facilityId=fac-invited&role=owner')).body.items).toMatchObject([
    { username: email, emailVerified: true },
  ]);
  expect(await fixture.send('POST', path, { email })).toMatchObject({ status: 409 });
  expect(await fixture.send('POST', path, { email: 'bot@north.example' })).toMatchObject({ status: 409 });
  expect(await fixture.send('POST', path, { email: 'no address' })).toMatchObject({ status: 400 });
  const memberships = [{ facilityId: 'fac-invited', role: 'staff' }];
  await fixture.server.load({
    accounts: [{ id: 'acc-joined', username: 'joined', name: 'Jo', memberships: memberships as never }],
  });
  const history = await browser.open(`${fixture.server.origin}/portal/facilities/fac-invited/history`);
  expect(history.html.replace(/<[^>]*>/g, '')).toContain(
    'The operator of the service invited first@owner.example as Owner',
  );
  expect(history.html.replace(/<[^>]*>/g, '')).toContain('The operator of the service made Jo Staff');
});

test('a PUT that takes a scope or grant type from a client revokes its tokens', async () => {
  const scope = `${scopes.play} offline_access`;
  const client = { token_endpoint_auth_method: 'none', grant_types: ['password', 'refresh_token'], redirect_uris: [] };
  const put = (more: object) =>
    fixture.send('PUT', '/clients/shrinking', { ...client, response_types: [], scope, ...more });
  const credentials = { username: 'player@example.com', password: 'demo-player-pass' };
  const requestToken = async () => {
    const form = { grant_type: 'password', client_id: 'shrinking', scope: scopes.play, ...credentials };
    return String((await statusAndBody(await fixture.server.post('/connect/token', form))).access_token);
  };
  const isActive = async (token: string) => {
    const response = await fixture.server.post('/connect/introspect', { token }, basic('demo-web', 'demo-web-secret'));
    return (await statusAndBody(response)).active;
  };
  for (const fewer of [{ scope: scopes.play }, { grant_types: ['password'] }]) {
    await put({});
    await eventually(async () => (await isActive(await requestToken())) === true);
    const token = await requestToken();
    expect((await put({ ...fewer, client_name: 'Shrunk' })).status).toBe(200);
    expect(await isActive(token)).toBe(false);
  }
});

test('personal access tokens are listed and revoked', async () => {
  await fixture.server.load({
    clients: [{ client_id: 'pat-revoked', client_secret: 's', accountId: 'acc-bot-north', name: 'Till' }],
  });
  const idsOf = async (query: string) =>
    ((await fixture.send('GET', `/personal-access-tokens?${query}`)).body.items as { client_id: string }[]).map(
      ({ client_id }) => client_id,
    );
  expect(await idsOf('accountId=acc-bot-north')).toEqual(['demo-pat-north', 'pat-revoked']);
  expect(await idsOf('facilityId=fac-north')).toEqual(['demo-pat-north', 'pat-revoked']);
  expect(await idsOf('facilityId=fac-south')).toEqual([]);
  expect(await fixture.send('DELETE', '/personal-access-tokens/pat-revoked')).toMatchObject({ status: 204 });
  expect(await fixture.send('DELETE', '/personal-access-tokens/pat-revoked')).toMatchObject({ status: 404 });
  expect(await fixture.send('DELETE', '/personal-access-tokens/demo-web')).toMatchObject({ status: 404 });
  expect(await idsOf('')).toEqual(['demo-pat-north']);
  const form = { ...patForm, client_id: 'pat-revoked', client_secret: 's' };
  expect((await fixture.server.post('/connect/token', form)).status).toBe(401);
});

describe('import and export', () => {
  test('an export with hashes is in the audit trail', async () => {
    const exports = async () => (await fixture.events('action=credentials.exported')).length;
    await fixture.send('GET', '/export');
    expect(await exports()).toBe(0);
    await fixture.send('GET', '/export?credentials=hashed');
    expect(await fixture.events('action=credentials.exported')).toMatchObject([
      { actor: { clientId: 'operator' }, facilityId: null, target: 'export', changed: [] },
    ]);
    const env = { ...process.env, DATABASE_URL: fixture.server.databaseUrl };
    await promisify(execFile)(process.execPath, ['src/commands/export.ts', '--credentials=hashed'], { env });
    expect(await fixture.events('action=credentials.exported')).toMatchObject([
      { actor: { clientId: 'operator' } },
      { actor: { clientId: 'export' } },
    ]);
  });

  test.each(['', '?credentials=hashed'])('importing the export changes nothing: %s', async (query) => {
    const { body } = await fixture.send('GET', `/export${query}`);
    const { last } = (await fixture.send('GET', '/audit?pageSize=1000')).body;
    expect(JSON.stringify(body).includes('$argon2id$')).toBe(query !== '');
    const dry = await fixture.send('POST', '/import?dryRun=true', body);
    const imported = await fixture.send('POST', '/import', body);
    for (const { status, body: result } of [dry, imported]) {
      expect(status).toBe(200);
      const actions = (result.entries as { action: string }[]).map(({ action }) => action);
      expect(new Set(actions)).toEqual(new Set(['unchanged']));
    }
    expect((await fixture.send('GET', '/audit?pageSize=1000')).body.last).toBe(last);
    expect((await fixture.send('GET', `/export${query}`)).body).toEqual(body);
  });

  test('an export with hashes moves everything to an empty service', async () => {
    const { body } = await fixture.send('GET', '/export?credentials=hashed');
    const other = await startManagementServer();
    await other.server.db.raw('truncate facility, account, client, deleted_account cascade');
    await other.server.load(body as never);
    const granted = await other.server.post('/connect/token', patForm);
    expect(granted.status).toBe(200);
    const form = passwordForm('player@example.com', 'demo-player-pass');
    expect((await other.server.post('/connect/token', form)).status).toBe(200);
    await other.close();
  });

  test('a dry run says what would happen to each entry, and writes nothing', async () => {
    const document = {
      facilities: [
        { id: 'fac-north', name: 'Renamed' },
        { id: 'fac-dry', name: 'Dry' },
      ],
      accounts: [
        { id: 'acc-player', username: 'player@example.com' },
        { id: 'acc-dry', username: 'dry', memberships: [{ facilityId: 'fac-dry', role: 'staff' }] },
        { id: 'acc-lost', username: 'lost', memberships: [{ facilityId: 'fac-none', role: 'staff' }] },
      ],
    };
    const before = (await fixture.send('GET', '/export')).body;
    const { status, body } = await fixture.send('POST', '/import?dryRun=true', document);
    const entries = body.entries as { path: string; action: string; errors: { contextData: unknown }[] }[];
    expect([status, entries.map(({ action }) => action)]).toEqual([
      200,
      ['update', 'create', 'unchanged', 'create', 'error'],
    ]);
    expect(entries[4]?.errors).toMatchObject([{ contextData: { field: '/accounts/2/memberships/0/facilityId' } }]);
    expect((await fixture.send('POST', '/import', document)).status).toBe(400);
    expect((await fixture.send('GET', '/export')).body).toEqual(before);
  });

  test('the audit trail is read by cursor, and has no secrets', async () => {
    const { body } = await fixture.send('GET', '/audit?pageSize=2');
    expect(body.items).toHaveLength(2);
    const next = (body._links as { next: { href: string } }).next.href.replace(/^.*\/management/, '');
    const following = (await fixture.send('GET', next)).body.items as { number: number }[];
    expect(following[0]?.number).toBeGreaterThan(Number(body.last));
    const all = JSON.stringify(await fixture.events('pageSize=1000'));
    expect(all).not.toMatch(/password-number|another-secret|first-password/);
  });
});
