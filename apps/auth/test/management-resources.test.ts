// Tests the resources of the management API, what it says about accounts and facilities, and what it does with factors
// and invitations.
import { useFixture } from '@bay-booking/testkit/fixture';
import { fieldOf } from '@bay-booking/testkit/form-browser';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { patForm, scopes, startAuthServer } from './auth-server.ts';
import { demoDocument } from './demo-document.ts';
import { codeOf } from './factors-fixture.ts';
import { openBrowser, owner } from './flows.ts';
import { operateAuth, operateBookings, startManagementServer } from './management-client.ts';
import { createSoftAuthenticator } from './soft-authenticator.ts';

const management = useFixture(() => startManagementServer());
const send = (...args: Parameters<typeof management.send>) => management.send(...args);
const events = (query?: string) => management.events(query);
const lastNumber = async (): Promise<number> => Number((await send('GET', '/audit?pageSize=1000')).body.last);
const fieldsOf = ({ errors }: Record<string, unknown>) =>
  (errors as { code: string; contextData: { field?: string } }[]).map((error) => [error.code, error.contextData.field]);

const { facilities = [], accounts = [], clients = [] } = demoDocument(scopes);
const entries: [path: string, entry: object][] = [
  ...facilities.map((entry): [string, object] => [`/facilities/${entry.id}`, entry]),
  ...accounts.map((entry): [string, object] => [`/accounts/${encodeURIComponent(entry.username)}`, entry]),
  ...clients.map((entry): [string, object] => [`/clients/${entry.client_id}`, entry]),
];

