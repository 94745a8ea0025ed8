// Tests how packages/client follows the change feed and verifies webhooks. A reader must miss no change when the
// service or the reader is restarted.
import type { BookingsClient, BookingsError, ChangePage } from '@bay-booking/client';
import { verifyWebhook } from '@bay-booking/client/webhooks';
import { eventually } from '@bay-booking/testkit/wait';
import { startWebhookReceiver, type WebhookReceiver } from '@bay-booking/testkit/webhook-receiver';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newBooking, useClientSystem } from '../support/client-system.ts';

const system = useClientSystem();
let client: BookingsClient;
beforeAll(() => {
  client = system.createClient();
});

/** Ends the readers of the current test. */
let stop = new AbortController();
afterEach(() => {
  stop.abort();
  stop = new AbortController();
});

const create = () => client.bookings.create(newBooking());

/** Reads the feed from the position `from` to its end. Returns the pages, and the position after the last page. */
async function readAll(from?: string): Promise<{ pages: ChangePage[]; next: string }> {
  const pages: ChangePage[] = [];
  for await (const page of client.changes.read({ from })) pages.push(page);
  return { pages, next: pages.at(-1)?.next ?? from ?? '' };
}

/** Follows the feed from the position `from` until the end of the test. */
const follow = (from: string, follower = client): AsyncIterator<ChangePage> =>
  follower.changes.follow({ from, signal: stop.signal })[Symbol.asyncIterator]();

const nextPage = async (pages: AsyncIterator<ChangePage>): Promise<ChangePage> => (await pages.next()).value;

describe('the change feed', () => {
  test('read returns every change from the beginning, or every change after a given position', async () => {
    const { id } = await create();
    const all = await readAll();
    // `startsOver` means that the page is the beginning of the feed, and that the reader must delete its older data.
    expect(all.pages[0]?.startsOver).toBe(true);
    expect(all.pages.flatMap(({ items }) => items).map((item) => item.id)).toContain(id);
    await client.bookings.delete(id);
    const later = await readAll(all.next);
    expect(later.pages).toMatchObject([{ startsOver: false, items: [{ id, state: 'deleted' }] }]);
    expect((await readAll(later.next)).pages).toEqual([]);
  });

  test('a page contains at most as many items as the option limit allows', async () => {
    const { next } = await readAll();
    for (let count = 0; count < 3; count += 1) await create();
    const sizes: number[] = [];
    for await (const page of client.changes.read({ from: next, limit: 2 })) sizes.push(page.items.length);
    expect(sizes).toEqual([2, 1]);
  });

  test('follow waits for changes, and ends when the caller aborts its signal', async () => {
    const { next } = await readAll();
    const pages = follow(next);
    const waiting = nextPage(pages);
    const { id } = await create();
    expect((await waiting).items).toMatchObject([{ id, state: 'updated', data: { id } }]);
    const last = pages.next();
    stop.abort();
    expect(await last).toEqual({ value: undefined, done: true });
  });

  test('follow continues after a restart of the service and misses no change', async () => {
    const { next } = await readAll();
    const errors: BookingsError[] = [];
    // A client with retries would hide the interruption, and onError would get no error.
    const clientWithoutRetries = system.createClient({ retry: { maxAttempts: 1 } });
    const options = { from: next, signal: stop.signal, onError: (error: BookingsError) => void errors.push(error) };
    const pages = clientWithoutRetries.changes.follow(options)[Symbol.asyncIterator]();
    const first = nextPage(pages);
    const before = await create();
    expect((await first).items.map(({ id }) => id)).toEqual([before.id]);
    const second = nextPage(pages);
    await system.stopBookings('SIGKILL');
    await system.restartBookings();
    const after = await create();
    expect((await second).items.map(({ id }) => id)).toEqual([after.id]);
    expect(errors.length).toBeGreaterThan(0);
  });

  test('the feed starts from the beginning when the changes after the position are deleted', async () => {
    const { next } = await readAll();
    const { id } = await create();
    // A change gets its number when the feed is read.
    await readAll(next);
    // Changes the database as if the service had deleted all changes up to now from the feed.
    const remove = "update facility set removed_change_number = change_number where id = 'fac-north'";
    await system.database.query('bookings', remove);
    const page = await nextPage(follow(next));
    expect(page.startsOver).toBe(true);
    const after = await readAll(page.next);
    expect([...page.items, ...after.pages.flatMap(({ items }) => items)].map((item) => item.id)).toContain(id);
    expect(after.pages.some(({ startsOver }) => startsOver)).toBe(false);
  });

  test('follow throws an error that a retry cannot correct', async () => {
    // The token does not name this facility.
    const pages = client.changes.follow({ facilityId: 'fac-south', signal: stop.signal })[Symbol.asyncIterator]();
    await expect(pages.next()).rejects.toMatchObject({ status: 400 });
  });
});

describe('webhooks', () => {
  let receiver: WebhookReceiver;
  beforeEach(async () => {
    receiver = await startWebhookReceiver();
  });
  afterEach(() => receiver.close());

  /** Waits for the next delivery, in the order of arrival. */
  const nextDelivery = () => eventually(async () => receiver.events.shift());

  test('verifyWebhook accepts deliveries, and rejects changed, old and unsigned ones', async () => {
    const { id, secret } = await client.webhooks.create({ url: receiver.url });
    await client.webhooks.ping(id);
    expect(verifyWebhook({ secret, ...(await nextDelivery()) })).toMatchObject({ type: 'webhook.ping', data: {} });

    const booking = await create();
    const delivery = await nextDelivery();
    const event = verifyWebhook({ secret, ...delivery });
    const data = { facilityId: 'fac-north', booking: { id: booking.id } };
    expect(event).toMatchObject({ type: 'booking.created', data });
    expect(event.id).toBe(delivery.headers['webhook-id']);
    // After a rotation, one of two secrets has signed a delivery.
    const { secret: rotated } = await client.webhooks.rotateSecret(id);
    const headers = new Headers(delivery.headers as Record<string, string>);
    expect(verifyWebhook({ secret: [rotated, secret], headers, body: delivery.body })).toEqual(event);

    expect(() => verifyWebhook({ secret, ...delivery, body: `${delivery.body} ` })).toThrow('No matching signature');
    const oldHeaders = { ...delivery.headers, 'webhook-timestamp': '1700000000' };
    expect(() => verifyWebhook({ secret, headers: oldHeaders, body: delivery.body })).toThrow('timestamp too old');
    expect(() => verifyWebhook({ secret, headers: {}, body: delivery.body })).toThrow('Missing required headers');
    await client.webhooks.delete(id);
  });

  test('a webhook can be paused and deleted, and its deliveries can be listed', async () => {
    const { id, etag } = await client.webhooks.create({ url: receiver.url });
    expect(etag).not.toBe('');
    await client.webhooks.ping(id);
    await nextDelivery();
    const paused = await client.webhooks.update(id, { url: receiver.url, state: 'paused' }, { ifMatch: etag });
    expect(paused.state).toBe('paused');
    await eventually(async () => {
      const deliveries = await client.webhooks.deliveries(id, { state: 'delivered' }).toArray();
      return deliveries.some(({ type }) => type === 'webhook.ping');
    });
    const [sent] = await client.webhooks.deliveries(id).toArray();
    expect(sent?.bookingId).toBeNull();
    await client.webhooks.resend(id, sent?.id ?? '');
    expect((await nextDelivery()).headers['webhook-id']).toBe(sent?.id);
    await client.webhooks.delete(id);
    expect(await client.webhooks.list().toArray()).toEqual([]);
  });
});
