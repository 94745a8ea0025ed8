// Tests how packages/client follows the change feed and verifies webhooks. A reader must miss no change when the
// service or the reader itself is restarted.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BookingsClient, BookingsError, ChangePage } from '@bay-booking/client';
import { verifyWebhook, type WebhookEvent } from '@bay-booking/client/webhooks';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type ClientSystem, newBooking, startClientSystem } from '../support/client-system.ts';

let fixture: ClientSystem;
let client: BookingsClient;
beforeAll(async () => {
  fixture = await startClientSystem();
  client = fixture.createClient();
}, 90_000);
afterAll(() => fixture?.stop(), 60_000);

let stop = new AbortController();
afterEach(() => {
  stop.abort();
  stop = new AbortController();
});

const create = () => client.bookings.create(newBooking());

/** Reads the feed to its end. Returns the pages, and the position after the last page. */
async function readAll(from?: string): Promise<{ pages: ChangePage[]; next: string }> {
  const pages: ChangePage[] = [];
  for await (const page of client.changes.read({ from })) pages.push(page);
  return { pages, next: pages.at(-1)?.next ?? from ?? '' };
}

/** Returns the next page of an iteration. */
const nextPage = async (pages: AsyncIterator<ChangePage>): Promise<ChangePage> => (await pages.next()).value;

describe('the change feed', () => {
  test('read returns every change from the beginning, and then those after a position', async () => {
    const { id } = await create();
    const all = await readAll();
    expect(all.pages[0]?.startsOver).toBe(true);
    expect(all.pages.flatMap(({ items }) => items).map((item) => item.id)).toContain(id);
    await client.bookings.delete(id);
    const later = await readAll(all.next);
    expect(later.pages).toMatchObject([{ startsOver: false, items: [{ id, state: 'deleted' }] }]);
    expect((await readAll(later.next)).pages).toEqual([]);
  });

  test('pages have at most limit items', async () => {
    const { next } = await readAll();
    for (let count = 0; count < 3; count += 1) await create();
    const sizes: number[] = [];
    for await (const page of client.changes.read({ from: next, limit: 2 })) sizes.push(page.items.length);
    expect(sizes).toEqual([2, 1]);
  });

  test('follow waits for changes, and ends when its signal is aborted', async () => {
    const { next } = await readAll();
    const pages = client.changes.follow({ from: next, signal: stop.signal })[Symbol.asyncIterator]();
    const waiting = nextPage(pages);
    const { id } = await create();
    expect((await waiting).items).toMatchObject([{ id, state: 'updated', data: { id } }]);
    const last = pages.next();
    stop.abort();
    expect(await last).toEqual({ value: undefined, done: true });
  });

  test('follow continues after a restart of the service, and misses no change', async () => {
    const { next } = await readAll();
    const errors: BookingsError[] = [];
    const impatient = fixture.createClient({ retry: { maxAttempts: 1 } });
    const options = { from: next, signal: stop.signal, onError: (error: BookingsError) => void errors.push(error) };
    const pages = impatient.changes.follow(options)[Symbol.asyncIterator]();
    const first = nextPage(pages);
    const before = await create();
    expect((await first).items.map(({ id }) => id)).toEqual([before.id]);
    const second = nextPage(pages);
    await fixture.stopBookings('SIGKILL');
    await fixture.startBookings();
    const after = await create();
    expect((await second).items.map(({ id }) => id)).toEqual([after.id]);
    expect(errors.length).toBeGreaterThan(0);
  }, 60_000);

  test('a reader that starts again continues after the page that it has stored', async () => {
    const { next } = await readAll();
    await create();
    const read = async (from: string) =>
      nextPage(fixture.createClient().changes.follow({ from, signal: stop.signal })[Symbol.asyncIterator]());
    const stored = await read(next);
    const { id } = await create();
    expect(await read(stored.next)).toMatchObject({ startsOver: false, items: [{ id }] });
  });

  test('when the position is too old, the feed starts from the beginning', async () => {
    const { next } = await readAll();
    const { id } = await create();
    await readAll(next);
    await fixture.system.database.query(
      'bookings',
      "update facility set removed_change_number = change_number where id = 'fac-north'",
    );
    const page = await nextPage(client.changes.follow({ from: next, signal: stop.signal })[Symbol.asyncIterator]());
    expect(page.startsOver).toBe(true);
    const after = await readAll(page.next);
    expect([...page.items, ...after.pages.flatMap(({ items }) => items)].map((item) => item.id)).toContain(id);
    expect(after.pages.some(({ startsOver }) => startsOver)).toBe(false);
  });

  test('follow throws an error that another attempt cannot correct', async () => {
    const pages = client.changes.follow({ facilityId: 'fac-south', signal: stop.signal })[Symbol.asyncIterator]();
    await expect(pages.next()).rejects.toMatchObject({ status: 400 });
  });
});

