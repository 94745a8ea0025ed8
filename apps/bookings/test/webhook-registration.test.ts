// Tests the registration of webhooks and changes to them (docs/behaviour.md, "Webhooks").
import { query } from '@bay-booking/service/database/database';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { errorCodes } from './support/booking-requests.ts';
import { createTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
beforeAll(async () => {
  system = await createTestSystem();
});
afterAll(() => system.close());

const url = 'https://partner.example/hooks';
const addressOfLength = (length: number): string => 'https://partner.example/'.padEnd(length, 'x');
let owners = 0;
/** Creates a token, by default for an owner that has no webhook yet. */
const createToken = (facilities: readonly string[] = ['fac-north', 'fac-south'], owner = `owner-${++owners}`) =>
  system.token(facilities, { sub: owner });
const register = (token: string, body: object = { url }, headers = {}) =>
  system.call('POST', '/api/webhooks', { token, body, headers });

test('a registration returns 201 with Location, secret and defaults', async () => {
  const token = await createToken();
  const { status, body, headers } = await register(token);
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

test('the repeated response to the same Idempotency-Key contains the secret', async () => {
  const token = await createToken();
  const first = await register(token, { url }, { 'Idempotency-Key': 'k' });
  const second = await register(token, { url }, { 'Idempotency-Key': 'k' });
  expect(second.status).toBe(201);
  expect(second.body).toEqual(first.body);
  expect(first.headers['idempotency-replayed']).toBeUndefined();
  expect(second.headers['idempotency-replayed']).toBe('true');
  expect((await system.call('GET', '/api/webhooks', { token })).body.total).toBe(1);
  expect((await register(token, { url: `${url}/2` }, { 'Idempotency-Key': 'k' })).status).toBe(422);
});

test.each([
  ['no URL', {}, 'ERR00001'],
  ['an http URL', { url: 'http://partner.example' }, 'ERR00002'],
  ['user information in the address', { url: 'https://user:secret@partner.example' }, 'ERR00002'],
  ['a loopback address', { url: 'https://127.0.0.1/' }, 'ERR00002'],
  ['a decimal loopback address', { url: 'https://2130706433/' }, 'ERR00002'],
  ['an octal loopback address', { url: 'https://0177.0.0.1/' }, 'ERR00002'],
  ['an IPv4-mapped loopback address', { url: 'https://[::ffff:127.0.0.1]/' }, 'ERR00002'],
  ['a NAT64 address of loopback', { url: 'https://[64:ff9b::7f00:1]/' }, 'ERR00002'],
  ['a 6to4 address of loopback', { url: 'https://[2002:7f00:1::]/' }, 'ERR00002'],
  ['a private address', { url: 'https://10.0.0.1/' }, 'ERR00002'],
  ['a link-local address', { url: 'https://169.254.169.254/' }, 'ERR00002'],
  ['another protocol', { url: 'ftp://partner.example' }, 'ERR00002'],
  ['a URL of 2049 characters', { url: addressOfLength(2049) }, 'ERR00002'],
  ['no event', { url, events: [] }, 'ERR00002'],
  ['an event that cannot be chosen', { url, events: ['webhook.ping'] }, 'ERR00002'],
  ['no facility', { url, facilityIds: [] }, 'ERR00002'],
  ['a facility that the token does not name', { url, facilityIds: ['fac-east'] }, 'ERR00002'],
])('a registration with %s returns 400', async (_title, body, code) => {
  const response = await register(await createToken(), body);
  expect(response.status).toBe(400);
  expect(errorCodes(response)).toEqual([code]);
});

test('an address of 2048 characters is accepted', async () => {
  expect((await register(await createToken(), { url: addressOfLength(2048) })).status).toBe(201);
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
  const paused = await system.call('PUT', path, { token, body: { url: `${url}/2`, state: 'paused' } });
  expect(paused.status).toBe(200);
  expect(paused.body).toMatchObject({
    url: `${url}/2`,
    events: ['booking.deleted'],
    facilityIds: ['fac-north', 'fac-south'],
    description: 'Till',
    state: 'paused',
  });
  const active = await system.call('PUT', path, { token, body: { url, facilityIds: ['fac-south'], state: 'active' } });
  expect(active.body).toMatchObject({ url, facilityIds: ['fac-south'], state: 'active' });
  expect(errorCodes(await system.call('PUT', path, { token, body: {} }))).toEqual(['ERR00001']);
  // Only the service itself disables a webhook.
  expect(errorCodes(await system.call('PUT', path, { token, body: { url, state: 'disabled' } }))).toEqual(['ERR00002']);
});

test('a webhook has an ETag: If-None-Match returns 304, and If-Match returns 412 after a change', async () => {
  const token = await createToken();
  const { body, headers } = await register(token);
  const path = `/api/webhooks/${body.id}`;
  const etag = headers.etag as string;
  expect(etag).toMatch(/^"/);
  const found = await system.call('GET', path, { token, headers: { 'If-None-Match': etag } });
  expect(found.status).toBe(304);
  const change = { token, headers: { 'If-Match': etag }, body: { url, state: 'paused' } };
  const changed = await system.call('PUT', path, change);
  expect(changed.status).toBe(200);
  expect(changed.headers.etag).not.toBe(etag);
  expect((await system.call('PUT', path, change)).status).toBe(412);
  expect((await system.call('DELETE', path, { token, headers: { 'If-Match': etag } })).status).toBe(412);
  const current = { token, headers: { 'If-Match': changed.headers.etag as string } };
  expect((await system.call('DELETE', path, current)).status).toBe(204);
});

test('of ten concurrent updates with the same If-Match, exactly one succeeds', async () => {
  const token = await createToken();
  const { body, headers } = await register(token);
  const changes = Array.from({ length: 10 }, (_, number) =>
    system.call('PUT', `/api/webhooks/${body.id}`, {
      token,
      headers: { 'If-Match': headers.etag as string },
      body: { url: `${url}/${number}` },
    }),
  );
  const statuses = (await Promise.all(changes)).map(({ status }) => status).sort();
  expect(statuses).toEqual([200, ...Array(9).fill(412)]);
});

test('rotation returns a new secret, and DELETE removes the webhook', async () => {
  const token = await createToken();
  const { body } = await register(token);
  const path = `/api/webhooks/${body.id}`;
  const rotated = await system.call('POST', `${path}/rotate`, { token });
  expect(rotated.status).toBe(200);
  expect(rotated.body.secret).toMatch(/^whsec_/);
  expect(rotated.body.secret).not.toBe(body.secret);
  expect((await system.call('DELETE', path, { token })).status).toBe(204);
  expect((await system.call('GET', path, { token })).status).toBe(404);
});

// The test system delivers no events by default, so every stored ping stays pending.
test('while 100 pings of a webhook wait, a further ping returns 202 and is not stored', async () => {
  const { body: webhook } = await system.call('POST', '/api/webhooks', { body: { url } });
  for (let count = 0; count < 105; count += 1) {
    expect((await system.call('POST', `/api/webhooks/${webhook.id}/ping`)).status).toBe(202);
  }
  const { body } = await system.call('GET', `/api/webhooks/${webhook.id}/deliveries?state=pending`);
  expect(body.total).toBe(100);
  await system.call('DELETE', `/api/webhooks/${webhook.id}`);
});
