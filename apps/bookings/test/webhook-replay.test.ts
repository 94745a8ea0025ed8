// Tests the limits of replays (docs/behaviour.md, "Webhooks").
import { query } from '@bay-booking/service/database/database';
import { useFixture } from '@bay-booking/testkit/fixture';
import { beforeAll, expect, test } from '@jest/globals';
import { createTestSystem } from './support/test-system.ts';

let clockAheadMs = 0;
const system = useFixture(() => createTestSystem({ now: () => new Date(Date.now() + clockAheadMs) }));
const url = 'https://partner.example/hook';

beforeAll(async () => {
  // 12,000 bookings. Only their changes matter here. The first 1,000 came to the facility long before the last change.
  await query(
    system.db,
    `insert into booking_change (facility_id, booking_id, version, number, first_number, latest, at, action, after)
    select 'fac-north', gen_random_uuid(), 1, n, case when n > 11000 then n - 11000 else n end, true, now(), 'created', '{}'
    from generate_series(1, 12000) n`,
  );
  await query(system.db, "update facility set change_number = 12000 where id = 'fac-north'");
});

async function register(events = ['booking.created', 'booking.updated', 'booking.deleted']): Promise<string> {
  const body = { url, events, facilityIds: ['fac-north'] };
  return (await system.call('POST', '/api/webhooks', { body })).body.id;
}

const replay = (id: string, afterChangeNumber: number) =>
  system.call('POST', `/api/webhooks/${id}/replay`, { body: { facilityId: 'fac-north', afterChangeNumber } });

test('a replay sends 10,000 events, and the next one continues an hour later', async () => {
  const id = await register();
  expect((await replay(id, 0)).body).toEqual({ events: 10_000, next: 10_000 });
  const early = await replay(id, 10_000);
  expect(early.status).toBe(429);
  expect(Number(early.headers['retry-after'])).toBeGreaterThan(3_500);
  expect(Number(early.headers['retry-after'])).toBeLessThanOrEqual(3_600);
  // A replay without events is possible, and another webhook has its own limit.
  expect((await replay(id, 12_000)).body).toEqual({ events: 0, next: null });
  expect((await replay(await register(), 11_000)).body).toEqual({ events: 1_000, next: null });
  clockAheadMs += Number(early.headers['retry-after']) * 1000;
  expect((await replay(id, 10_000)).body).toEqual({ events: 2_000, next: null });
});

test('of ten concurrent replays of 2,000 events, five are accepted', async () => {
  const id = await register();
  const responses = await Promise.all(Array.from({ length: 10 }, () => replay(id, 10_000)));
  expect(responses.map(({ status }) => status).sort()).toEqual([...Array(5).fill(202), ...Array(5).fill(429)]);
});

test('sending a delivery again counts as an event of a replay', async () => {
  const id = await register();
  await system.call('POST', `/api/webhooks/${id}/ping`);
  const [{ id: delivery }] = (await system.call('GET', `/api/webhooks/${id}/deliveries`)).body.items;
  const resend = () => system.call('POST', `/api/webhooks/${id}/deliveries/${delivery}/resend`);
  await query(system.db, 'update webhook set replayed_events = 9999, replay_since = $2 where id = $1', [
    id,
    new Date(Date.now() + clockAheadMs).toISOString(),
  ]);
  expect((await resend()).status).toBe(202);
  const rejected = await resend();
  expect(rejected.status).toBe(429);
  expect(Number(rejected.headers['retry-after'])).toBeGreaterThan(3_500);
});

test('a replay does not send the changes between it and an earlier replay that waits', async () => {
  const id = await register();
  await query(system.db, 'update webhook_cursor set replay_number = 100, replay_until = 200 where webhook_id = $1', [
    id,
  ]);
  expect((await replay(id, 11_000)).status).toBe(429);
  expect((await replay(id, 11_000)).headers['retry-after']).toBe('60');
  const rows = await query(system.db, 'select replayed_events from webhook where id = $1', [id]);
  expect(rows).toEqual([{ replayed_events: 0 }]);
});

test('only events of the selected types count, and a replay that continues another one has its types', async () => {
  expect((await replay(await register(['booking.updated']), 0)).body).toEqual({ events: 0, next: 10_000 });
  expect((await replay(await register(['booking.created']), 10_000)).body).toEqual({ events: 1_000, next: null });
  expect((await replay(await register(['booking.updated']), 10_000)).body).toEqual({ events: 1_000, next: null });
  const id = await register(['booking.created']);
  expect((await replay(id, 0)).body).toEqual({ events: 10_000, next: 10_000 });
  clockAheadMs += 3_600_000;
  expect((await replay(id, 10_000)).body).toEqual({ events: 2_000, next: null });
});
