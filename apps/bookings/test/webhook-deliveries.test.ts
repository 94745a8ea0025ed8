// Tests that events are delivered to webhooks, also if a receiver fails for some time (docs/behaviour.md, "Webhooks").
import { createHash } from 'node:crypto';
import { query } from '@bay-booking/service/database/database';
import { eventually } from '@bay-booking/testkit/wait';
import {
  type ReceivedEvent,
  startWebhookReceiver,
  verifySignature,
  type WebhookReceiver,
} from '@bay-booking/testkit/webhook-receiver';
import { afterEach, expect, test } from '@jest/globals';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { checkEvent } from './support/check-response.ts';
import { createTestSystem, useTestSystem } from './support/test-system.ts';

/** How far the clock of the service is ahead of the real time. */
let clockAheadMs = 0;
const now = () => new Date(Date.now() + clockAheadMs);
const webhooks = { deliver: true, allowNetworks: ['127.0.0.0/8'] };
const system = useTestSystem({ now, webhooks });
const secondInstance = useTestSystem({ now, webhooks, sharing: system });

const receivers: WebhookReceiver[] = [];
afterEach(async () => {
  const { body } = await system.call('GET', '/api/webhooks');
  for (const { id } of body.items) await system.call('DELETE', `/api/webhooks/${id}`);
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});

/** Starts a receiver, and registers a webhook with its address. `path` is the path of the webhook. */
async function registerReceiver(fields: object = {}) {
  const receiver = await startWebhookReceiver();
  receivers.push(receiver);
  const { body } = await system.call('POST', '/api/webhooks', { body: { url: receiver.url, ...fields } });
  return { receiver, path: `/api/webhooks/${body.id}`, ...body } as {
    receiver: WebhookReceiver;
    path: string;
    id: string;
    url: string;
    secret: string;
  };
}

const book = async (fields = {}) => (await system.call('POST', '/api/bookings', { body: bookingBody(fields) })).body;
const ping = (path: string) => system.call('POST', `${path}/ping`);
const deliveriesOf = async (path: string, filter = '') =>
  (await system.call('GET', `${path}/deliveries${filter}`)).body.items;
/** Waits until the webhook, or what else the path names, has the values. */
const becomes = async (path: string, values: object) =>
  (
    await eventually(
      () => system.call('GET', path),
      ({ body }) => Object.entries(values).every(([name, value]) => body[name] === value),
    )
  ).body;
/** Waits until so many deliveries have the state, and returns them. */
const inState = (state: string, path: string, count = 1) =>
  eventually(
    () => deliveriesOf(path, `?state=${state}`),
    (items) => items.length === count && items.every((item: { state: string }) => item.state === state),
  );
/** Waits until the newest delivery was attempted so many times, and returns it. */
const attempted = async (path: string, attempts = 1) => {
  const newest = async () => (await deliveriesOf(path))[0];
  return eventually(newest, (delivery) => delivery?.attempts === attempts);
};
/** Moves the clock to the next attempt of the delivery. */
const advanceTo = (delivery: { nextAttemptAt: string }) => {
  clockAheadMs += Date.parse(delivery.nextAttemptAt) - now().getTime();
};

test('the counters of deliveries begin at 0', async () => {
  const { text } = await secondInstance.call('GET', '/metrics', { token: null });
  for (const outcome of ['delivered', 'retried', 'failed'])
    expect(text).toMatch(new RegExp(`^webhook_deliveries_total\\{outcome="${outcome}",.*\\} 0$`, 'm'));
});

test('a ping is signed as Standard Webhooks prescribes and appears in the deliveries', async () => {
  const { receiver, path, secret } = await registerReceiver({ events: ['booking.deleted'] });
  expect((await ping(path)).status).toBe(202);
  const [received] = await receiver.received(1);
  if (!received) throw new Error('nothing received');
  verifySignature(received, secret);
  expect(received.event).toMatchObject({ type: 'webhook.ping', data: {} });
  checkEvent(received.event);
  expect(received.headers['content-type']).toBe('application/json');
  const [delivery] = await inState('delivered', path);
  expect(delivery).toMatchObject({
    id: received.headers['webhook-id'],
    type: 'webhook.ping',
    facilityId: null,
    modified: null,
    state: 'delivered',
    attempts: 1,
    lastStatus: 204,
    nextAttemptAt: null,
  });
});

