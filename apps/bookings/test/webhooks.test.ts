// Tests the registration of webhooks, their owners and rights, and the limits of replays (docs/behaviour.md,
// "Webhooks").
import { createHash } from 'node:crypto';
import { query } from '@bay-booking/service/database/database';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { endWebhookRights } from '../src/webhooks/rights-store.ts';
import { errorCodes, pluck } from './support/booking-requests.ts';
import { useTestSystem } from './support/test-system.ts';

/** How far the clock of the service is ahead of the real time. */
let clockAheadMs = 0;
const system = useTestSystem({ now: () => new Date(Date.now() + clockAheadMs) });
const url = 'https://partner.example/hooks';

describe('registration', () => {
  const addressOfLength = (length: number): string => 'https://partner.example/'.padEnd(length, 'x');
  let owners = 0;
  /** Creates a token, by default for an owner that has no webhook yet. */
  const createToken = (facilities: readonly string[] = ['fac-north', 'fac-south'], owner = `owner-${++owners}`) =>
    system.token(facilities, { sub: owner });
  const register = (token: string, body: object = { url }, headers = {}) =>
    system.call('POST', '/api/webhooks', { token, body, headers });

  test('a registration returns 201 with Location, secret and defaults, also for a URL of 2048 characters', async () => {
    const token = await createToken();
    const url = addressOfLength(2048);
    const { status, body, headers } = await register(token, { url });
    expect(status).toBe(201);
    expect(headers.location).toBe(body._links.self.href);
    expect(body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(body).toMatchObject({
      url,
      events: ['booking.created', 'booking.updated', 'booking.deleted'],
      facilityIds: ['fac-north', 'fac-south'],
      description: null,
      state: 'active',
      pausedBecause: null,
      failingSince: null,
    });
    expect(Object.keys(body._links)).toEqual(['self', 'edit', 'delete', 'rotate', 'ping', 'replay', 'deliveries']);
    const { secret: _secret, ...webhook } = body;
    expect((await system.call('GET', `/api/webhooks/${body.id}`, { token })).body).toEqual(webhook);
    expect((await system.call('GET', '/api/webhooks', { token })).body.items).toEqual([webhook]);
  });

  test('secrets are encrypted in the database, also those of stored responses', async () => {
    const { body } = await register(await createToken(), { url }, { 'Idempotency-Key': 'encrypted' });
    const rows = [
      ...(await query<{ text: string }>(system.db, 'select secret as text from webhook')),
      ...(await query<{ text: string }>(system.db, 'select answer as text from idempotency_key')),
    ];
    expect(rows.length).toBeGreaterThan(1);
    for (const { text } of rows) expect(text).not.toContain(body.secret.slice('whsec_'.length));
  });

  test('a rotation that is repeated with its Idempotency-Key keeps the secret', async () => {
    const token = await createToken();
    const { body } = await register(token);
    const path = `/api/webhooks/${body.id}`;
    const rotate = (key: string) =>
      system.call('POST', `${path}/rotate`, { token, headers: { 'Idempotency-Key': key } });
    const first = await rotate('once');
    const repeated = await rotate('once');
    expect([repeated.status, repeated.body]).toEqual([200, first.body]);
    const { secret, ...webhook } = (await rotate('twice')).body;
    expect([body.secret, first.body.secret]).not.toContain(secret);
    expect((await system.call('GET', path, { token })).body).toEqual(webhook);
  });

  // packages/service/test/outbound.test.ts has the other addresses.
  test.each([
    ['no URL', {}, 'ERR00001'],
    ['an http URL', { url: 'http://partner.example' }, 'ERR00002'],
    ['a loopback address', { url: 'https://127.0.0.1/' }, 'ERR00002'],
    ['a link-local address', { url: 'https://169.254.169.254/' }, 'ERR00002'],
    ['a URL of 2049 characters', { url: addressOfLength(2049) }, 'ERR00002'],
    ['no event', { url, events: [] }, 'ERR00002'],
    ['an event that cannot be chosen', { url, events: ['webhook.ping'] }, 'ERR00002'],
    ['no facility', { url, facilityIds: [] }, 'ERR00002'],
    ['a facility that the token does not name', { url, facilityIds: ['fac-east'] }, 'ERR00002'],
  ])('a registration with %s returns 400', async (_title, body, code) => {
    expect(errorCodes(await register(await createToken(), body))).toEqual([code]);
  });

  test('of 24 concurrent registrations of one owner, 20 succeed and 4 return HOOK00001', async () => {
    const owner = `owner-${++owners}`;
    const token = await createToken(['fac-north', 'fac-south'], owner);
    const responses = await Promise.all(Array.from({ length: 24 }, () => register(token)));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(20);
    for (const response of responses.filter(({ status }) => status !== 201))
      expect(errorCodes(response)).toEqual(['HOOK00001']);
  });

  test('only the facility of the limit counts, also for a webhook that another facility is added to', async () => {
    const owner = `owner-${++owners}`;
    const token = await createToken(['fac-north', 'fac-south'], owner);
    await Promise.all(Array.from({ length: 20 }, () => register(token, { url, facilityIds: ['fac-north'] })));
    expect(errorCodes(await register(token))).toEqual(['HOOK00001']);
    const { status, body } = await register(token, { url, facilityIds: ['fac-south'] });
    expect(status).toBe(201);
    const change = { token, body: { url, facilityIds: ['fac-north', 'fac-south'] } };
    const changed = await system.call('PUT', `/api/webhooks/${body.id}`, change);
    expect(errorCodes(changed)).toEqual(['HOOK00001']);
    expect(changed.body.errors[0].moreInfo).toBe('at most 20 webhooks at a facility: fac-north');
  });

  test('PUT keeps fields that are left out, and can pause and activate a webhook', async () => {
    const token = await createToken();
    const { body } = await register(token, { url, events: ['booking.deleted'], description: 'Till' });
    const path = `/api/webhooks/${body.id}`;
    const put = (body: object) => system.call('PUT', path, { token, body });
    const paused = await put({ url: `${url}/2`, state: 'paused' });
    expect(paused.status).toBe(200);
    expect(paused.body).toMatchObject({
      url: `${url}/2`,
      events: ['booking.deleted'],
      facilityIds: ['fac-north', 'fac-south'],
      description: 'Till',
      state: 'paused',
    });
    const change = { url, facilityIds: ['fac-south'], state: 'active' };
    expect((await put(change)).body).toMatchObject(change);
    expect(errorCodes(await put({}))).toEqual(['ERR00001']);
    // Only the service itself disables a webhook.
    expect(errorCodes(await put({ url, state: 'disabled' }))).toEqual(['ERR00002']);
  });

  test('a webhook has an ETag: If-None-Match returns 304, and of ten updates with the same If-Match one succeeds', async () => {
    const token = await createToken();
    const { body, headers } = await register(token);
    const path = `/api/webhooks/${body.id}`;
    const etag = headers.etag as string;
    expect(etag).toMatch(/^"/);
    const found = await system.call('GET', path, { token, headers: { 'If-None-Match': etag } });
    expect(found.status).toBe(304);
    const change = { token, headers: { 'If-Match': etag }, body: { url, state: 'paused' } };
    const changes = await Promise.all(Array.from({ length: 10 }, () => system.call('PUT', path, change)));
    expect(pluck(changes, 'status').sort()).toEqual([200, ...Array(9).fill(412)]);
    const changed = await system.call('GET', path, { token });
    expect(changed.headers.etag).not.toBe(etag);
    expect((await system.call('DELETE', path, { token, headers: { 'If-Match': etag } })).status).toBe(412);
    const current = { token, headers: { 'If-Match': changed.headers.etag as string } };
    expect((await system.call('DELETE', path, current)).status).toBe(204);
  });

  // The test system delivers no events by default, so every stored ping stays pending.
  test('while 100 pings of a webhook wait, a further ping returns 202 and is not stored', async () => {
    const { body: webhook } = await system.call('POST', '/api/webhooks', { body: { url } });
    for (let count = 0; count < 105; count += 1)
      expect((await system.call('POST', `/api/webhooks/${webhook.id}/ping`)).status).toBe(202);
    const { body } = await system.call('GET', `/api/webhooks/${webhook.id}/deliveries?state=pending`);
    expect(body.total).toBe(100);
    await system.call('DELETE', `/api/webhooks/${webhook.id}`);
  });
});

describe('owners and rights', () => {
  const both = ['fac-north', 'fac-south'];
  const scheduleScope = 'https://bay-booking.example/golf/bookings https://bay-booking.example/golf/schedule';
  const nowSeconds = Math.floor(Date.now() / 1000);
  let owners = 0;
  const newOwner = () => `member-${++owners}`;

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
    const facilitiesOf = async (by: string) => pluck((await get(`${path}/deliveries`, by)).items, 'facilityId').sort();
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
    const [north = '', south = ''] = await Promise.all(both.map((id) => system.token([id], { sub: owner })));
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
  ])(
    'a webhook is paused when its %s ends, until the owner makes it active with another token',
    async (kind, reason) => {
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
    },
  );

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
    await endWebhookRights(system.db, [...others, revocation(`${right(owner)} fac-north`, nowSeconds)]);
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
});

