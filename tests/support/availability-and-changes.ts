// Checks availability, holds, closures, the change feed and webhooks. The tests with a replica, a connection pooler or
// Citus share these checks. The next response of another instance must contain each change that an instance has
// written.
import { eventually } from '@bay-booking/testkit/wait';
import { expect } from '@jest/globals';
import { callApi } from './api.ts';
import { nextBooking } from './booking-load.ts';
import { type BookingReceiver, startBookingReceiver } from './webhook-receiver.ts';

export interface Instances {
  /** The address of the instance that gets all writes, except bookings that use a hold or must be rejected. */
  readonly writer: string;
  /**
   * The address of another instance. After each write of `writer`, its next response must already contain the write,
   * and it must reject bookings that conflict with the write.
   */
  readonly reader: string;
  readonly token: string;
}

export async function expectAvailabilityAndHolds({ writer, reader, token }: Instances): Promise<void> {
  const { bayId, startDate, endDate } = nextBooking();
  const slot = { bayId, startDate, endDate };

  /** Expects that the instance `reader` reports the slot as completely free or completely taken. */
  const expectFree = async (isFree: boolean, query = ''): Promise<void> => {
    const path = `/api/booking-availability?bayIds=${bayId}&startDate=${startDate}&endDate=${endDate}${query}`;
    const { status, body } = await callApi<{ items: { free: object[] }[] }>(reader, token, 'GET', path);
    expect(status).toBe(200);
    expect(body.items[0]?.free).toEqual(isFree ? [{ startDate, endDate }] : []);
  };
  const create = async (base: string, path: string, fields: object): Promise<string> => {
    const { status, body } = await callApi<{ id: string }>(base, token, 'POST', path, fields);
    expect(status).toBe(201);
    return body.id;
  };
  const remove = async (path: string): Promise<void> =>
    expect((await callApi(writer, token, 'DELETE', path)).status).toBe(204);
  const booking = { ...slot, userAlias: 'held' };
  const expectBookingRejected = async (): Promise<void> =>
    expect((await callApi(reader, token, 'POST', '/api/bookings', booking)).status).toBe(400);

  await expectFree(true);
  const holdId = await create(writer, '/api/booking-holds', slot);
  await expectFree(false);
  // A search with the id of a hold ignores this hold. A booking with the id uses up the hold.
  await expectFree(true, `&holdId=${holdId}`);
  await expectBookingRejected();
  const bookingId = await create(reader, '/api/bookings', { ...booking, holdId });
  await remove(`/api/bookings/${bookingId}`);
  await expectFree(true);

  const closureId = await create(writer, '/api/booking-closures', { bayIds: [bayId], startDate, endDate });
  await expectFree(false);
  await expectBookingRejected();
  await remove(`/api/booking-closures/${closureId}`);
  await expectFree(true);
}

export async function expectChanges(instances: Instances): Promise<void> {
  const { writer, token } = instances;
  const receiver = await startBookingReceiver();
  try {
    const { status, body: webhook } = await callApi<{ id: string; secret: string }>(
      writer,
      token,
      'POST',
      '/api/webhooks',
      { url: receiver.url },
    );
    expect(status).toBe(201);
    receiver.setSecret(webhook.secret);
    await expectEveryChangeReported(instances, receiver);
    expect((await callApi(writer, token, 'DELETE', `/api/webhooks/${webhook.id}`)).status).toBe(204);
  } finally {
    await receiver.close();
  }
}

/** Creates 20 bookings and deletes the first one. The feed and the webhook must report each change. */
async function expectEveryChangeReported({ writer, reader, token }: Instances, receiver: BookingReceiver) {
  let next = '/api/booking-changes?limit=1000';
  const readPage = async (): Promise<readonly object[]> => {
    const { status, body } = await callApi<{ items: object[]; next: string }>(reader, token, 'GET', next);
    expect(status).toBe(200);
    const { pathname, search } = new URL(body.next);
    next = pathname + search;
    return body.items;
  };
  // Earlier tests have left changes in the feed. After this loop, `next` is the position after these changes.
  while ((await readPage()).length > 0);

  const ids: string[] = [];
  for (let count = 0; count < 20; count += 1) {
    // Bookings without an external id are created here, because the load of other tests creates only bookings with an
    // external id.
    const { externalBookingId: _, ...booking } = nextBooking();
    const { body } = await callApi<{ id: string }>(writer, token, 'POST', '/api/bookings', booking);
    ids.push(body.id);
    expect(await readPage()).toMatchObject([{ id: body.id, state: 'updated' }]);
  }
  const [deletedId = ''] = ids;
  await callApi(writer, token, 'DELETE', `/api/bookings/${deletedId}`);
  expect(await readPage()).toMatchObject([{ id: deletedId, state: 'deleted' }]);
  await eventually(async () => receiver.latest.size === ids.length);
  await eventually(async () => receiver.latest.get(`fac-north ${deletedId}`)?.isDeleted);
}
