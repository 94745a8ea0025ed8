// Tests the example code of docs/api.md that receives webhook events, with real deliveries.
import { useFixture } from '@bay-booking/testkit/fixture';
import { read } from '@bay-booking/testkit/repository';
import { expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { bookingBody } from './support/booking-requests.ts';
import { createTestSystem } from './support/test-system.ts';
import { startWebhookReceiver } from './support/webhook-receiver.ts';

const system = useFixture(() => createTestSystem({ webhooks: { deliver: true, allowNetworks: ['127.0.0.0/8'] } }));

const book = async () => (await system.call('POST', '/api/bookings', { body: bookingBody() })).body;

test('the example verifies events, and stores the latest state of a booking in any order of the events', async () => {
  // The example is the JavaScript block that begins with the function `receiveEvent`.
  const [, code = ''] = /```js\n(function receiveEvent[\s\S]*?)```/.exec(read('docs/api.md')) ?? [];
  const receiveEvent = new Function('Webhook', `${code}return receiveEvent;`)(Webhook);
  const receiver = await startWebhookReceiver();
  const { body: webhook } = await system.call('POST', '/api/webhooks', { body: { url: receiver.url } });
  await system.call('POST', `/api/webhooks/${webhook.id}/ping`);
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
  for (const { body, headers } of [...events, ...events.toReversed()]) {
    receiveEvent(body, headers, webhook.secret, store);
  }
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

test('docs/api.md shows the events of the OpenAPI document', () => {
  const [, block = ''] = /The events:\n\n```json\n([\s\S]*?)```/.exec(read('docs/api.md')) ?? [];
  type Documented = { post: { requestBody: { content: { 'application/json': { example: object } } } } };
  const { webhooks } = JSON.parse(read('apps/bookings/openapi.json')) as { webhooks: Record<string, Documented> };
  expect(block.split(/\n(?=\{)/).map((event) => JSON.parse(event))).toEqual(
    Object.values(webhooks).map(({ post }) => post.requestBody.content['application/json'].example),
  );
});
