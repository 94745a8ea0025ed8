// Checks availability, holds, closures, the change feed and webhooks once, for the tests with a replica, a connection
// pooler or Citus. One instance writes, and the next response of another instance must contain each change.
import { expect } from '@jest/globals';
import { nextBooking } from './booking-load.ts';
import { eventually } from './wait.ts';
import { startWebhookReceiver } from './webhook-receiver.ts';

/** The environment variables that the instances need for webhooks. */
export const webhookEnvironment = {
  WEBHOOK_KEY: Buffer.alloc(32, 'webhooks').toString('base64'),
  WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
};

export interface Instances {
  readonly writer: string;
  readonly reader: string;
  readonly token: string;
}

interface Item {
  readonly id: string;
  readonly state: string;
  readonly modified: number;
  readonly free: readonly { readonly startDate: string; readonly endDate: string }[];
}

interface Body {
  readonly id: string;
  readonly secret: string;
  readonly items: readonly Item[];
  readonly next: string;
}

const clientOf = (token: string) => async (base: string, method: string, path: string, body?: object) => {
  const response = await fetch(base + path, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  return { status: response.status, body: (text ? JSON.parse(text) : {}) as Body };
};

export async function expectAvailabilityAndHolds({ writer, reader, token }: Instances): Promise<void> {
  const call = clientOf(token);
  const { bayId, startDate, endDate } = nextBooking();
  const freeTimes = async (query = '') => {
    const path = `/api/booking-availability?bayIds=${bayId}&startDate=${startDate}&endDate=${endDate}${query}`;
    const { status, body } = await call(reader, 'GET', path);
    expect(status).toBe(200);
    return body.items[0]?.free;
  };
  const whole = [{ startDate, endDate }];
  expect(await freeTimes()).toEqual(whole);
  const held = await call(writer, 'POST', '/api/booking-holds', { bayId, startDate, endDate });
  expect(held.status).toBe(201);
  expect(await freeTimes()).toEqual([]);
  expect(await freeTimes(`&holdId=${held.body.id}`)).toEqual(whole);
  const booking = { bayId, startDate, endDate, userAlias: 'held' };
  expect((await call(reader, 'POST', '/api/bookings', booking)).status).toBe(400);
  const booked = await call(reader, 'POST', '/api/bookings', { ...booking, holdId: held.body.id });
  expect(booked.status).toBe(201);
  expect((await call(writer, 'DELETE', `/api/bookings/${booked.body.id}`)).status).toBe(204);
  expect(await freeTimes()).toEqual(whole);
  const closure = await call(writer, 'POST', '/api/booking-closures', { bayIds: [bayId], startDate, endDate });
  expect(closure.status).toBe(201);
  expect(await freeTimes()).toEqual([]);
  expect((await call(reader, 'POST', '/api/bookings', booking)).status).toBe(400);
  expect((await call(writer, 'DELETE', `/api/booking-closures/${closure.body.id}`)).status).toBe(204);
  expect(await freeTimes()).toEqual(whole);
}

export async function expectChanges({ writer, reader, token }: Instances): Promise<void> {
  const call = clientOf(token);
  const receiver = await startWebhookReceiver();
  try {
    const webhook = await call(writer, 'POST', '/api/webhooks', { url: receiver.url });
    expect(webhook.status).toBe(201);
    receiver.setSecret(webhook.body.secret);
    // Start reading at the end of the feed: `next` is then the position after the changes of earlier tests.
    let next = '/api/booking-changes?limit=1000';
    const readPage = async (): Promise<readonly Item[]> => {
      const { status, body } = await call(reader, 'GET', next);
      expect(status).toBe(200);
      const { pathname, search } = new URL(body.next);
      next = pathname + search;
      return body.items;
    };
    while ((await readPage()).length > 0);
    const ids: string[] = [];
    for (let count = 0; count < 20; count += 1) {
      const { externalBookingId: _, ...booking } = nextBooking();
      const created = await call(writer, 'POST', '/api/bookings', booking);
      ids.push(created.body.id);
      expect(await readPage()).toMatchObject([{ id: created.body.id, state: 'updated' }]);
    }
    const [deleted = ''] = ids;
    await call(writer, 'DELETE', `/api/bookings/${deleted}`);
    expect(await readPage()).toMatchObject([{ id: deleted, state: 'deleted' }]);
    await eventually(async () => receiver.latest.size === ids.length);
    await eventually(async () => receiver.latest.get(`fac-north ${deleted}`)?.isDeleted);
    expect((await call(writer, 'DELETE', `/api/webhooks/${webhook.body.id}`)).status).toBe(204);
  } finally {
    await receiver.close();
  }
}
