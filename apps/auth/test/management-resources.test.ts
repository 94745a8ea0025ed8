// Tests the resources of the management API: facilities, accounts and clients.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { scopeBase, scopes } from './auth-server.ts';
import { demoDocument } from './demo-document.ts';
import { operateAuth, operateBookings, startManagementServer } from './management-client.ts';

const management = useFixture(() => startManagementServer());
const { send, events } = {
  send: (...args: Parameters<typeof management.send>) => management.send(...args),
  events: (query?: string) => management.events(query),
};
const lastNumber = async (): Promise<number> => Number((await send('GET', '/audit?pageSize=1000')).body.last);
const fieldsOf = (body: Record<string, unknown>) =>
  (body.errors as { code: string; contextData: { field?: string } }[]).map(({ code, contextData }) => [
    code,
    contextData.field,
  ]);

const { facilities = [], accounts = [], clients = [] } = demoDocument(scopes);
const entries: [path: string, entry: Record<string, unknown>][] = [
  ...facilities.map((entry) => [`/facilities/${entry.id}`, { ...entry }] as [string, Record<string, unknown>]),
  ...accounts.map(
    (entry) => [`/accounts/${encodeURIComponent(entry.username)}`, { ...entry }] as [string, Record<string, unknown>],
  ),
  ...clients.map((entry) => [`/clients/${entry.client_id}`, entry] as [string, Record<string, unknown>]),
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
      expect(await send('PUT', path, before.body)).toMatchObject({ status: 200, etag: before.etag });
      expect(await lastNumber()).toBe(number);
      expect(await send('GET', path, undefined, { 'If-None-Match': before.etag })).toMatchObject({ status: 304 });
    },
  );

  test('the import file of the demo changes nothing, entry by entry and as a whole', async () => {
    const file = readFileSync(join(import.meta.dirname, '../../../packages/local/demo/auth.json'), 'utf8');
    const demo = JSON.parse(
      file.replaceAll('{scope_base}', scopeBase).replaceAll('{bookings_url}', 'http://localhost:4001'),
    );
    const fresh = await startManagementServer();
    await fresh.server.load(demo);
    const { last } = (await fresh.send('GET', '/audit?pageSize=1000')).body;
    for (const [section, key] of [
      ['facilities', 'id'],
      ['accounts', 'username'],
      ['clients', 'client_id'],
    ] as const) {
      for (const entry of demo[section]) {
        const path = `/${section}/${encodeURIComponent(entry[key])}`;
        const { etag } = await fresh.send('GET', path);
        expect(await fresh.send('PUT', path, entry)).toMatchObject({ status: 200, etag });
      }
    }
    const { body } = await fresh.send('POST', '/import', demo);
    expect(new Set((body.entries as { action: string }[]).map(({ action }) => action))).toEqual(new Set(['unchanged']));
    expect((await fresh.send('GET', '/audit?pageSize=1000')).body.last).toBe(last);
    await fresh.close();
  });

  test('creates with 201, replaces with 200, and fields that are left out get their defaults', async () => {
    const created = await send('PUT', '/facilities/fac-new', { name: 'New', timeZone: 'Europe/Oslo' });
    expect(created).toMatchObject({ status: 201, body: { id: 'fac-new', name: 'New', timeZone: 'Europe/Oslo' } });
    expect(created.headers.get('location')).toBe(`${management.server.origin}/management/facilities/fac-new`);
    const replaced = await send('PUT', '/facilities/fac-new', { name: 'New' });
    expect(replaced).toMatchObject({ status: 200, body: { timeZone: 'UTC' } });
    expect(replaced.etag).not.toBe(created.etag);

    const account = {
      id: 'acc-put',
      name: 'Ann',
      email: 'ann@put.example',
      emailVerified: true,
      password: 'lampe fenster regal',
    };
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
    const { etag } = await send('GET', path);
    const ifMatch = { 'If-Match': etag };
    const changes = await Promise.all([1, 2, 3, 4].map((n) => send('PUT', path, { name: `M${n}` }, ifMatch)));
    expect(changes.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
    expect(await send('DELETE', path, undefined, ifMatch)).toMatchObject({ status: 412 });
    expect(await send('PUT', '/facilities/fac-none', { name: 'N' }, { 'If-Match': '*' })).toMatchObject({
      status: 412,
    });
    expect(await send('DELETE', path)).toMatchObject({ status: 204 });
    expect(await send('GET', path)).toMatchObject({ status: 404 });
  });

  test.each<[string, unknown, unknown[]]>([
    ['/facilities/f', {}, [['ERR00001', '/name']]],
    [
      '/facilities/f',
      { name: 'F', zone: 'UTC', timeZone: 'Mars' },
      [
        ['ERR00002', '/zone'],
        ['ERR00002', '/timeZone'],
      ],
    ],
    ['/facilities/f', { id: 'g', name: 'F' }, [['ERR00002', '/id']]],
    ['/facilities/f', [], [['ERR00003', undefined]]],
    ['/facilities/f', '{', [['ERR00003', undefined]]],
    ['/accounts/player@example.com', '', [['ERR00003', undefined]]],
    [
      '/accounts/a',
      { memberships: [{ facilityId: 'fac-none', role: 'owner' }] },
      [['ERR00002', '/memberships/0/facilityId']],
    ],
    ['/accounts/a', { id: 'acc-player', username: 'player@example.com' }, [['ERR00002', '/username']]],
    ['/accounts/player@example.com', { id: 'acc-other' }, [['ERR00002', '/username']]],
    ['/clients/c', { redirect_uris: ['https://c.example/cb#x'], client_secret: 's' }, [['ERR00002', '/redirect_uris']]],
    ['/clients/c', { token_endpoint_auth_method: 'client_secret_basic' }, [['ERR00001', '/client_secret']]],
    ['/clients/import', { client_secret: 's' }, [['ERR00002', '/client_id']]],
    ['/clients/__proto__', { client_secret: 's' }, [['ERR00002', '/client_id']]],
    ['/clients/toString', { client_secret: 's' }, [['ERR00002', '/client_id']]],
    ['/clients/Reset-Factors', { client_secret: 's' }, [['ERR00002', '/client_id']]],
    ['/facilities?pageSize=0', undefined, [['ERR00002', '/pageSize']]],
    ['/facilities/f', { name: 'a\ud800' }, [['ERR00002', '/name']]],
    ['/facilities/f', { id: { toString: 1 }, name: '\u2066F' }, ['/id', '/name'].map((field) => ['ERR00002', field])],
    [
      '/clients/c',
      { client_name: '\u202ec', jwks: { keys: [{ kty: '\ud800' }] }, client_secret: 's' },
      ['/client_name', '/jwks/keys/0/kty'].map((field) => ['ERR00002', field]),
    ],
    ...['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-01:00', '2026-02-30T00:00:00Z'].flatMap(
      (time): [string, unknown, unknown[]][] => [
        [
          `/audit?startDate=${time}&endDate=${time}`,
          undefined,
          ['/startDate', '/endDate'].map((field) => ['ERR00002', field]),
        ],
        [
          '/clients/c',
          { accountId: 'acc-bot-north', client_secret: 's', expiresAt: time },
          [['ERR00002', '/expiresAt']],
        ],
      ],
    ),
    ['/clients/c', { jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }] } }, [['ERR00002', '/jwks/keys/0']]],
    ...['accounts?email', 'accounts?facilityId', 'clients?accountId', 'invitations?facilityId', 'audit?action'].map(
      (filter): [string, unknown, unknown[]] => [
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
      for (const refused of [await send('PUT', path, { ...body, ...change }), await send('DELETE', path)]) {
        expect(refused).toMatchObject({
          status: 409,
          body: { errors: [{ code: 'MEMBER00001', contextData: { facilityId: 'fac-north' } }] },
        });
      }
      expect(await send('GET', path)).toMatchObject({ etag });
    },
  );

  test('of two parallel requests that each remove an owner, one is refused', async () => {
    const memberships = [{ facilityId: 'fac-pair', role: 'owner' }];
    await send('PUT', '/facilities/fac-pair', { name: 'Pair' });
    for (const name of ['one', 'two']) await send('PUT', `/accounts/${name}@pair.example`, { memberships });
    const removals = await Promise.all(['one', 'two'].map((name) => send('DELETE', `/accounts/${name}@pair.example`)));
    expect(removals.map(({ status }) => status).sort()).toEqual([204, 409]);
    expect(await send('DELETE', '/facilities/fac-pair')).toMatchObject({
      status: 409,
      body: { errors: [{ code: 'MEMBER00002' }] },
    });
  });

  test('the id of a deleted account is never used again', async () => {
    await send('PUT', '/accounts/gone@range.example', { id: 'acc-gone', password: 'lampe fenster regal' });
    expect(await send('DELETE', '/accounts/gone@range.example')).toMatchObject({ status: 204 });
    const again = await send('PUT', '/accounts/gone@range.example', { id: 'acc-gone' });
    expect([again.status, fieldsOf(again.body)]).toEqual([400, [['ERR00002', '/id']]]);
    expect(await send('PUT', '/accounts/gone@range.example', {})).toMatchObject({ status: 201 });
    expect((await events('account=acc-gone')).map(({ action }) => action)).toEqual([
      'account.created',
      'account.deleted',
    ]);
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

test('an import takes less time than a PUT of each of its records', async () => {
  const start = performance.now();
  for (let n = 0; n < 50; n++) await send('PUT', `/facilities/fac-${n}`, { name: `Facility ${n}` });
  const byPut = performance.now() - start;
  const body = { facilities: Array.from({ length: 500 }, (_, n) => ({ id: `fac-many-${n}`, name: `Facility ${n}` })) };
  expect(await send('POST', '/import', body)).toMatchObject({ status: 200 });
  const byImport = performance.now() - start - byPut;
  expect(byImport / 500).toBeLessThan(byPut / 50);
});