describe('PUT', () => {
  test.each(entries)(
    'the entry of the import file changes nothing, with the same ETag and no event: %s',
    async (path, entry) => {
      const before = await send('GET', path);
      expect(before.status).toBe(200);
      expect(JSON.stringify(before.body)).not.toMatch(/"(?:client_secret|password)\w*":|argon2/);
      const number = await lastNumber();
      const put = await send('PUT', path, entry);
      expect(put).toMatchObject({ status: 200, etag: before.etag, body: before.body });
      const ifMatch = { 'If-Match': before.etag };
      expect(await send('PUT', path, before.body, ifMatch)).toMatchObject({ status: 200, etag: before.etag });
      expect(await lastNumber()).toBe(number);
      expect(await send('GET', path, undefined, { 'If-None-Match': before.etag })).toMatchObject({ status: 304 });
    },
  );

  test('creates with 201, replaces with 200, and fields that are left out get their defaults', async () => {
    const created = await send('PUT', '/facilities/fac-new', { name: 'New', timeZone: 'Europe/Oslo' });
    expect(created).toMatchObject({ status: 201, body: { id: 'fac-new', name: 'New', timeZone: 'Europe/Oslo' } });
    expect(created.headers.get('location')).toBe(`${management.server.origin}/management/facilities/fac-new`);
    const replaced = await send('PUT', '/facilities/fac-new', { name: 'New' });
    expect(replaced).toMatchObject({ status: 200, body: { timeZone: 'UTC' } });
    expect(replaced.etag).not.toBe(created.etag);

    const profile = { name: 'Ann', email: 'ann@put.example', emailVerified: true, password: 'lampe fenster regal' };
    const account = { id: 'acc-put', ...profile };
    expect(await send('PUT', '/accounts/ann@put.example', account)).toMatchObject({ status: 201 });
    const [{ password_hash: hash }] = await management.server.db('account').where({ id: 'acc-put' });
    expect(await send('PUT', '/accounts/ann@put.example', {})).toMatchObject({
      status: 200,
      body: { id: 'acc-put', username: 'ann@put.example', emailVerified: false, roles: [], memberships: [] },
    });
    const [row] = await management.server.db('account').where({ id: 'acc-put' });
    expect(row).toMatchObject({ name: null, email: null, password_hash: hash });
    expect(await events('account=ann@put.example')).toMatchObject([
      { action: 'account.created', actor: { clientId: 'operator' }, target: 'accounts/ann@put.example' },
      { action: 'account.changed', changed: ['name', 'email', 'emailVerified'] },
    ]);

    const client = { client_secret: 'a-secret', redirect_uris: ['https://c.example/cb'], scope: 'openid email' };
    expect(await send('PUT', '/clients/put', client)).toMatchObject({ status: 201 });
    const { client_secret: _, scope: __, ...others } = client;
    expect(await send('PUT', '/clients/put', others)).toMatchObject({ status: 200, body: { scope: '' } });
    expect(await management.server.db('client_secret').where({ client_id: 'put' })).toHaveLength(1);
  });

  test('If-Match and If-None-Match protect the changes of others', async () => {
    const path = '/facilities/fac-match';
    const noneMatch = { 'If-None-Match': '*' };
    const results = await Promise.all([1, 2, 3, 4].map((n) => send('PUT', path, { name: `N${n}` }, noneMatch)));
    expect(results.map(({ status }) => status).sort()).toEqual([201, 412, 412, 412]);
    const puts = [1, 2, 3, 4].map((n) => send('PUT', '/accounts/race@put.example', { name: `N${n}` }));
    expect((await Promise.all(puts)).map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
    const { etag } = await send('GET', path);
    const ifMatch = { 'If-Match': etag };
    const changes = await Promise.all([1, 2, 3, 4].map((n) => send('PUT', path, { name: `M${n}` }, ifMatch)));
    expect(changes.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
    expect(await send('DELETE', path, undefined, ifMatch)).toMatchObject({ status: 412 });
    const missing = await send('PUT', '/facilities/fac-none', { name: 'N' }, { 'If-Match': '*' });
    expect(missing.status).toBe(412);
    expect(await send('DELETE', path)).toMatchObject({ status: 204 });
    expect(await send('GET', path)).toMatchObject({ status: 404 });
    // The id is never used again.
    const again = await send('PUT', path, { name: 'Again' });
    expect([again.status, fieldsOf(again.body)]).toEqual([409, [['PLACE00002', '/id']]]);
  });

  const pat = { accountId: 'acc-bot-north', client_secret: 's' };
  test.each<[string, unknown, unknown[]]>([
    ['/facilities/f', {}, [['ERR00001', '/name']]],
    ['/accounts/a', { id: 'acc-player', username: 'player@example.com' }, [['ERR00002', '/username']]],
    ['/accounts/player@example.com', { id: 'acc-other' }, [['ERR00002', '/username']]],
    ['/clients/c', { token_endpoint_auth_method: 'client_secret_basic' }, [['ERR00001', '/client_secret']]],
    ['/clients/import', { client_secret: 's' }, [['ERR00002', '/client_id']]],
    ['/clients/__proto__', { client_secret: 's' }, [['ERR00002', '/client_id']]],
    ['/clients/toString', { client_secret: 's' }, [['ERR00002', '/client_id']]],
    ['/clients/Reset-Factors', { client_secret: 's' }, [['ERR00002', '/client_id']]],
    ['/facilities?pageSize=0', undefined, [['ERR00002', '/pageSize']]],
    ['/facilities/f', { id: { toString: 1 }, name: '\u2066F' }, ['/id', '/name'].map((field) => ['ERR00002', field])],
    ...['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-01:00', '2026-02-30T00:00:00Z'].flatMap(
      (time): [string, unknown, unknown[]][] => [
        [`/audit?startDate=${time}`, undefined, [['ERR00002', '/startDate']]],
        ['/clients/c', { ...pat, expiresAt: time }, [['ERR00002', '/expiresAt']]],
      ],
    ),
    ['/clients/c', { jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }] } }, [['ERR00002', '/jwks/keys/0']]],
    ...['accounts?email', 'accounts?facilityId', 'clients?accountId', 'invitations?facilityId', 'audit?action'].map(
      (filter): [string, undefined, unknown[]] => [
        `/${filter}=a%00`,
        undefined,
        [['ERR00002', `/${filter.split('?')[1]}`]],
      ],
    ),
  ])('errors have the envelope and the JSON Pointer of the field: %s %j', async (path, body, problems) => {
    const response = await send(body === undefined ? 'GET' : 'PUT', path, body);
    expect(response.status).toBe(400);
    expect(fieldsOf(response.body)).toEqual(problems);
  });
});

describe('owners', () => {
  const path = '/accounts/owner@north.example';

  test.each([{ memberships: [] }, { memberships: [{ facilityId: 'fac-north', role: 'staff' }] }])(
    'a PUT or DELETE that leaves a facility without an owner is refused: %j',
    async (change) => {
      const { body, etag } = await send('GET', path);
      const errors = [{ code: 'MEMBER00001', contextData: { facilityId: 'fac-north' } }];
      for (const refused of [await send('PUT', path, { ...body, ...change }), await send('DELETE', path)])
        expect(refused).toMatchObject({ status: 409, body: { errors } });
      expect(await send('GET', path)).toMatchObject({ etag });
    },
  );

  test('the id of a deleted account is never used again', async () => {
    await send('PUT', '/accounts/gone@range.example', { id: 'acc-gone', password: 'lampe fenster regal' });
    expect(await send('DELETE', '/accounts/gone@range.example')).toMatchObject({ status: 204 });
    const again = await send('PUT', '/accounts/gone@range.example', { id: 'acc-gone' });
    expect([again.status, fieldsOf(again.body)]).toEqual([400, [['ERR00002', '/id']]]);
    expect(await send('PUT', '/accounts/gone@range.example', {})).toMatchObject({ status: 201 });
    const actions = (await events('account=acc-gone')).map(({ action }) => action);
    expect(actions).toEqual(['account.created', 'account.deleted']);
  });
});

