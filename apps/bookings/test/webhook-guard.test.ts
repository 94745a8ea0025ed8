// Tests that deliveries never connect to forbidden addresses or wait for ever, that the webhooks of one owner do not
// delay those of another one, that no secret is lost when the operator rotates WEBHOOK_KEY, and that the example of
// docs/api.md reads the events.
import { query } from '@bay-booking/service/database/database';
import { useFixture } from '@bay-booking/testkit/fixture';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { read } from '@bay-booking/testkit/repository';
import { eventually } from '@bay-booking/testkit/wait';
import { startWebhookReceiver, verifySignature, type WebhookReceiver } from '@bay-booking/testkit/webhook-receiver';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { Response } from 'supertest';
import { bookingBody, pluck } from './support/booking-requests.ts';
import { closeExtraSystems, createExtraSystem, type TestSystem, useTestSystem } from './support/test-system.ts';

const system = useTestSystem({ webhooks: { deliver: true, allowNetworks: ['127.0.0.0/8'] } });

// packages/service/test/outbound.test.ts has the other addresses, and the limits of the time of an attempt.
describe('an address that became forbidden', () => {
  const system = useTestSystem({ webhooks: { deliver: true } });
  let connections = 0;
  const receiver = useFixture(async () => {
    const started = await serveHttp();
    started.server.on('connection', () => void connections++);
    return started;
  });

  test.each(['https://127.0.0.1', 'https://localhost', 'http://127.0.0.1'])(
    'the service does not connect to %s, and the attempt fails',
    async (origin) => {
      const webhook = { url: 'https://partner.example/hook' };
      const { id } = (await system.call('POST', '/api/webhooks', { body: webhook })).body;
      // The service would reject this address, but it could have accepted it with an older configuration.
      const url = `${origin}:${receiver.port}/`;
      await query(system.db, 'update webhook set url = $2 where id = $1', [id, url]);
      await system.call('POST', `/api/webhooks/${id}/ping`);
      const read = async () => (await system.call('GET', `/api/webhooks/${id}/deliveries`)).body.items[0];
      const delivery = await eventually(read, ({ attempts }) => attempts === 1);
      expect(delivery).toMatchObject({ state: 'pending', lastStatus: null, lastError: 'address not allowed' });
      expect(connections).toBe(0);
    },
  );
});

describe('fairness', () => {
  const facilities = ['fac-north', 'fac-south', 'fac-east'];
  const receivers: WebhookReceiver[] = [];
  afterAll(() => Promise.all(receivers.map((receiver) => receiver.close())));

  async function startReceiver(): Promise<WebhookReceiver> {
    const receiver = await startWebhookReceiver();
    receivers.push(receiver);
    return receiver;
  }

  test('the events of an owner do not wait for 60 webhooks of another owner that never answer', async () => {
    const slow = await startReceiver();
    slow.respondWith(() => {});
    const slowOwner = await system.token(facilities, { sub: 'slow-owner' });
    const call = (method: string, path: string, body?: object) => system.call(method, path, { token: slowOwner, body });
    for (const facilityId of facilities) {
      const webhook = { url: slow.url, facilityIds: [facilityId] };
      await Promise.all(Array.from({ length: 20 }, () => call('POST', '/api/webhooks', webhook)));
    }
    const prompt = await startReceiver();
    const owner = await system.token(['fac-north'], { sub: 'prompt-owner' });
    await system.call('POST', '/api/webhooks', { token: owner, body: { url: prompt.url, facilityIds: ['fac-north'] } });
    // With the limit of 20 attempts for each webhook, these are more attempts than an instance makes.
    for (const bayId of ['bay-n1-02', 'bay-s1-02', 'bay-e1-02'])
      await Promise.all(Array.from({ length: 25 }, () => call('POST', '/api/bookings', bookingBody({ bayId }))));
    await slow.received(450);
    const times: number[] = [];
    for (let count = 1; count <= 5; count++) {
      const createdAt = performance.now();
      const body = bookingBody({ bayId: 'bay-n1-01' });
      const { body: booking } = await system.call('POST', '/api/bookings', { token: owner, body });
      await eventually(async () => prompt.events.some(({ event }) => event.data.booking?.id === booking.id));
      times.push(performance.now() - createdAt);
    }
    // An event takes less than a second, and on busy cores longer. An attempt without an answer ends after 15 s.
    expect(times.toSorted((a, b) => a - b)[2]).toBeLessThan(10_000);
    const [{ id }] = (await call('GET', '/api/webhooks')).body.items;
    const hasTimeout = ({ body }: Response) => pluck(body.items, 'lastError').includes('timeout');
    await eventually(() => call('GET', `/api/webhooks/${id}/deliveries`), hasTimeout);
  });
});

