// Tests that no secret is lost when the operator rotates WEBHOOK_KEY (docs/behaviour.md, "Webhooks").
import { query } from '@bay-booking/service/database/database';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { closeExtraSystems, createExtraSystem, createTestSystem, type TestSystem } from './support/test-system.ts';
import { until } from './support/until.ts';
import { startWebhookReceiver, verifySignature, type WebhookReceiver } from './support/webhook-receiver.ts';

const [oldKey, newKey] = [Buffer.alloc(32, 'old'), Buffer.alloc(32, 'new')];
/** The periodic job that encrypts all secrets again with the first key of WEBHOOK_KEY. */
const job = 'webhook secrets';

let system: TestSystem;
let receiver: WebhookReceiver;
beforeAll(async () => {
  system = await createTestSystem({ webhooks: { deliver: false, allowNetworks: ['127.0.0.0/8'], keys: [oldKey] } });
  receiver = await startWebhookReceiver();
});
afterEach(closeExtraSystems);
afterAll(async () => {
  await receiver.close();
  await system.close();
});

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
  await until(deliveries, ({ body }) => body.total === 0);
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
  // An instance encrypts secrets with the first of its keys. During a rolling restart, restarted instances have the new
  // key first, and the others have the old key first. The others must decrypt secrets encrypted with the new key.
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
  const [unreadable, readable] = webhooks.toSorted((a, b) => (a.id < b.id ? -1 : 1)) as [
    (typeof webhooks)[0],
    (typeof webhooks)[0],
  ];
  // The second part identifies the key. No key of the test has the id 00000000.
  const secretOfUnknownKey = 'v1.00000000.AAAA.AAAA';
  await query(system.db, 'update webhook set secret = $2 where id = $1', [unreadable.id, secretOfUnknownKey]);
  const withBothKeys = await startInstance(newKey, oldKey);
  await withBothKeys.runWebhookJob(job);
  const [row] = await query(system.db, 'select secret from webhook where id = $1', [unreadable.id]);
  expect(row).toEqual({ secret: secretOfUnknownKey });
  expect(withBothKeys.logged.join('')).toContain('webhook secrets that no key of WEBHOOK_KEY decrypts');
  await closeExtraSystems();
  await expectSignedPing(await startInstance(newKey), readable.id, [readable.secret]);
});