describe('replays', () => {
  beforeAll(async () => {
    // 12,000 bookings. Only their changes matter here. The first 1,000 came to the facility long before the last
    // change.
    await query(
      system.db,
      `insert into booking_change (facility_id, booking_id, version, number, first_number, latest, at, action, after)
    select 'fac-north', gen_random_uuid(), 1, n, case when n > 11000 then n - 11000 else n end, true, now(), 'created', '{}'
    from generate_series(1, 12000) n`,
    );
    await query(system.db, "update facility set change_number = 12000 where id = 'fac-north'");
  });

  async function register(events = ['booking.created', 'booking.updated', 'booking.deleted']): Promise<string> {
    const body = { url, events, facilityIds: ['fac-north'] };
    return (await system.call('POST', '/api/webhooks', { body })).body.id;
  }

  const replay = (id: string, afterChangeNumber: number) =>
    system.call('POST', `/api/webhooks/${id}/replay`, { body: { facilityId: 'fac-north', afterChangeNumber } });

  test('a replay sends 10,000 events, and the next one continues an hour later', async () => {
    const id = await register();
    expect((await replay(id, 0)).body).toEqual({ events: 10_000, next: 10_000 });
    const early = await replay(id, 10_000);
    expect(early.status).toBe(429);
    expect(Number(early.headers['retry-after'])).toBeGreaterThan(3_500);
    expect(Number(early.headers['retry-after'])).toBeLessThanOrEqual(3_600);
    // A replay without events is possible, and another webhook has its own limit.
    expect((await replay(id, 12_000)).body).toEqual({ events: 0, next: null });
    expect((await replay(await register(), 11_000)).body).toEqual({ events: 1_000, next: null });
    clockAheadMs += Number(early.headers['retry-after']) * 1000;
    expect((await replay(id, 10_000)).body).toEqual({ events: 2_000, next: null });
  });

  test('of ten concurrent replays of 2,000 events, five are accepted', async () => {
    const id = await register();
    const responses = await Promise.all(Array.from({ length: 10 }, () => replay(id, 10_000)));
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(5).fill(202), ...Array(5).fill(429)]);
  });

  test('sending a delivery again counts as an event of a replay', async () => {
    const id = await register();
    await system.call('POST', `/api/webhooks/${id}/ping`);
    const [{ id: delivery }] = (await system.call('GET', `/api/webhooks/${id}/deliveries`)).body.items;
    const resend = () => system.call('POST', `/api/webhooks/${id}/deliveries/${delivery}/resend`);
    const since = new Date(Date.now() + clockAheadMs).toISOString();
    await query(system.db, 'update webhook set replayed_events = 9999, replay_since = $2 where id = $1', [id, since]);
    expect((await resend()).status).toBe(202);
    const rejected = await resend();
    expect(rejected.status).toBe(429);
    expect(Number(rejected.headers['retry-after'])).toBeGreaterThan(3_500);
  });

  test('a replay does not send the changes between it and an earlier replay that waits', async () => {
    const id = await register();
    await system.db('webhook_cursor').where('webhook_id', id).update({ replay_number: 100, replay_until: 200 });
    const { status, headers } = await replay(id, 11_000);
    expect([status, headers['retry-after']]).toEqual([429, '60']);
    expect(await system.db('webhook').where('id', id).pluck('replayed_events')).toEqual([0]);
  });

  test('only events of the selected types count, and a replay that continues another one has its types', async () => {
    expect((await replay(await register(['booking.updated']), 0)).body).toEqual({ events: 0, next: 10_000 });
    expect((await replay(await register(['booking.created']), 10_000)).body).toEqual({ events: 1_000, next: null });
    expect((await replay(await register(['booking.updated']), 10_000)).body).toEqual({ events: 1_000, next: null });
    const id = await register(['booking.created']);
    expect((await replay(id, 0)).body).toEqual({ events: 10_000, next: 10_000 });
    clockAheadMs += 3_600_000;
    expect((await replay(id, 10_000)).body).toEqual({ events: 2_000, next: null });
  });
});