describe('the rotation of WEBHOOK_KEY', () => {
  const [oldKey, newKey] = [Buffer.alloc(32, 'old'), Buffer.alloc(32, 'new')];
  /** The periodic job that encrypts all secrets again with the first key of WEBHOOK_KEY. */
  const job = 'webhook secrets';

  const system = useTestSystem({ webhooks: { deliver: false, allowNetworks: ['127.0.0.0/8'], keys: [oldKey] } });
  const receiver = useFixture(startWebhookReceiver);

  /** Starts another instance with these keys in WEBHOOK_KEY. The instance delivers events, unlike `system`. */
  const startInstance = (...keys: readonly Buffer[]) =>
    createExtraSystem({ sharing: system, webhooks: { deliver: true, allowNetworks: ['127.0.0.0/8'], keys } });

  async function register(idempotencyKey: string) {
    const headers = { 'Idempotency-Key': idempotencyKey };
    const { body } = await system.call('POST', '/api/webhooks', { body: { url: receiver.url }, headers });
    return body as { readonly id: string; readonly secret: string };
  }

  /** Sends a ping, and expects that its delivery has a valid signature for each of these secrets. */
  async function expectSignedPing(instance: TestSystem, id: string, secrets: readonly string[]): Promise<void> {
    const before = receiver.events.length;
    await instance.call('POST', `/api/webhooks/${id}/ping`);
    const ping = (await receiver.received(before + 1))[before];
    if (!ping) throw new Error('no ping was received');
    for (const secret of secrets) verifySignature(ping, secret);
    // The test may stop the instance only after the instance has recorded that the ping was delivered.
    const deliveries = () => instance.call('GET', `/api/webhooks/${id}/deliveries?state=pending`);
    await eventually(deliveries, ({ body }) => body.total === 0);
  }

  test('with WEBHOOK_KEY=new,old all secrets still sign, and are encrypted again so that the new key is enough', async () => {
    const webhooks = await Promise.all(Array.from({ length: 5 }, (_, number) => register(`key-${number}`)));
    const [{ id, secret: firstSecret }] = webhooks as [(typeof webhooks)[0]];
    const { secret: rotatedSecret } = (await system.call('POST', `/api/webhooks/${id}/rotate`)).body;
    // For a while after a rotation, deliveries are signed with both secrets.
    const bothSecrets = [firstSecret, rotatedSecret];

    const withBothKeys = await startInstance(newKey, oldKey);
    await expectSignedPing(withBothKeys, id, bothSecrets);
    const headers = { 'Idempotency-Key': 'key-1' };
    const repeated = await withBothKeys.call('POST', '/api/webhooks', { body: { url: receiver.url }, headers });
    expect(repeated.body).toEqual(webhooks[1]);
    await withBothKeys.runWebhookJob(job);
    // An instance encrypts secrets with the first of its keys. During a rolling restart, restarted instances have the
    // new key first, and the others have the old key first. The others must decrypt secrets encrypted with the new key.
    const withOldKeyFirst = await startInstance(oldKey, newKey);
    await expectSignedPing(withOldKeyFirst, id, bothSecrets);
    await closeExtraSystems();

    const withNewKey = await startInstance(newKey);
    await expectSignedPing(withNewKey, id, bothSecrets);
    for (const webhook of webhooks.slice(1)) await expectSignedPing(withNewKey, webhook.id, [webhook.secret]);
  });

  test('a secret that no key decrypts stays unchanged, and the other secrets are encrypted again', async () => {
    const webhooks = await Promise.all(['key-first', 'key-second'].map(register));
    // The job encrypts secrets in the order of the webhook ids, so it finds the unreadable secret first.
    type Pair = [(typeof webhooks)[0], (typeof webhooks)[0]];
    const [unreadable, readable] = webhooks.toSorted((a, b) => (a.id < b.id ? -1 : 1)) as Pair;
    // The second part identifies the key. No key of the test has the id 00000000.
    const secretOfUnknownKey = 'v1.00000000.AAAA.AAAA';
    await query(system.db, 'update webhook set secret = $2 where id = $1', [unreadable.id, secretOfUnknownKey]);
    const withBothKeys = await startInstance(newKey, oldKey);
    await withBothKeys.runWebhookJob(job);
    expect(await system.db('webhook').where('id', unreadable.id).pluck('secret')).toEqual([secretOfUnknownKey]);
    expect(withBothKeys.logged.join('')).toContain('webhook secrets that no key of WEBHOOK_KEY decrypts');
    await closeExtraSystems();
    await expectSignedPing(await startInstance(newKey), readable.id, [readable.secret]);
  });
});

