// Tests what the management API says about accounts and facilities, and what it does with factors and invitations.
import { useFixture } from '@bay-booking/testkit/fixture';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { type SmtpSink, startSmtpSink } from '@bay-booking/testkit/smtp-sink';
import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { patForm, startAuthServer } from './auth-server.ts';
import { codeOf } from './factors-fixture.ts';
import { startManagementServer } from './management-client.ts';
import { fieldOf, forged } from './portal-fixture.ts';
import { createSoftAuthenticator } from './soft-authenticator.ts';

const fixture = useFixture(async () => {
  const smtp: SmtpSink = await startSmtpSink();
  const management = await startManagementServer({ SMTP_URL: smtp.url });
  return {
    ...management,
    smtp,
    close: async () => {
      await management.close();
      await smtp.close();
    },
  };
});
const send: typeof fixture.send = (...request) => fixture.send(...request);
const password = 'seven unusual lamps';
const totpSecret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const put = async (name: string, more: object) => {
  const username = `${name}@record.example`;
  const entry = { id: `acc-${name}`, email: username, emailVerified: true, password, ...more };
  expect(await send('PUT', `/accounts/${username}`, entry)).toMatchObject({ status: 201 });
  return username;
};
/** Of a token, or the error if there is none. */
const facilitiesOf = async (form: Record<string, string>): Promise<unknown> => {
  const response = await fixture.server.post('/connect/token', form);
  const { access_token: token, ...error } = (await response.json()) as { access_token?: string };
  return token === undefined ? error : decodeJwt(token).facilities;
};

test('no token names a disabled facility, and its page in the portal shows only a notice', async () => {
  const { body } = await send('GET', '/facilities/fac-north');
  expect(body.disabled).toBe(false);
  expect(await facilitiesOf(patForm)).toEqual(['fac-north']);
  const invited = { email: 'new-owner@north.example' };
  expect(await send('POST', '/facilities/fac-north/owner-invitations', invited)).toMatchObject({ status: 201 });
  const { text } = await fixture.smtp.mailTo(invited.email, ({ subject }) => subject.startsWith('Become'));
  const link = /http:\S+invitation\?token=[\w-]+/.exec(text)?.[0] ?? '';
  expect(await send('PUT', '/facilities/fac-north', { ...body, disabled: true })).toMatchObject({ status: 200 });
  expect(await facilitiesOf(patForm)).toMatchObject({ error: 'invalid_scope' });
  const browser = openFormBrowser([fixture.server.origin]);
  const form = await browser.open(`${fixture.server.origin}/portal/facilities/fac-north`);
  const page = await browser.send(form, { username: 'owner@north.example', password: 'demo-owner-pass' });
  expect(page.html).toContain('North Range is disabled');
  expect(page.html).not.toContain('bot@north.example');
  // Nobody can accept an invitation, be invited, or create or rotate a token.
  const conflict = { status: 409, body: { errors: [{ code: 'FACILITY00001' }] } };
  expect(await send('POST', '/facilities/fac-north/owner-invitations', invited)).toMatchObject(conflict);
  expect(await send('POST', '/clients/demo-pat-north/rotate-secret')).toMatchObject(conflict);
  const token = { accountId: 'acc-bot-north', client_secret: 's', facilities: ['fac-north'] };
  expect(await send('PUT', '/clients/pat-new', token)).toMatchObject(conflict);
  expect(await browser.open(link)).toMatchObject({ status: 403, title: expect.stringMatching(/^North Range is dis/) });
  const bot = openFormBrowser([fixture.server.origin]);
  const tokens = await bot.send(await bot.open(`${fixture.server.origin}/portal`), {
    username: 'bot@north.example',
    password: 'demo-bot-pass',
  });
  expect(tokens.html).toContain('disabled every facility of this account');
  const forgedForm = { csrf: fieldOf(tokens, 'csrf') ?? '', name: 'Till', expiresInDays: '9', facility: 'fac-north' };
  expect(await bot.send(forged(tokens, '/portal/tokens', forgedForm), {})).toMatchObject({ status: 409 });
  expect(await bot.open(`${fixture.server.origin}/portal/tokens/demo-pat-north/rotate`)).toMatchObject({ status: 409 });
  expect(await send('PUT', '/facilities/fac-north', body)).toMatchObject({ status: 200 });
  expect(await facilitiesOf(patForm)).toEqual(['fac-north']);
  expect((await browser.open(link)).title).toMatch(/^Invitation to North Range/);
});

test('the id of a deleted facility is never used again', async () => {
  const path = '/facilities/fac-once';
  expect(await send('PUT', path, { name: 'Once' })).toMatchObject({ status: 201 });
  expect(await send('DELETE', path)).toMatchObject({ status: 204 });
  expect(await send('PUT', path, { name: 'Twice' })).toMatchObject({
    status: 409,
    body: { errors: [{ code: 'PLACE00002' }] },
  });
});