test('every change of a booking is sent, and sent again with the same id and the current state', async () => {
  const { receiver, path, secret } = await registerReceiver();
  const resend = (id: string, token?: string) =>
    system.call('POST', `${path}/deliveries/${id}/resend`, token ? { token } : {});
  const booking = await book({ externalBookingId: 'hook-1' });
  const [first] = await receiver.received(1);
  verifySignature(first as ReceivedEvent, secret);
  expect(first?.event).toEqual({
    type: 'booking.created',
    timestamp: booking.createdAt,
    data: {
      facilityId: 'fac-north',
      modified: expect.any(Number),
      actor: { clientId: 'client-test', subject: 'acc-test' },
      booking: { ...booking, _links: { self: booking._links.self } },
    },
  });
  const id = String(first?.headers['webhook-id']);
  expect(await inState('delivered', path)).toMatchObject([{ id, bookingId: booking.id, attempts: 1 }]);

  expect((await resend(id)).status).toBe(202);
  const [, repeated] = await receiver.received(2);
  expect(repeated?.headers['webhook-id']).toBe(id);
  expect(repeated?.event).toEqual(first?.event);

  const { bayId, startDate, endDate } = booking;
  const changed = { bayId, startDate, endDate, userAlias: 'Bob' };
  await system.call('PUT', `/api/bookings/${booking.id}`, { body: changed });
  const [, , updated] = await receiver.received(3);
  expect(updated?.event).toMatchObject({ type: 'booking.updated', data: { booking: { userAlias: 'Bob' } } });
  await inState('delivered', path, 2);
  expect((await resend(id)).status).toBe(202);
  const [, , , current] = await receiver.received(4);
  expect(current?.headers['webhook-id']).toBe(id);
  expect(current?.event).toMatchObject({ type: 'booking.created', data: updated?.event.data });

  await system.call('DELETE', `/api/bookings/${booking.id}`);
  const deletion = (await receiver.received(5))[4]?.event;
  expect(deletion).toMatchObject({ type: 'booking.deleted', data: { booking: updated?.event.data.booking } });
  await inState('delivered', path, 3);
  expect((await resend(id)).status).toBe(202);
  const deleted = (await receiver.received(6))[5];
  expect(deleted?.headers['webhook-id']).toBe(id);
  expect(deleted?.event).toMatchObject({ type: 'booking.deleted', data: { booking: { userAlias: 'Bob' } } });
  for (const { event } of receiver.events) checkEvent(event);
  const numbers = [first?.event, updated?.event, deletion].map((event) => event?.data.modified as number);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  await inState('delivered', path, 3);
  expect(await deliveriesOf(path)).toContainEqual(
    expect.objectContaining({ id, type: 'booking.deleted', modified: deleted?.event.data.modified, attempts: 4 }),
  );

  const scope = 'https://bay-booking.example/golf/bookings https://bay-booking.example/golf/schedule';
  const erasure = { token: await system.token(['fac-north'], { scope }), body: { ids: [booking.id] } };
  expect((await system.call('POST', '/api/booking-erasures', erasure)).status).toBe(200);
  expect((await resend(id)).status).toBe(202);
  const ofDelivery = async () => receiver.events.filter(({ headers }) => headers['webhook-id'] === id);
  const erased = (await eventually(ofDelivery, (events) => events.length === 5))[4];
  expect(erased?.event.type).toBe('booking.deleted');
  expect(JSON.stringify(receiver.events.at(-1)?.event)).not.toContain('Bob');
  expect(erased?.event.data.booking?.userAlias).not.toBe('Bob');
});