test('the example verifies events, and stores the latest state of a booking in any order of the events', async () => {
  const book = async () => (await system.call('POST', '/api/bookings', { body: bookingBody() })).body;
  // The example is the JavaScript block that begins with the function `receiveEvent`.
  const [, code = ''] = /```js\n(function receiveEvent[\s\S]*?)```/.exec(read('docs/api.md')) ?? [];
  const receiveEvent = new Function('Webhook', `${code}return receiveEvent;`)(Webhook);
  const receiver = await startWebhookReceiver();
  const { id, secret } = (await system.call('POST', '/api/webhooks', { body: { url: receiver.url } })).body;
  await system.call('POST', `/api/webhooks/${id}/ping`);
  await receiver.received(1);
  // The test waits until the receiver has got an event before it causes the next one. The order of the events is
  // therefore known.
  const existing = await book();
  await receiver.received(2);
  const deleted = await book();
  await receiver.received(3);
  await system.call('DELETE', `/api/bookings/${deleted.id}`);
  const events = await receiver.received(4);
  const store = new Map<string, { booking?: { id: string } }>();
  // The example gets every event twice: first in the order of the events, and then in the reverse order.
  for (const { body, headers } of [...events, ...events.toReversed()]) receiveEvent(body, headers, secret, store);
  // The example ignores the ping. It keeps an entry for a deleted booking, so that an older event cannot restore the
  // booking.
  expect([...store].map(([key, { booking }]) => [key, booking?.id])).toEqual([
    [`fac-north ${existing.id}`, existing.id],
    [`fac-north ${deleted.id}`, undefined],
  ]);
  const otherSecret = `whsec_${Buffer.alloc(32).toString('base64')}`;
  expect(() => receiveEvent(events[0]?.body, events[0]?.headers, otherSecret, store)).toThrow();
  await receiver.close();
});

test('docs/api.md shows events of the OpenAPI document', () => {
  const [, block = ''] = /Events:\n\n```json\n([\s\S]*?)```/.exec(read('docs/api.md')) ?? [];
  type Documented = { post: { requestBody: { content: { 'application/json': { example: object } } } } };
  const { webhooks } = JSON.parse(read('apps/bookings/openapi.json')) as { webhooks: Record<string, Documented> };
  const exampleOf = (type: string) => webhooks[type]?.post.requestBody.content['application/json'].example;
  const shown = block.split(/\n(?=\{)/).map((event) => JSON.parse(event));
  expect(shown).toEqual(['booking.created', 'webhook.ping'].map(exampleOf));
});