test('lists have pages and filters', async () => {
  const all = await send('GET', '/accounts?pageSize=2&page=2');
  expect(all.body).toMatchObject({ page: 2, pageSize: 2, items: expect.anything(), total: expect.any(Number) });
  const idsOf = async (query: string, key: string) =>
    ((await send('GET', query)).body.items as Record<string, unknown>[]).map((item) => item[key]);
  expect(await idsOf('/accounts?facilityId=fac-north', 'id')).toEqual(['acc-bot-north', 'acc-owner-north']);
  expect(await idsOf('/accounts?facilityId=fac-north&role=owner', 'id')).toEqual(['acc-owner-north']);
  expect(await idsOf('/accounts?facilityId=fac-north&disabled=true', 'id')).toEqual([]);
  expect(await idsOf('/clients?kind=personal-access-token', 'client_id')).toEqual(['demo-pat-north']);
  expect(await idsOf('/clients?accountId=acc-bot-north', 'client_id')).toEqual(['demo-pat-north']);
  expect(await send('GET', '/accounts?disabled=perhaps')).toMatchObject({ status: 400 });
});

test('a PUT cannot make an operator, and cannot take over the key of one', async () => {
  const { body } = await send('GET', '/clients/operator');
  const { client_id: _, ...entry } = body;
  for (const scope of [operateAuth, operateBookings]) {
    const made = await send('PUT', '/clients/second', { ...entry, scope });
    expect([made.status, fieldsOf(made.body)]).toEqual([400, [['ERR00002', '/scope']]]);
    const imported = await send('POST', '/import', { clients: [{ ...entry, scope, client_id: 'second' }] });
    expect([imported.status, fieldsOf(imported.body)]).toEqual([400, [['ERR00002', '/clients/0/scope']]]);
  }
  for (const name of ['name', 'client_name']) {
    expect(await send('PUT', '/clients/operator', { ...entry, [name]: 'Ops' })).toMatchObject({ status: 200 });
    expect(await send('PUT', '/clients/operator', entry)).toMatchObject({ status: 200 });
  }
  const [{ metadata }] = await management.server.db('client').where({ id: 'operator' });
  const jwks = { keys: [{ ...metadata.jwks.keys[0], kid: 'other' }] };
  const stolen = await send('PUT', '/clients/operator', { ...entry, jwks });
  expect([stolen.status, fieldsOf(stolen.body)]).toEqual([403, [['CLIENT00002', '/jwks']]]);
});

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
  const { access_token: token, ...error } = await management.server.token(form);
  return token === undefined ? error : decodeJwt(String(token)).facilities;
};

test('no token names a disabled facility, and its page in the portal shows only a notice', async () => {
  const { body } = await send('GET', '/facilities/fac-north');
  expect(body.disabled).toBe(false);
  expect(await facilitiesOf(patForm)).toEqual(['fac-north']);
  const invited = { email: 'new-owner@north.example' };
  expect(await send('POST', '/facilities/fac-north/owner-invitations', invited)).toMatchObject({ status: 201 });
  const { text } = await management.smtp.mailTo(invited.email, ({ subject }) => subject.startsWith('Become'));
  const link = /http:\S+invitation\?token=[\w-]+/.exec(text)?.[0] ?? '';
  expect(await send('PUT', '/facilities/fac-north', { ...body, disabled: true })).toMatchObject({ status: 200 });
  expect(await facilitiesOf(patForm)).toMatchObject({ error: 'invalid_scope' });
  const browser = openBrowser(management.server);
  const page = await browser.submit('/portal/facilities/fac-north', owner);
  expect(page.html).toContain('North Range is disabled');
  expect(page.html).not.toContain('bot@north.example');
  // Nobody can accept an invitation, be invited, or create or rotate a token.
  const conflict = { status: 409, body: { errors: [{ code: 'FACILITY00001' }] } };
  expect(await send('POST', '/facilities/fac-north/owner-invitations', invited)).toMatchObject(conflict);
  expect(await send('POST', '/clients/demo-pat-north/rotate-secret')).toMatchObject(conflict);
  const token = { accountId: 'acc-bot-north', client_secret: 's' };
  for (const facilities of [{}, { facilities: ['fac-north'] }])
    expect(await send('PUT', '/clients/pat-new', { ...token, ...facilities })).toMatchObject(conflict);
  expect(await browser.open(link)).toMatchObject({ status: 403, title: expect.stringMatching(/^North Range is dis/) });
  const bot = openBrowser(management.server);
  const tokens = await bot.submit('/portal', { username: 'bot@north.example', password: 'demo-bot-pass' });
  expect(tokens.html).toContain('disabled every facility of this account');
  const forgedForm = { csrf: fieldOf(tokens, 'csrf') ?? '', name: 'Till', expiresInDays: '9', facility: 'fac-north' };
  expect(await bot.post('/portal/tokens', forgedForm)).toMatchObject({ status: 409 });
  expect(await bot.open('/portal/tokens/demo-pat-north/rotate')).toMatchObject({ status: 409 });
  expect(await send('PUT', '/facilities/fac-north', body)).toMatchObject({ status: 200 });
  expect(await facilitiesOf(patForm)).toEqual(['fac-north']);
  expect((await browser.open(link)).title).toMatch(/^Invitation to North Range/);
  const history = await browser.open('/portal/facilities/fac-north/history');
  for (const change of ['disabled the facility', 'enabled the facility']) expect(history.html).toContain(change);
});