test('a ping can be sent again, an unknown delivery and one of another facility cannot', async () => {
  const { receiver, path } = await registerReceiver({ facilityIds: ['fac-north', 'fac-south'] });
  await ping(path);
  const [first] = await receiver.received(1);
  const id = String(first?.headers['webhook-id']);
  await inState('delivered', path);
  const resend = (delivery: string, facilities = ['fac-north', 'fac-south']) =>
    system.token(facilities).then((token) => system.call('POST', `${path}/deliveries/${delivery}/resend`, { token }));
  expect((await resend(id)).status).toBe(202);
  const [, second] = await receiver.received(2);
  expect(second?.headers['webhook-id']).toBe(id);
  expect(second?.event).toMatchObject({ type: 'webhook.ping', data: {} });
  await book();
  const [, , created] = await receiver.received(3);
  const ofNorth = String(created?.headers['webhook-id']);
  for (const response of [
    await resend(id, ['fac-north']),
    await resend(ofNorth, ['fac-south']),
    await resend('019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c2b'),
    await resend('none'),
  ])
    expect(errorCodes(response)).toEqual(['ERR00404']);
  expect((await resend(ofNorth, ['fac-north'])).status).toBe(202);
  await receiver.received(4);
  // A facility that was taken out of the webhook no longer sends events to it.
  const north = await system.token(['fac-north']);
  expect((await system.call('DELETE', path, { token: north })).status).toBe(204);
  expect(errorCodes(await resend(ofNorth))).toEqual(['ERR00404']);
});

test('after a rotation, the new and the previous secret sign each delivery, but older secrets do not', async () => {
  const { receiver, path, secret } = await registerReceiver();
  const rotate = async () => (await system.call('POST', `${path}/rotate`)).body.secret as string;
  const newer = await rotate();
  await ping(path);
  const [afterFirst] = await receiver.received(1);
  expect(String(afterFirst?.headers['webhook-signature']).split(' ')).toHaveLength(2);
  for (const signingSecret of [secret, newer]) verifySignature(afterFirst as ReceivedEvent, signingSecret);
  const newest = await rotate();
  await ping(path);
  const [, afterSecond] = await receiver.received(2);
  for (const signingSecret of [newer, newest]) verifySignature(afterSecond as ReceivedEvent, signingSecret);
  expect(() => verifySignature(afterSecond as ReceivedEvent, secret)).toThrow();
});

test('a move to another facility sends booking.deleted with the last state, and booking.created', async () => {
  const { receiver } = await registerReceiver();
  const booking = await book();
  await receiver.received(1);
  await system.call('PUT', `/api/bookings/${booking.id}`, { body: bookingBody({ bayId: 'bay-s1-01' }) });
  const events = (await receiver.received(3)).slice(1).map(({ event }) => event);
  expect(events.sort((a, b) => (a.type < b.type ? -1 : 1))).toMatchObject([
    { type: 'booking.created', data: { facilityId: 'fac-south', booking: { id: booking.id, bayId: 'bay-s1-01' } } },
    { type: 'booking.deleted', data: { facilityId: 'fac-north', booking: { id: booking.id, bayId: 'bay-n1-10' } } },
  ]);
});

test('only events of the selected types and facilities are sent, and only those after the registration', async () => {
  const early = await book({ bayId: 'bay-s1-05' });
  const { receiver } = await registerReceiver({ events: ['booking.created'], facilityIds: ['fac-south'] });
  const north = await book();
  const south = await book({ bayId: 'bay-s1-02' });
  await system.call('DELETE', `/api/bookings/${(await book({ bayId: 'bay-s1-03' })).id}`);
  const last = await book({ bayId: 'bay-s1-04' });
  const seen = async () => receiver.events.map(({ event }) => event.data.booking?.id);
  const ids = await eventually(seen, (all) => all.includes(last.id) && all.includes(south.id));
  for (const { event } of receiver.events)
    expect(event).toMatchObject({ type: 'booking.created', data: { facilityId: 'fac-south' } });
  expect(ids).not.toContain(early.id);
  expect(ids).not.toContain(north.id);
});