describe('webhooks', () => {
  interface Received {
    readonly headers: Record<string, string | string[] | undefined>;
    readonly body: string;
  }

  async function startReceiver() {
    const received: Received[] = [];
    let notify = () => {};
    const server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString('utf8');
      received.push({ headers: request.headers, body });
      response.writeHead(204).end();
      notify();
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
      next: async (): Promise<Received> => {
        while (received.length === 0)
          await new Promise<void>((resolve) => {
            notify = resolve;
          });
        return received.shift() as Received;
      },
      close: () => new Promise((resolve) => void server.close(resolve)),
    };
  }

  test('are registered, tested, received, verified, replayed and deleted', async () => {
    const receiver = await startReceiver();
    const { next } = await readAll();
    const { id, secret, etag } = await client.webhooks.create({ url: receiver.url });
    await client.webhooks.ping(id);
    expect(verifyWebhook({ secret, ...(await receiver.next()) })).toMatchObject({ type: 'webhook.ping', data: {} });

    const booking = await create();
    const delivery = await receiver.next();
    const event = verifyWebhook({ secret, ...delivery });
    expect(event).toMatchObject({
      type: 'booking.created',
      data: { facilityId: 'fac-north', booking: { id: booking.id } },
    });
    expect(event.id).toBe(delivery.headers['webhook-id']);

    expect(() => verifyWebhook({ secret, ...delivery, body: `${delivery.body} ` })).toThrow('No matching signature');
    const old = { ...delivery.headers, 'webhook-timestamp': '1700000000' };
    expect(() => verifyWebhook({ secret, headers: old, body: delivery.body })).toThrow('timestamp too old');
    expect(() => verifyWebhook({ secret, headers: {}, body: delivery.body })).toThrow('Missing required headers');

    const rotated = await client.webhooks.rotateSecret(id);
    expect(rotated.secret).not.toBe(secret);
    const afterChangeNumber = Number(new URL(next).searchParams.get('afterChangeNumber'));
    await client.webhooks.replay(id, { facilityId: 'fac-north', afterChangeNumber });
    const replayed = await receiver.next();
    const verified: WebhookEvent[] = [secret, rotated.secret, [rotated.secret, secret]].map((candidate) =>
      verifyWebhook({
        secret: candidate,
        headers: new Headers(replayed.headers as Record<string, string>),
        body: replayed.body,
      }),
    );
    expect(verified.map(({ type }) => type)).toEqual(Array(3).fill('booking.updated'));

    expect((await client.webhooks.get(id)).etag).toBe(rotated.etag);
    expect(etag).not.toBe('');
    const paused = await client.webhooks.update(id, { url: receiver.url, state: 'paused' }, { ifMatch: rotated.etag });
    expect(paused.state).toBe('paused');
    const deliveries = await client.webhooks.deliveries(id, { state: 'delivered' }).toArray();
    expect(deliveries.map(({ type }) => type)).toContain('webhook.ping');
    await client.webhooks.delete(id);
    expect(await client.webhooks.list().toArray()).toEqual([]);
    await receiver.close();
  }, 60_000);
});
