// Tests whose webhooks a token finds, and that webhooks end with the rights of their owner (docs/behaviour.md,
// "Webhooks").
import { createHash } from 'node:crypto';
import { query } from '@bay-booking/service/database/database';
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { endWebhookRights } from '../src/webhooks/rights-store.ts';
import { errorCodes } from './support/booking-requests.ts';
import { createTestSystem } from './support/test-system.ts';

const system = useFixture(() => createTestSystem());
const url = 'https://partner.example/hooks';
const both = ['fac-north', 'fac-south'];
const scheduleScope = 'https://bay-booking.example/golf/bookings https://bay-booking.example/golf/schedule';
const nowSeconds = Math.floor(Date.now() / 1000);
let owners = 0;
const newOwner = () => `owner-${++owners}`;

async function register(token: string, body: object = { url }) {
  const response = await system.call('POST', '/api/webhooks', { token, body });
  expect(response.status).toBe(201);
  return { path: `/api/webhooks/${response.body.id}`, id: response.body.id as string };
}

const revocation = (text: string, before: number) => ({
  id: createHash('sha256').update(text).digest('base64url'),
  before,
});
const get = async (path: string, token: string) => (await system.call('GET', path, { token })).body;

test('every token of the owner finds its webhooks, and tokens of other owners of the client do not', async () => {
  const owner = newOwner();
  const { path, id } = await register(await system.token(both, { sub: owner, client_id: 'pat-1' }));
  const newToken = await system.token(both, { sub: owner, client_id: 'pat-2' });
  expect((await get('/api/webhooks', newToken)).items).toMatchObject([{ id }]);
  expect((await system.call('PUT', path, { token: newToken, body: { url, description: '2' } })).status).toBe(200);
  const foreign = await system.token(both, { sub: newOwner(), client_id: 'pat-1' });
  expect((await get('/api/webhooks', foreign)).items).toEqual([]);
  for (const [method, suffix] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/ping'],
    ['POST', '/rotate'],
    ['GET', '/deliveries'],
  ])
    expect((await system.call(method as string, path + suffix, { token: foreign })).status).toBe(404);
});

const addDelivery = `insert into webhook_delivery
  (id, webhook_id, type, facility_id, booking_id, modified, body, next_attempt_at, created_at)
select gen_random_uuid(), $1, 'booking.created', facility_id, gen_random_uuid(), 1, '{}', now(), now()
from unnest($2::text[]) facility_id`;

test('a token sees only its facilities of a webhook, and changes need all of them', async () => {
  const owner = newOwner();
  const all = await system.token(both, { sub: owner });
  const { path, id } = await register(all);
  const token = await system.token(['fac-north'], { sub: owner });
  const partial = { id, facilityIds: ['fac-north'], url: null };
  expect((await get('/api/webhooks', token)).items).toMatchObject([partial]);
  expect(await get(path, token)).toMatchObject(partial);
  expect(await get(path, all)).toMatchObject({ facilityIds: both, url });
  await query(system.db, addDelivery, [id, both]);
  await system.call('POST', `${path}/ping`, { token: all });
  const facilitiesOf = async (by: string) =>
    (await get(`${path}/deliveries`, by)).items.map(({ facilityId }: { facilityId: string }) => facilityId).sort();
  expect(await facilitiesOf(token)).toEqual(['fac-north']);
  expect(await facilitiesOf(all)).toEqual(['fac-north', 'fac-south', null]);
  for (const [method, suffix, body] of [
    ['PUT', '', { url }],
    ['POST', '/rotate', undefined],
    ['POST', '/ping', undefined],
    ['POST', '/replay', { facilityId: 'fac-north', afterChangeNumber: 0 }],
  ] as const) {
    const response = await system.call(method, path + suffix, { token, body });
    expect(errorCodes(response)).toEqual(['ERR00403']);
    expect(response.headers['www-authenticate']).toContain('error="insufficient_scope"');
  }
  const other = await system.token(['fac-east'], { sub: owner });
  expect((await system.call('GET', path, { token: other })).status).toBe(404);
});