test('an account shows its second factor, which an operator can reset', async () => {
  const username = await put('factor', { totpSecret });
  const path = `/accounts/${username}`;
  expect((await send('GET', path)).body).toMatchObject({ secondFactor: 'totp', lockedUntil: null, lastSignInAt: null });
  expect(await send('POST', `${path}/reset-factors?dryRun=true`)).toMatchObject({
    status: 200,
    body: { action: 'update', errors: [] },
  });
  expect((await send('GET', path)).body.secondFactor).toBe('totp');
  expect(await send('POST', `${path}/reset-factors`)).toMatchObject({ status: 204 });
  expect((await send('GET', path)).body.secondFactor).toBe('none');
  await fixture.smtp.mailTo(username, ({ text }) => text.includes('All second factors were removed'));
  const found = (await send('GET', `/accounts?email=${username.toUpperCase()}`)).body.items as { id: string }[];
  expect(found.map(({ id }) => id)).toEqual(['acc-factor']);
  const newest = await fixture.events('order=newest&pageSize=1');
  expect(newest).toMatchObject([{ target: `accounts/${username}`, actor: { clientId: 'operator' } }]);
});

test('a dry run of a PUT and a DELETE says what would happen, and changes nothing', async () => {
  const path = '/facilities/fac-dry';
  expect((await send('PUT', `${path}?dryRun=true`, { name: 'Dry' })).body).toEqual({ action: 'create', errors: [] });
  expect((await send('GET', path)).status).toBe(404);
  expect((await send('DELETE', '/facilities/fac-north?dryRun=true')).body).toMatchObject({
    action: 'error',
    errors: [{ code: 'MEMBER00002' }],
  });
});

test('a dry run has the errors of the request itself', async () => {
  const username = await put('dry', {});
  const invited = { email: 'invited@dry.example' };
  const invitations = '/facilities/fac-north/owner-invitations';
  const requests: [method: string, path: string, body?: object | undefined, headers?: Record<string, string>][] = [
    ['PUT', '/facilities/fac-tried', { name: 7 }],
    ['PUT', '/facilities/fac-tried', { name: 'Tried' }, { 'If-Match': '"stale"' }],
    ['PUT', '/facilities/fac-tried', { name: 'Tried' }],
    ['PUT', '/facilities/fac-tried', { name: 'Tried' }, { 'If-None-Match': '*' }],
    ['PUT', '/facilities/fac-tried', { name: 'Tried again' }],
    ['PUT', `/accounts/${username}`, { id: 'acc-other', kind: 'service' }],
    ['PUT', '/clients/operator', { client_name: 'Other', grant_types: ['password'] }],
    ['DELETE', '/clients/operator'],
    ['POST', '/clients/nobody/rotate-secret'],
    ['POST', '/clients/demo-spa/rotate-secret'],
    ['POST', '/clients/demo-web/rotate-secret', { overlapHours: -1 }],
    ['POST', `/accounts/${username}/reset-factors`],
    ['POST', '/accounts/nobody/send-reset'],
    ['POST', invitations, { email: 'no address' }],
    ['POST', invitations, { email: 'owner@north.example' }],
    ...Array.from({ length: 11 }, (): ['POST', string, object] => ['POST', invitations, invited]),
    ['DELETE', '/invitations/unknown'],
    ['DELETE', '/facilities/fac-tried', undefined, { 'If-Match': '"stale"' }],
    ['DELETE', '/facilities/fac-tried'],
    ['DELETE', '/facilities/fac-tried'],
    ['DELETE', '/personal-access-tokens/demo-web'],
    ['DELETE', `/accounts/${username}`],
  ];
  const statuses = new Set<number>();
  for (const [method, path, ...rest] of requests) {
    const dry = await send(method, `${path}?dryRun=true`, ...rest);
    const real = await send(method, path, ...rest);
    // The seconds until a limit ends.
    const errors = JSON.parse(JSON.stringify(real.body.errors ?? []).replace(/\d+ s\./, 'N s.'));
    const found = JSON.parse(JSON.stringify(dry.body.errors).replace(/\d+ s\./, 'N s.'));
    expect([method, path, dry.status, found]).toEqual([method, path, 200, errors]);
    statuses.add(real.status);
  }
  expect([...statuses].toSorted()).toEqual([200, 201, 204, 400, 403, 404, 409, 412, 429]);
});