test('an account shows its second factor, which an operator can reset', async () => {
  const username = await put('factor', { totpSecret });
  const path = `/accounts/${username}`;
  expect((await send('GET', path)).body).toMatchObject({ secondFactor: 'totp', lockedUntil: null, lastSignInAt: null });
  const dry = await send('POST', `${path}/reset-factors?dryRun=true`);
  expect(dry).toMatchObject({ status: 200, body: { action: 'update', errors: [] } });
  expect((await send('GET', path)).body.secondFactor).toBe('totp');
  expect(await send('POST', `${path}/reset-factors`)).toMatchObject({ status: 204 });
  expect((await send('GET', path)).body.secondFactor).toBe('none');
  await management.smtp.mailTo(username, ({ text }) => text.includes('All second factors were removed'));
  const found = (await send('GET', `/accounts?email=${username.toUpperCase()}`)).body.items as { id: string }[];
  expect(found.map(({ id }) => id)).toEqual(['acc-factor']);
  const newest = await events('order=newest&pageSize=1');
  expect(newest).toMatchObject([{ target: `accounts/${username}`, actor: { clientId: 'operator' } }]);
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
    ['DELETE', '/facilities/fac-north'],
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
    // The seconds until a limit ends may differ.
    const errorsOf = ({ body }: typeof real) => JSON.stringify(body.errors ?? []).replace(/\d+ s\./, 'N s.');
    expect([method, path, dry.status, errorsOf(dry)]).toEqual([method, path, 200, errorsOf(real)]);
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
  const other = await startAuthServer();
  await other.load({ accounts } as never);
  for (const code of [codeOf(totpSecret), 'moved-0001']) {
    const browser = openBrowser(other);
    const asked = await browser.submit('/sign-in', { username, password });
    await browser.send(asked, { code });
    const account = await browser.open('/account');
    expect([account.url.pathname, account.html.includes(username)]).toEqual(['/account', true]);
  }
  await other.close();
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

const argon2 = (parameters: string, salt = 'BwcHBwcHBwcHBwcHBwcHBw', hash = 'A'.repeat(43)) =>
  `$argon2id$v=19$${parameters}$${salt}$${hash}`;
const passkey = { id: 'key', name: 'Key', publicKey, transports: [] };

test.each([
  ...['m=0,t=1,p=1', 'm=15,t=1,p=2', 'm=64,t=0,p=1', 'm=064,t=1,p=1'].map((parameters) => argon2(parameters)),
  argon2('m=64,t=1,p=1', 'BwcHBwcHBwcHBwcHBwcHBx'),
  argon2('m=64,t=1,p=1').replace('argon2id', 'argon2i'),
])('the password hash %s is refused', async (passwordHash) => {
  const put = await send('PUT', '/accounts/unusable@record.example', { passwordHash });
  expect([put.status, fieldsOf(put.body)]).toEqual([400, [['ERR00002', '/passwordHash']]]);
});

test.each<[string, object]>([
  ['authenticatorSecretEncrypted', { authenticatorSecretEncrypted: 'garbage' }],
  ['recoveryCodes/salt', { recoveryCodes: { salt: '!!', hashes: [] } }],
  ['recoveryCodes/hashes/0', { recoveryCodes: { salt: 'CAgICAgICAgICAgICAgICA==', hashes: [argon2('m=64,t=1,p=1')] } }],
  ['passkeys/0/publicKey', { passkeys: [{ ...passkey, publicKey: 'A' }] }],
  ['passkeys/0/publicKey', { passkeys: [{ ...passkey, publicKey: 'AQID' }] }],
  ['passkeys/0/transports/0', { passkeys: [{ ...passkey, transports: ['a\0'] }] }],
  ['socialIdentities/0/subject', { socialIdentities: [{ provider: 'p', subject: '\ud800' }] }],
])('credentials that cannot be used are refused: %s %j', async (field, credentials) => {
  const put = await send('PUT', '/accounts/unusable@record.example', { credentials });
  expect([put.status, fieldsOf(put.body)]).toEqual([400, [['ERR00002', `/credentials/${field}`]]]);
});
