// Tests that the webhooks of one owner do not delay the events of another owner (docs/behaviour.md, "Webhooks").
import { useFixture } from '@bay-booking/testkit/fixture';
import { afterAll, expect, test } from '@jest/globals';
import { bookingBody } from './support/booking-requests.ts';
import { createTestSystem } from './support/test-system.ts';
import { until } from './support/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from './support/webhook-receiver.ts';

const facilities = ['fac-north', 'fac-south', 'fac-east'];
const system = useFixture(() => createTestSystem({ webhooks: { deliver: true, allowNetworks: ['127.0.0.0/8'] } }));
const receivers: WebhookReceiver[] = [];
afterAll(() => Promise.all(receivers.map((receiver) => receiver.close())));

async function startReceiver(): Promise<WebhookReceiver> {
  const receiver = await startWebhookReceiver();
  receivers.push(receiver);
  return receiver;
}

test('while 60 webhooks of an owner take 13 s to answer, an event of another owner arrives within 2 s', async () => {
  const slow = await startReceiver();
  slow.respondWith((_request, response) => {
    setTimeout(() => response.writeHead(204).end(), 13_000).unref();
  });
  const slowOwner = await system.token(facilities, { sub: 'slow-owner' });
  const call = (method: string, path: string, body: object) => system.call(method, path, { token: slowOwner, body });
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
  for (let count = 1; count <= 10; count++) {
    const createdAt = performance.now();
    const body = bookingBody({ bayId: 'bay-n1-01' });
    const { body: booking } = await system.call('POST', '/api/bookings', { token: owner, body });
    await until(async () => prompt.events.some(({ event }) => event.data.booking?.id === booking.id), Boolean, 10_000);
    times.push(performance.now() - createdAt);
  }
  // On busy cores, a single event can take longer, so the median counts.
  expect(times.toSorted((a, b) => a - b)[5]).toBeLessThan(2_000);
}, 60_000);