test('a failed delivery is repeated with the same id and body, after 5 s, 5 min and so on', async () => {
  const { receiver, path } = await registerReceiver();
  receiver.respondWith((_request, response) => void response.writeHead(500).end());
  await ping(path);
  const delays = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
  for (const [index, delay] of delays.entries()) {
    await receiver.received(index + 1);
    const delivery = await attempted(path, index + 1);
    expect(delivery).toMatchObject({ state: 'pending', lastStatus: 500 });
    const planned = (Date.parse(delivery.nextAttemptAt) - Date.parse(delivery.lastAttemptAt)) / 1_000;
    // The delay varies by a tenth. It begins at the end of the attempt, which is less than 5 s after `lastAttemptAt`.
    expect(planned).toBeGreaterThanOrEqual(delay * 0.9);
    expect(planned).toBeLessThanOrEqual(delay * 1.1 + 5);
    advanceTo(delivery);
  }
  await receiver.received(10);
  const [failed] = await inState('failed', path);
  expect(failed).toMatchObject({ attempts: 10, nextAttemptAt: null });
  expect(new Set(receiver.events.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(new Set(receiver.events.map(({ body }) => body)).size).toBe(1);
  expect((await system.call('GET', path)).body.failingSince).not.toBeNull();
});

test('a redirect counts as a failure, and Retry-After delays the next attempt by a day at most', async () => {
  const { receiver, path } = await registerReceiver();
  receiver.respondWith((_request, response) => {
    response.writeHead(302, { Location: `${receiver.url}/elsewhere`, 'Retry-After': '1000000' }).end();
  });
  await ping(path);
  const delivery = await attempted(path);
  expect(delivery).toMatchObject({ state: 'pending', lastStatus: 302 });
  const planned = Date.parse(delivery.nextAttemptAt) - Date.parse(delivery.lastAttemptAt);
  // The attempt itself may have taken some seconds.
  expect(planned).toBeGreaterThanOrEqual(86_400_000);
  expect(planned).toBeLessThan(86_420_000);
  expect(receiver.events).toHaveLength(1);
});

test('a 410 response disables the webhook, and changes are not sent while it is disabled', async () => {
  const { receiver, path, url } = await registerReceiver();
  receiver.respondWith((_request, response) => void response.writeHead(410).end());
  await book();
  const disabled = await becomes(path, { state: 'disabled' });
  expect((await system.call('PUT', path, { body: disabled })).body).toMatchObject({ url, state: 'disabled' });
  expect(await deliveriesOf(path, '?state=pending')).toEqual([]);
  await book();
  receiver.respondWith((_request, response) => void response.writeHead(200).end());
  const { body } = await system.call('PUT', path, { body: { url, state: 'active' } });
  expect(body).toMatchObject({ state: 'active', failingSince: null });
  const after = await book();
  const [, next] = await receiver.received(2);
  expect(next?.event.data.booking?.id).toBe(after.id);
});

test('after 5 days with only failures, the service disables the webhook', async () => {
  const { receiver, path } = await registerReceiver();
  receiver.respondWith((_request, response) => void response.writeHead(503).end());
  await ping(path);
  await eventually(
    () => system.call('GET', path),
    ({ body }) => body.failingSince !== null,
  );
  clockAheadMs += 5 * 86_400_000;
  await becomes(path, { state: 'disabled' });
});

test('changes during a pause of the webhook are sent after the pause', async () => {
  const { receiver, path, url } = await registerReceiver();
  await system.call('PUT', path, { body: { url, state: 'paused' } });
  const booking = await book();
  // A ping is sent during the pause, but the change is not.
  await ping(path);
  expect((await receiver.received(1))[0]?.event.type).toBe('webhook.ping');
  await system.call('PUT', path, { body: { url, state: 'active' } });
  expect((await receiver.received(2))[1]?.event.data.booking?.id).toBe(booking.id);
});

test('a replay sends again all changes after a number, with the types that their events would have had', async () => {
  const { receiver, path } = await registerReceiver();
  const existing = await book();
  const deleted = await book();
  const first = (await receiver.received(2)).map(({ event }) => event.data.modified as number);
  await system.call('DELETE', `/api/bookings/${deleted.id}`);
  await receiver.received(3);
  const replay = (body: object) => system.call('POST', `${path}/replay`, { body });
  const replayed = await replay({ facilityId: 'fac-north', afterChangeNumber: Math.min(...first) - 1 });
  expect(replayed.status).toBe(202);
  expect(replayed.body).toEqual({ events: 2, next: null });
  const again = (await receiver.received(5)).slice(3).map(({ event }) => [event.type, event.data.booking?.id]);
  expect(again.sort()).toEqual([
    ['booking.created', existing.id],
    ['booking.deleted', deleted.id],
  ]);
  const { bayId, startDate, endDate } = existing;
  const change = { bayId, startDate, endDate, userAlias: 'Bob' };
  await system.call('PUT', `/api/bookings/${existing.id}`, { body: change });
  await receiver.received(6);
  const created = await registerReceiver({ events: ['booking.created'] });
  for (const [after, type] of [
    [Math.max(...first), 'booking.updated'],
    [Math.min(...first) - 1, 'booking.created'],
  ] as const) {
    const count = receiver.events.length;
    const body = { facilityId: 'fac-north', afterChangeNumber: after };
    expect((await replay(body)).body).toEqual({ events: 2, next: null });
    const events = (await receiver.received(count + 2)).slice(count).map(({ event }) => event);
    expect(events).toContainEqual(
      expect.objectContaining({ type, data: expect.objectContaining({ booking: expect.objectContaining(change) }) }),
    );
    const ofCreated = await system.call('POST', `${created.path}/replay`, { body });
    expect(ofCreated.body).toEqual({ events: type === 'booking.created' ? 1 : 0, next: null });
  }
  expect((await created.receiver.received(1))[0]?.event.data.booking?.id).toBe(existing.id);
  const last = Math.max(...receiver.events.map(({ event }) => event.data.modified ?? 0));
  const nothing = await replay({ facilityId: 'fac-north', afterChangeNumber: last });
  expect(nothing.body).toEqual({ events: 0, next: null });
  expect(errorCodes(await replay({ facilityId: 'fac-east', afterChangeNumber: 0 }))).toEqual(['ERR00002']);
  expect(errorCodes(await replay({}))).toEqual(['ERR00001', 'ERR00001']);
  // Simulates that the changes up to number 2 were removed from the change feed.
  await query(system.db, "update facility set removed_change_number = 2 where id = 'fac-north'");
  const tooOld = await replay({ facilityId: 'fac-north', afterChangeNumber: 1 });
  await query(system.db, "update facility set removed_change_number = 0 where id = 'fac-north'");
  expect(tooOld.status).toBe(410);
});

test('of a delivery, the body stays stored only until it was delivered', async () => {
  const { receiver, path, id } = await registerReceiver();
  const bodies = () =>
    query<{ body: string | null }>(system.db, 'select body from webhook_delivery where webhook_id = $1', [id]);
  receiver.respondWith((_request, response) => void response.writeHead(500).end());
  await book();
  const waiting = await attempted(path);
  expect((await bodies())[0]?.body).toContain('Ann');
  receiver.respondWith((_request, response) => void response.writeHead(204).end());
  advanceTo(waiting);
  await inState('delivered', path);
  expect(await bodies()).toEqual([{ body: null }]);
});

test('lastError says why there was no response, and a response has none', async () => {
  const { receiver, path, url } = await registerReceiver();
  receiver.respondWith((request) => void request.socket.destroy());
  await ping(path);
  const closed = await attempted(path);
  expect(closed).toMatchObject({ lastStatus: null, lastError: 'connection closed' });
  await system.call('PUT', path, { body: { url: 'http://127.0.0.1:1/hook' } });
  advanceTo(closed);
  const refused = await attempted(path, 2);
  expect(refused).toMatchObject({ lastStatus: null, lastError: 'connection refused' });
  receiver.respondWith((_request, response) => void response.writeHead(500).end());
  await system.call('PUT', path, { body: { url } });
  advanceTo(refused);
  expect(await attempted(path, 3)).toMatchObject({ lastStatus: 500, lastError: null });
});

test('a delivery whose instance stops during the attempt is repeated within 60 s', async () => {
  const stopped = await createTestSystem({ now, webhooks, sharing: system });
  const { receiver, path } = await registerReceiver();
  // Three instances deliver pings, and one of them gets none of its responses.
  receiver.respondWith(() => {});
  for (let count = 0; count < 20; count++) await ping(path);
  await receiver.received(20);
  await stopped.close();
  receiver.respondWith((_request, response) => void response.writeHead(204).end());
  clockAheadMs += 60_000;
  await becomes(`${path}/deliveries?state=delivered`, { total: 20 });
}, 40_000);

test('two instances together deliver each event once', async () => {
  const { receiver, path } = await registerReceiver();
  const bookings = await Promise.all(Array.from({ length: 40 }, () => book({ bayId: 'bay-n1-08' })));
  const events = await receiver.received(bookings.length);
  expect(new Set(events.map(({ event }) => event.data.booking?.id))).toEqual(new Set(bookings.map(({ id }) => id)));
  await becomes(`${path}/deliveries?state=delivered`, { total: bookings.length });
  expect(receiver.events).toHaveLength(bookings.length);
});

test('a webhook that is changed and deleted while its events are delivered causes no deadlock', async () => {
  for (let round = 0; round < 6; round++) {
    const { receiver, path, url } = await registerReceiver();
    // The receiver accepts some deliveries and rejects others, because both results can update the row of the webhook.
    receiver.respondWith((_request, response) => void response.writeHead(Math.random() < 0.5 ? 200 : 500).end());
    const bookings = Array.from({ length: 30 }, () => book({ bayId: 'bay-n1-07' }));
    await receiver.received(3);
    for (const state of ['paused', 'active']) await system.call('PUT', path, { body: { url, state } });
    await receiver.received(5);
    expect((await system.call('DELETE', path)).status).toBe(204);
    await Promise.all(bookings);
  }
  expect([...system.databaseErrors, ...secondInstance.databaseErrors]).toEqual([]);
});

test('while auth has disabled a facility, its events wait, and its webhooks and holds come back with it', async () => {
  const setDisabled = async (disabled: boolean) => {
    const id = createHash('sha256').update('facility fac-north').digest('base64url');
    system.issuer.revocations.entries.push({ id, before: 0, ...(disabled && { disabled }) });
    for (const instance of [system, secondInstance]) await instance.revocations.read();
  };
  const [north, both, pausedByOwner] = [
    await registerReceiver({ facilityIds: ['fac-north'] }),
    await registerReceiver(),
    await registerReceiver({ facilityIds: ['fac-north'] }),
  ];
  const put = ({ path, url }: typeof north, state: string) => system.call('PUT', path, { body: { url, state } });
  await put(pausedByOwner, 'paused');
  const states = () =>
    Promise.all(
      [north, both, pausedByOwner].map(async ({ path }) => {
        const { state, pausedBecause } = (await system.call('GET', path)).body;
        return [state, pausedBecause];
      }),
    );
  const hold = await system.call('POST', '/api/booking-holds', { body: bookingBody({ bayId: 'bay-n1-05' }) });

  await setDisabled(true);
  const disabled = ['paused', 'the facility is disabled'];
  expect(await states()).toEqual([disabled, ['active', null], ['paused', null]]);
  expect((await put(north, 'active')).body).toMatchObject({ state: 'paused', pausedBecause: disabled[1] });
  // A client may send back what GET returned.
  await put(north, 'paused');
  const staff = await system.token(['fac-north'], { scope: 'https://bay-booking.example/golf/schedule' });
  const listed = await system.call('GET', '/api/facilities/fac-north/webhooks', { token: staff });
  expect(listed.body.items.map(({ state }: { state: string }) => state)).toEqual(['paused', 'paused', 'paused']);
  // A delivery that waited for its next attempt.
  await query(
    system.db,
    `insert into webhook_delivery (id, webhook_id, type, facility_id, modified, body, next_attempt_at, created_at)
     values (gen_random_uuid(), $1, 'booking.created', 'fac-north', 1, '{"type":"waiting"}', now(), now())`,
    [north.id],
  );
  const [inNorth, inSouth] = [await book(), await book({ bayId: 'bay-s1-01' })];
  expect((await both.receiver.received(1))[0]?.event.data.booking?.id).toBe(inSouth.id);
  expect([north, both].map(({ receiver }) => receiver.events.length)).toEqual([0, 1]);

  await setDisabled(false);
  expect(await states()).toEqual([
    ['active', null],
    ['active', null],
    ['paused', null],
  ]);
  const events = (await north.receiver.received(2)).map(({ event }) => event);
  expect(events).toContainEqual({ type: 'waiting' });
  expect(events).toContainEqual(expect.objectContaining({ type: 'booking.created' }));
  expect((await both.receiver.received(2))[1]?.event.data.booking?.id).toBe(inNorth.id);
  expect((await system.call('GET', `/api/booking-holds/${hold.body.id}`)).status).toBe(200);
});