test('the invitations of a facility are listed and withdrawn', async () => {
  const email = 'new-owner@record.example';
  expect(await send('POST', '/facilities/fac-south/owner-invitations', { email })).toMatchObject({ status: 201 });
  const list = async () => (await send('GET', '/invitations?facilityId=fac-south')).body.items as { id: string }[];
  const [invitation] = await list();
  expect(invitation).toMatchObject({ email, role: 'owner', state: 'open', facilityId: 'fac-south' });
  const path = `/invitations/${invitation?.id}`;
  expect((await send('GET', path)).body).toMatchObject({ email });
  expect((await send('DELETE', path)).status).toBe(204);
  expect((await send('DELETE', path)).status).toBe(404);
  expect(await list()).toMatchObject([{ state: 'withdrawn' }]);
});

test('an export with credentials lets people sign in at an empty installation as before', async () => {
  const username = await put('moved', { totpSecret, recoveryCodes: ['moved-0001'] });
  const { body } = await send('GET', '/export?credentials=hashed');
  const accounts = (body.accounts as { username: string; memberships: [] }[]).filter(
    (account) => account.username === username,
  );
  expect(accounts).toHaveLength(1);
  const other = await startAuthServer({});
  try {
    await other.load({ accounts } as never);
    for (const code of [codeOf(totpSecret), 'moved-0001']) {
      const browser = openFormBrowser([other.origin]);
      const form = await browser.open(`${other.origin}/sign-in`);
      const asked = await browser.send(form, { username, password });
      await browser.send(asked, { code });
      const account = await browser.open(`${other.origin}/account`);
      expect([account.url.pathname, account.html.includes(username)]).toEqual(['/account', true]);
    }
  } finally {
    await other.close();
  }
});

const { publicKey } = createSoftAuthenticator('https://record.example');

test('passkeys and social identities are imported, and exported again', async () => {
  const credentials = {
    passkeys: [{ id: 'key-1', name: 'Phone', publicKey, transports: ['internal', 'hybrid'] }],
    socialIdentities: [
      { provider: 'google', subject: '1', email: 'keys@record.example' },
      { provider: 'test', subject: '2' },
    ],
  };
  const file = { accounts: [{ id: 'acc-keys', username: 'keys@record.example', credentials }] };
  expect((await send('POST', '/import', file)).status).toBe(200);
  const { body } = await send('GET', '/export?credentials=hashed');
  const accounts = body.accounts as { id: string; credentials?: object }[];
  expect(accounts.find(({ id }) => id === 'acc-keys')?.credentials).toEqual(credentials);
});

const fieldsOf = (errors: unknown) =>
  (errors as readonly { contextData: { field: string } }[]).map(({ contextData }) => contextData.field).toSorted();

test('a PUT, an import and its dry run name the errors of the schema and of the metadata at once', async () => {
  const { body: before } = await send('GET', '/clients/demo-web');
  const client = {
    redirect_uris: ['https://c.example/cb#fragment'],
    grant_types: ['unknown'],
    pkce: 'sometimes',
    scop: 'openid',
  };
  const fields = ['/grant_types', '/pkce', '/redirect_uris', '/scop'];
  const put = await send('PUT', '/clients/demo-web', client);
  expect(put).toMatchObject({ status: 400 });
  expect(fieldsOf(put.body.errors)).toEqual(fields);
  const file = { clients: [{ client_id: 'demo-web', ...client }] };
  const imported = await send('POST', '/import', file);
  expect(imported).toMatchObject({ status: 400 });
  expect(fieldsOf(imported.body.errors)).toEqual(fields.map((field) => `/clients/0${field}`));
  const { body } = await send('POST', '/import?dryRun=true', file);
  const [entry] = body.entries as readonly { action: string; errors: unknown }[];
  expect(entry).toMatchObject({ action: 'error' });
  expect(fieldsOf(entry?.errors)).toEqual(fieldsOf(imported.body.errors));
  const renamed = { clients: [{ client_id: 'demo-web', pkce: 'sometimes', client_name: 'Never stored' }] };
  expect(await send('POST', '/import', renamed)).toMatchObject({
    status: 400,
    body: { errors: [{ code: 'ERR00002' }] },
  });
  expect((await send('GET', '/clients/demo-web')).body).toEqual(before);
});