test('DELETE takes the facilities of the token out of a webhook, and deletes a webhook that keeps none', async () => {
  const owner = newOwner();
  const all = await system.token(both, { sub: owner });
  const { path } = await register(all);
  const [north, south] = [
    await system.token(['fac-north'], { sub: owner }),
    await system.token(['fac-south'], { sub: owner }),
  ];
  const { etag } = (await system.call('GET', path, { token: north })).headers;
  const remove = (token: string, headers = {}) => system.call('DELETE', path, { token, headers });
  expect((await remove(north, { 'If-Match': '"other"' })).status).toBe(412);
  expect((await remove(north, { 'If-Match': etag })).status).toBe(204);
  expect((await remove(north)).status).toBe(404);
  expect(await get(path, south)).toMatchObject({ facilityIds: ['fac-south'], url });
  expect((await remove(all)).status).toBe(204);
  expect((await system.call('GET', path, { token: all })).status).toBe(404);
});

test('the end of 12,000 deliveries does not delay the request that takes out a facility or deletes the webhook', async () => {
  const owner = newOwner();
  const all = await system.token(both, { sub: owner });
  const { path, id } = await register(all);
  await query(system.db, addDelivery, [id, [...Array(12_000).fill('fac-north'), 'fac-south']]);
  const remaining = async (state: string) =>
    (await query(system.db, 'select from webhook_delivery where webhook_id = $1 and state = $2', [id, state])).length;
  const remove = (token: string) => system.call('DELETE', path, { token });
  expect((await remove(await system.token(['fac-north'], { sub: owner }))).status).toBe(204);
  expect([await remaining('pending'), await remaining('failed')]).toEqual([7_001, 5_000]);
  await system.runWebhookJob('webhook deliveries');
  expect([await remaining('pending'), await remaining('failed')]).toEqual([1, 12_000]);
  expect((await remove(all)).status).toBe(204);
  expect(await remaining('failed')).toBe(12_001);
  await system.runWebhookJob('webhook deliveries');
  expect(await remaining('failed')).toBe(0);
});

test('only the client that registered a webhook rotates its secret and changes its URL', async () => {
  const owner = newOwner();
  const tokenOf = (client: string, grant?: string) =>
    system.token(both, { sub: owner, client_id: client, ...(grant && { grant_id: grant, amr: ['pwd'] }) });
  const put = (path: string, token: string, body: object) => system.call('PUT', path, { token, body });
  const rotate = (path: string, token: string) => system.call('POST', `${path}/rotate`, { token });
  // Users of applications, personal access tokens, and a client that acts for itself.
  const [app, otherApp] = [await tokenOf('app', 'grant-1'), await tokenOf('other', 'grant-2')];
  const [pat, otherPat] = [await tokenOf('pat-1'), await tokenOf('pat-2')];
  const [self, selfGranted] = [await tokenOf(owner), await tokenOf(owner, 'grant-3')];
  for (const [creator, allowed, rejected] of [
    [app, await tokenOf('app', 'grant-4'), [otherApp, pat, self]],
    [pat, otherPat, [app, self, selfGranted, await tokenOf('pat-1', 'grant-5')]],
    [self, self, [app, pat]],
  ] as const) {
    const { path } = await register(creator);
    for (const token of rejected) {
      expect((await put(path, token, { url, state: 'paused' })).status).toBe(200);
      for (const response of [
        await rotate(path, token),
        await put(path, token, { url: `${url}/2`, state: 'active' }),
      ]) {
        expect(errorCodes(response)).toEqual(['ERR00403']);
        expect(JSON.stringify([response.body, response.headers])).not.toContain('insufficient_scope');
        expect(response.body.errors[0].description).toMatch(/^Only (the client|personal access tokens)/);
      }
      expect(await get(path, token)).toMatchObject({ url, state: 'paused' });
    }
    // The changes by other clients have not made them the creator.
    expect((await rotate(path, allowed)).status).toBe(200);
    expect((await put(path, allowed, { url: `${url}/2` })).body).toMatchObject({ url: `${url}/2` });
    await system.call('DELETE', path, { token: creator });
  }
});