test.each<[string, Record<string, unknown>, string?]>([
  ['kind', { client_id: 'c', kind: 'robot', client_secret: 's' }],
  ['client_id', { client_id: 'has space', client_secret: 's' }],
  ['client_secret', { client_id: 'c', client_secret: 'has space' }],
  ['client_secret_hashes', { client_id: 'c', client_secret_hashes: [{ sha256: 'short' }] }, '/0/sha256'],
  ['accountId', { client_id: 'c', accountId: '', client_secret: 's' }],
])('an invalid %s hides no other error of a client', async (field, record, inside = '') => {
  const isToken = field === 'accountId';
  const others = isToken
    ? { jwks_uri: 'https://c.example/keys', facilities: ['fac-none'] }
    : { redirect_uris: ['https://c.example/cb#fragment'], scope: 'unknown', access: 'read' };
  const fields = [
    `/${field}${inside}`,
    ...(isToken ? ['/jwks_uri'] : ['/access', '/redirect_uris', '/scope']),
  ].toSorted();
  const { client_id: id, ...body } = { ...record, ...others } as Record<string, unknown>;
  const put = await send('PUT', `/clients/${encodeURIComponent(String(id))}`, body);
  expect([put.status, fieldsOf(put.body.errors)]).toEqual([400, fields]);
  const file = { clients: [{ ...record, ...others }] };
  const inFile = fields.map((pointer) => `/clients/0${pointer}`);
  const imported = await send('POST', '/import', file);
  expect([imported.status, fieldsOf(imported.body.errors)]).toEqual([400, inFile]);
  const error = await fixture.server.load(file as never).catch((reason: unknown) => reason);
  const pointers = (error as Error).message
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(': ')[0]);
  expect(pointers.toSorted()).toEqual(inFile);
});

const argon2 = (parameters: string, salt = 'BwcHBwcHBwcHBwcHBwcHBw', hash = 'A'.repeat(43)) =>
  `$argon2id$v=19$${parameters}$${salt}$${hash}`;
const passkey = { id: 'key', name: 'Key', publicKey, transports: [] };

test.each<[string, Record<string, unknown>]>([
  ...['m=0,t=1,p=1', 'm=15,t=1,p=2', 'm=64,t=0,p=1', 'm=064,t=1,p=1'].map(
    (parameters): [string, Record<string, unknown>] => ['/passwordHash', { passwordHash: argon2(parameters) }],
  ),
  ['/passwordHash', { passwordHash: argon2('m=64,t=1,p=1', 'BwcHBwcHBwcHBwcHBwcHBx') }],
  ['/passwordHash', { passwordHash: argon2('m=64,t=1,p=1').replace('argon2id', 'argon2i') }],
  ['/credentials/authenticatorSecretEncrypted', { credentials: { authenticatorSecretEncrypted: 'garbage' } }],
  ['/credentials/recoveryCodes/salt', { credentials: { recoveryCodes: { salt: '!!', hashes: [] } } }],
  [
    '/credentials/recoveryCodes/hashes/0',
    { credentials: { recoveryCodes: { salt: 'CAgICAgICAgICAgICAgICA==', hashes: [argon2('m=64,t=1,p=1')] } } },
  ],
  ['/credentials/passkeys/0/publicKey', { credentials: { passkeys: [{ ...passkey, publicKey: 'A' }] } }],
  ['/credentials/passkeys/0/publicKey', { credentials: { passkeys: [{ ...passkey, publicKey: 'AQID' }] } }],
  ['/credentials/passkeys/0/transports/0', { credentials: { passkeys: [{ ...passkey, transports: ['a\0'] }] } }],
  [
    '/credentials/socialIdentities/0/subject',
    { credentials: { socialIdentities: [{ provider: 'p', subject: '\ud800' }] } },
  ],
])('credentials that cannot be used are refused: %s %j', async (field, record) => {
  const put = await send('PUT', '/accounts/unusable@record.example', record);
  expect([put.status, fieldsOf(put.body.errors)]).toEqual([400, [field]]);
  const file = { accounts: [{ id: 'acc-unusable', username: 'unusable@record.example', ...record }] };
  await expect(fixture.server.load(file as never)).rejects.toThrow(`/accounts/0${field}: `);
});

test('all errors of the form of an account are reported at once, then all against what is stored', async () => {
  const account = { email: 'none', password: 'short', memberships: [{ facilityId: 'fac-none', role: 'owner' }] };
  const put = await send('PUT', '/accounts/player@example.com', { ...account, id: 'acc-other' });
  expect([put.status, fieldsOf(put.body.errors)]).toEqual([400, ['/email', '/password']]);
  const wellFormed = { id: 'acc-other', memberships: account.memberships };
  const stored = await send('PUT', '/accounts/player@example.com', wellFormed);
  expect([stored.status, fieldsOf(stored.body.errors)]).toEqual([400, ['/memberships/0/facilityId', '/username']]);
});

test.each([
  ['/facilities/fac-north', { timeZone: 'Mars' }],
  ['/accounts/player@example.com', { email: 'none' }],
  ['/accounts/player@example.com', { memberships: [{ facilityId: 'fac-none', role: 'owner' }] }],
  ['/clients/demo-web', { kind: 'robot' }],
  ['/clients/demo-web', { redirect_uris: ['https://c.example/cb#fragment'] }],
])('bad input is rejected before an If-Match that does not match: PUT %s %j', async (path, body) => {
  expect(await send('PUT', path, body, { 'If-Match': '"old"' })).toMatchObject({ status: 400 });
});