test.each([
  ['client', 'the client was revoked, has expired or lost rights'],
  ['grant', 'the grant was ended'],
  ['account', 'the account was disabled'],
])('a webhook is paused when its %s ends, until the owner makes it active with another token', async (kind, reason) => {
  const owner = newOwner();
  const texts: Record<string, string> = {
    client: `client pat ${owner}`,
    grant: `grant grant ${owner}`,
    account: `account ${owner}`,
  };
  const entry = (before: number) => revocation(texts[kind] as string, before);
  const claims = { sub: owner, client_id: `pat ${owner}`, grant_id: `grant ${owner}` };
  const token = await system.token(both, { ...claims, iat: nowSeconds - 100 });
  const { path } = await register(token);
  await endWebhookRights(system.db, [entry(nowSeconds - 100), revocation('client other', nowSeconds)]);
  expect(await get(path, token)).toMatchObject({ state: 'active', pausedBecause: null });
  for (let time = 0; time < 2; time++) await endWebhookRights(system.db, [entry(nowSeconds - 99)]);
  expect(await get(path, token)).toMatchObject({ state: 'paused', pausedBecause: reason });
  const next = await system.token(both, { sub: owner, client_id: 'next', iat: nowSeconds - 50 });
  // A change without `state` does not make it active.
  expect((await system.call('PUT', path, { token: next, body: { url } })).body).toMatchObject({
    pausedBecause: reason,
  });
  const active = await system.call('PUT', path, { token: next, body: { url, state: 'active' } });
  expect(active.body).toMatchObject({ state: 'active', pausedBecause: null });
  await endWebhookRights(system.db, [entry(nowSeconds - 99)]);
  expect(await get(path, next)).toMatchObject({ state: 'active', pausedBecause: null });
});

test.each([
  ['owner', (owner: string) => `access ${owner}`],
  ['personal access token', (owner: string) => `client-access pat ${owner}`],
])('when the %s loses a facility, its webhooks lose the facility and its waiting events', async (_, right) => {
  const owner = newOwner();
  const token = await system.token(both, { sub: owner, client_id: `pat ${owner}`, iat: nowSeconds - 100 });
  const { path, id } = await register(token);
  const onlyNorth = await register(token, { url, facilityIds: ['fac-north'] });
  await query(system.db, addDelivery, [id, both]);
  const others = Array.from({ length: 5_000 }, (_, number) => revocation(`access ${owner} ${number}`, nowSeconds));
  const startedAt = performance.now();
  await endWebhookRights(system.db, [...others, revocation(`${right(owner)} fac-north`, nowSeconds)]);
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  expect(await get(path, token)).toMatchObject({ state: 'active', facilityIds: ['fac-south'] });
  const { items } = await get(`${path}/deliveries?state=pending`, token);
  expect(items).toMatchObject([{ facilityId: 'fac-south' }]);
  expect((await system.call('GET', onlyNorth.path, { token })).status).toBe(404);
  const cursors = await query(system.db, 'select facility_id from webhook_cursor where webhook_id = $1', [id]);
  expect(cursors).toEqual([{ facility_id: 'fac-south' }]);
});

test('staff list the webhooks of a facility, and take the facility out of one', async () => {
  const owner = newOwner();
  const scope = 'https://bay-booking.example/golf/bookings';
  const token = await system.token(['fac-north', 'fac-east'], { sub: owner, client_id: 'partner', scope });
  const { path, id } = await register(token);
  const staff = await system.token(['fac-east'], { sub: newOwner(), scope: scheduleScope });
  const list = () => get('/api/facilities/fac-east/webhooks', staff);
  expect((await list()).items).toEqual([
    {
      id,
      url,
      owner,
      clientId: 'partner',
      facilityIds: ['fac-east'],
      state: 'active',
      lastSuccessAt: null,
      createdAt: expect.any(String),
    },
  ]);
  const remove = (facility: string, by: string) =>
    system.call('DELETE', `/api/facilities/${facility}/webhooks/${id}`, { token: by });
  expect(errorCodes(await remove('fac-east', token))).toEqual(['ERR00403']);
  expect((await system.call('GET', '/api/facilities/fac-east/webhooks', { token })).status).toBe(403);
  expect((await remove('fac-north', staff)).status).toBe(404);
  expect((await remove('fac-east', staff)).status).toBe(204);
  expect((await remove('fac-east', staff)).status).toBe(404);
  expect((await list()).items).toEqual([]);
  expect(await get(path, token)).toMatchObject({ facilityIds: ['fac-north'] });
});
