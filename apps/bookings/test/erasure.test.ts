// Tests the erasure of personal data: POST /api/booking-erasures and the job "personal data".
import { query } from '@bay-booking/service/database/database';
import { eventually } from '@bay-booking/testkit/wait';
import { startWebhookReceiver, type WebhookReceiver } from '@bay-booking/testkit/webhook-receiver';
import { afterEach, expect, test } from '@jest/globals';
import { bookingState } from '../src/bookings/storage/columns.ts';
import { recount } from '../src/changes/recount.ts';
import { removeFromFeed } from '../src/changes/retention.ts';
import { bookingBody, errorCodes, pluck, rounds } from './support/booking-requests.ts';
import { createExtraSystem, useTestSystem } from './support/test-system.ts';

/** How far the clock of the service is ahead of the real time. */
let clockAheadMs = 0;
const system = useTestSystem({
  now: () => new Date(Date.now() + clockAheadMs),
  webhooks: { deliver: true, allowNetworks: ['127.0.0.0/8'] },
});
const receivers: WebhookReceiver[] = [];
afterEach(async () => {
  const { body } = await system.call('GET', '/api/webhooks');
  for (const { id } of body.items) await system.call('DELETE', `/api/webhooks/${id}`);
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});

/** Registers a webhook whose receiver always fails, so that its deliveries stay pending. */
async function registerFailingReceiver(): Promise<WebhookReceiver> {
  const receiver = await startWebhookReceiver();
  receivers.push(receiver);
  receiver.respondWith((_request, response) => void response.writeHead(500).end());
  const { status } = await system.call('POST', '/api/webhooks', { body: { url: receiver.url } });
  expect(status).toBe(201);
  return receiver;
}

type Body = Readonly<Record<string, string>>;

const create = async (fields: object, headers = {}): Promise<Body> => {
  const response = await system.call('POST', '/api/bookings', { body: bookingBody({ ...fields }), headers });
  expect(response.status).toBe(201);
  return response.body;
};
const update = (id = '', fields: object = {}) =>
  system.call('PUT', `/api/bookings/${id}`, { body: bookingBody({ ...fields }) });
const remove = (id = '') => system.call('DELETE', `/api/bookings/${id}`);
const erase = (body: object, token?: string) =>
  system.call('POST', '/api/booking-erasures', { body, ...(token && { token }) });
const erased = async (body: object, token?: string): Promise<number> => {
  const response = await erase(body, token);
  expect(response.status).toBe(200);
  return response.body.bookings;
};
const historyOf = async (id = '') => (await system.call('GET', `/api/bookings/${id}/history`)).body.items;
const search = async (parameters: string) => (await system.call('GET', `/api/bookings?${parameters}`)).body;
const runJob = (name: string, on = system) => on.runWebhookJob(name);
const startWithJob = () => createExtraSystem({ sharing: system, config: { personalDataDays: 30 } });
const past = { start_date: '2020-01-01T10:00:00.000Z', end_date: '2020-01-01T11:00:00.000Z' };

/** The columns that hold copies of a booking. */
const copies = ['booking_change.before', 'booking_change.after', 'idempotency_key.answer', 'webhook_delivery.body'];

/** Returns the columns of all tables in which a value contains the text. */
async function columnsWith(text: string): Promise<readonly string[]> {
  const columns = await query<{ table: string; column: string }>(
    system.db,
    `select table_name as table, column_name as column from information_schema.columns
join information_schema.tables using (table_schema, table_name)
where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const found: string[] = [];
  for (const { table, column } of columns) {
    const sql = `select from "${table}" where "${column}"::text like '%' || $1 || '%' limit 1`;
    if ((await query(system.db, sql, [text])).length > 0) found.push(`${table}.${column}`);
  }
  return found;
}

test('after the erasure of an alias, no table contains it, and everything shows the change', async () => {
  const alias = 'Ada of the story';
  const receiver = await registerFailingReceiver();
  const own = { externalBookingId: 'kept-1', correlationId: 'c', metadata: { guest: alias } };
  const keyed = bookingBody({ userAlias: alias, bayId: 'bay-n1-01', ...own });
  const headers = { 'Idempotency-Key': 'erasure-story' };
  const first = (await system.call('POST', '/api/bookings', { body: keyed, headers })).body;
  const renamed = await create({ userAlias: alias, bayId: 'bay-n1-02' });
  await update(renamed.id, { userAlias: 'Bob of the story', bayId: 'bay-n1-02' });
  const deleted = await create({ userAlias: alias, bayId: 'bay-n1-03' });
  await remove(deleted.id);
  const moved = await create({ userAlias: alias, bayId: 'bay-n1-04' });
  await update(moved.id, { userAlias: alias, bayId: 'bay-s1-01' });
  const other = await create({ userAlias: `${alias}!`, bayId: 'bay-n1-05' });
  // The deleted booking has one event, and the moved one has two.
  await receiver.received(6);
  const holding = ['booking.metadata', 'booking.user_alias', ...copies];
  expect(await columnsWith(alias)).toEqual(expect.arrayContaining(holding));
  const totalBefore = (await search('pageSize=1')).total;
  const { next } = (await system.call('GET', '/api/booking-changes?facilityId=fac-north')).body;

  expect(await erased({ userAlias: alias, dryRun: true })).toBe(4);
  expect((await search(`userAlias=${encodeURIComponent(alias)}`)).total).toBe(2);
  expect(await erased({ userAlias: alias })).toBe(4);
  expect(await erased({ userAlias: alias })).toBe(0);
  expect(await erased({ ids: [first.id, renamed.id, deleted.id, moved.id] })).toBe(0);
  // This alias also contains the erased one.
  expect(await erased({ userAlias: `${alias}!` })).toBe(1);
  expect(await columnsWith(alias)).toEqual([]);
  expect(await columnsWith('Bob of the story')).toEqual([]);
  expect(system.logged.join()).not.toContain('of the story');

  const { metadata: _metadata, ...kept } = first;
  const found = await system.call('GET', `/api/bookings/${first.id}`);
  expect(found.body).toEqual({ ...kept, userAlias: 'erased', lastUpdatedAt: expect.any(String) });
  expect((await search('pageSize=1')).total).toBe(totalBefore);
  expect((await search(`userAlias=erased&ids=${renamed.id},${moved.id}`)).total).toBe(2);
  const replayed = await system.call('POST', '/api/bookings', { body: keyed, headers });
  expect(replayed.headers['idempotency-replayed']).toBe('true');
  expect(replayed.body).toEqual({ ...kept, userAlias: 'erased' });

  const actor = { clientId: 'client-test', subject: 'acc-test' };
  const entry = { action: 'erased', actor, changes: {}, requestId: expect.any(String) };
  expect((await historyOf(first.id)).at(-1)).toMatchObject({ version: 2, ...entry });
  const ofRenamed = await historyOf(renamed.id);
  expect(pluck(ofRenamed, 'action')).toEqual(['created', 'updated', 'erased']);
  expect(pluck(pluck(ofRenamed, 'changes'), 'userAlias')).toEqual([{ from: null, to: 'erased' }, undefined, undefined]);
  expect(await historyOf(deleted.id)).toMatchObject([
    { version: 1, action: 'created' },
    { version: 2, action: 'deleted', changes: { userAlias: { from: 'erased', to: null } } },
    { version: 3, action: 'erased' },
  ]);
  expect((await historyOf(moved.id)).at(-1)).toMatchObject({ version: 3, ...entry });

  const { items } = (await system.call('GET', next.slice(next.indexOf('/api')))).body;
  const changed = new Map(items.map((item: { id: string }) => [item.id, item]));
  expect(changed.get(first.id)).toMatchObject({ state: 'updated', actor, data: { userAlias: 'erased' } });
  expect(changed.get(deleted.id)).toMatchObject({ state: 'deleted', actor });
  expect(changed.has(other.id)).toBe(true);

  // The events after the erasure and the retries have the erased alias.
  const before = receiver.events.length;
  const ids = new Set(receiver.events.map((event) => event.headers['webhook-id']));
  // The first retry comes after 5 s and the second after 5 min. On a busy machine, the first one has already been.
  clockAheadMs += 360_000;
  const again = () => receiver.events.slice(before).filter((event) => ids.has(event.headers['webhook-id']));
  await eventually(async () => again().length >= ids.size);
  const wanted = new Set([`booking.updated ${first.id}`, `booking.deleted ${deleted.id}`]);
  const seen = () => new Set(receiver.events.map(({ event }) => `${event.type} ${event.data.booking?.id}`));
  await eventually(async () => wanted.isSubsetOf(seen()));
  for (const { event } of receiver.events.slice(before)) expect(event.data.booking?.userAlias).toBe('erased');
});

/** Returns the columns of rows of the facility in which a value contains the text. */
async function columnsAt(facilityId: string, text: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await columnsWith(text)) {
    const [table, column] = name.split('.');
    const sql = `select from "${table}" where facility_id = $1 and "${column}"::text like '%' || $2 || '%' limit 1`;
    if ((await query(system.db, sql, [facilityId, text])).length > 0) found.push(name);
  }
  return found;
}

test.each(['ids', 'userAlias'])('an erasure by %s reaches only what the facilities of the token hold', async (by) => {
  const alias = `Ada of the facilities by ${by}`;
  const [north, south] = [await system.token(['fac-north']), await system.token(['fac-south'])];
  await registerFailingReceiver();
  const fields = { userAlias: alias, metadata: { guest: alias } };
  const booking = await create({ ...fields, bayId: 'bay-n1-01' }, { 'Idempotency-Key': `erasure-${by}` });
  const selection = by === 'ids' ? { ids: [booking.id] } : { userAlias: alias };
  expect(await erased(selection, south)).toBe(0);
  await update(booking.id, { ...fields, bayId: 'bay-s1-01' });
  const contains = async (facility: string, columns: readonly string[]) =>
    new Set(columns).isSubsetOf(new Set(await columnsAt(facility, alias)));
  await eventually(() => contains('fac-north', copies));
  await eventually(() => contains('fac-south', ['webhook_delivery.body']));
  const ofSouth = async () => ({
    columns: await columnsAt('fac-south', alias),
    booking: (await system.call('GET', `/api/bookings/${booking.id}`, { token: south })).body,
    history: (await system.call('GET', `/api/bookings/${booking.id}/history`, { token: south })).body,
  });
  const before = await ofSouth();
  expect(before).toMatchObject({ booking: { userAlias: alias }, history: { items: [{ version: 2 }] } });

  expect(await erased({ ...selection, dryRun: true }, north)).toBe(1);
  expect(await columnsAt('fac-north', alias)).not.toEqual([]);
  expect(await erased(selection, north)).toBe(1);
  expect(await columnsAt('fac-north', alias)).toEqual([]);
  expect(await erased(selection, north)).toBe(0);
  expect(await ofSouth()).toEqual(before);

  // The booking can come back, because the erasure gave no version of it to its former facility.
  await update(booking.id, { ...fields, bayId: 'bay-n1-01' });
  expect(await erased(selection, south)).toBe(1);
  expect(await columnsAt('fac-south', alias)).toEqual([]);
  expect((await system.call('GET', `/api/bookings/${booking.id}`)).body.userAlias).toBe(alias);
  expect(await erased(selection, north)).toBe(1);
  expect(await columnsWith(alias)).toEqual([]);
  expect((await historyOf(booking.id)).at(-1)).toMatchObject({ action: 'erased', version: 4 });
});

test('a request names either 500 ids at most or an alias of 500 bookings at most', async () => {
  const id = '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c1d';
  for (const body of [{}, { ids: [id], userAlias: 'A' }, { ids: [] }, { ids: Array(501).fill(id) }, { userAlias: 7 }])
    for (const dryRun of [false, true]) expect(errorCodes(await erase({ ...body, dryRun }))).toEqual(['ERR00002']);
  expect(await erased({ ids: [id, 'no-uuid'] })).toBe(0);
  const alias = 'Club of the many';
  const changes = Array.from({ length: 501 }, (_, index) => index);
  await query(
    system.db,
    `with added as (
  insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date, created_at, last_updated_at)
  select 'fac-north', overlay(gen_random_uuid()::text placing '7' from 15)::uuid, 'loc-north-1', 'bay-n1-09', $2, start, start + interval '1 hour', now(), now()
  from (select timestamptz '2050-01-01' + n * interval '1 day' as start from unnest($1::int[]) as n) starts
  returning *
)
insert into booking_change (facility_id, booking_id, version, at, action, after)
select facility_id, id, 1, now(), 'created', ${bookingState} from added booking`,
    [changes, alias],
  );
  const refused = await erase({ userAlias: alias });
  expect([refused.status, refused.body.errors[0].description]).toEqual([400, "'userAlias' is invalid."]);
  const { items } = await search(`userAlias=${encodeURIComponent(alias)}&pageSize=500`);
  const [last, ...others] = items.map((booking: Body) => booking.id);
  expect(await erased({ ids: [last] })).toBe(1);
  expect(others.length).toBe(499);
  expect(await erased({ userAlias: alias })).toBe(500);
  expect((await search(`userAlias=${encodeURIComponent(alias)}`)).total).toBe(0);
  // This is not an alias any more, so it is not one of more than 500 bookings.
  expect(await erased({ userAlias: 'erased' })).toBe(0);
}, 30_000);

test('erasures while bookings are changed, moved and deleted leave nothing behind', async () => {
  const alias = 'Ada of the race';
  const bays = ['bay-n1-06', 'bay-n1-07', 'bay-s1-04'];
  const bookings = await Promise.all(
    Array.from({ length: 12 }, (_, index) => create({ userAlias: alias, bayId: bays[index % 3] })),
  );
  const ids = bookings.map(({ id }) => id);
  const requests = ids.flatMap((id, index) => [
    update(id, { userAlias: alias, bayId: bays[(index + 1) % 3] }),
    update(id, { userAlias: alias, bayId: bays[(index + 2) % 3] }),
    ...(index % 4 === 0 ? [remove(id)] : []),
    erase({ ids }),
    erase({ userAlias: alias }),
    system.call('GET', '/api/booking-changes?facilityId=fac-north'),
  ]);
  for (const { status } of await Promise.all(requests)) expect(status).toBeLessThan(500);
  await erase({ ids });
  expect(await columnsWith(alias)).toEqual([]);
  for (const id of ids) {
    const entries: readonly { version: number; action: string }[] = await historyOf(id);
    // Only a move has two entries for a version.
    const versions = entries.filter(({ action }, index) => action !== 'created' || index === 0).map((e) => e.version);
    expect(versions).toEqual(versions.map((_, index) => index + 1));
  }
  expect(await recount(system.db, bookingState)).toBe(0);
}, 30_000);

test('the feeder adds no delivery with a booking that was erased after it had read the booking', async () => {
  const alias = 'Ada of the feeder';
  await registerFailingReceiver();
  for (let round = 0; round < rounds(15); round += 1) {
    const { id } = await create({ userAlias: alias, bayId: 'bay-n2-01' });
    // The feeder numbers changes every half second, and so does the feed.
    await Promise.all([system.call('GET', '/api/booking-changes?facilityId=fac-north'), erased({ ids: [id] })]);
  }
  expect(await columnsWith(alias)).toEqual([]);
});

test('an erased deletion that has left the feed comes back to it', async () => {
  const { id } = await create({ userAlias: 'Ada of the feed', bayId: 'bay-n2-02' });
  await remove(id);
  const read = async () =>
    (await system.call('GET', '/api/booking-changes?facilityId=fac-north&limit=1000')).body.items.filter(
      (item: Body) => item.id === id,
    );
  await read();
  await removeFromFeed(system.db, new Date(Date.now() + clockAheadMs + 60_000));
  expect(await read()).toEqual([]);
  expect(await erased({ ids: [id] })).toBe(1);
  expect(await read()).toMatchObject([{ state: 'deleted' }]);
  expect(await recount(system.db, bookingState)).toBe(0);
});

test('the job adds no entry to a history that has expired', async () => {
  const { id } = await create({ userAlias: 'Ada of the expired', bayId: 'bay-n2-04' });
  await remove(id);
  const job = await startWithJob();
  await runJob('compaction', job);
  await query(
    system.db,
    `update booking_change set at = now() - interval '450 days',
  before = before || jsonb_build_object('startDate', $2::text, 'endDate', $2::text) where booking_id = $1::uuid`,
    [id, '2020-01-01T11:00:00.000Z'],
  );
  for (const name of ['retention of the change feed', 'personal data', 'retention of the history'])
    await runJob(name, job);
  expect((await system.call('GET', `/api/bookings/${id}/history`)).status).toBe(404);
  expect(await query(system.db, 'select from booking_change where booking_id = $1::uuid', [id])).toEqual([]);
});

test('the job erases bookings that ended PERSONAL_DATA_DAYS ago, also deleted ones and what a former facility holds', async () => {
  const alias = 'Ada of the past';
  const [ended, deleted, future, rebooked] = [
    await create({ userAlias: alias, bayId: 'bay-n2-03' }),
    await create({ userAlias: alias, bayId: 'bay-n2-03' }),
    await create({ userAlias: 'Ada of the future', bayId: 'bay-n2-03' }),
    await create({ userAlias: 'Ada of the future', bayId: 'bay-n2-03' }),
  ];
  await remove(deleted.id);
  await update(ended.id, { userAlias: alias, bayId: 'bay-s1-03' });
  await system.db('booking').where('id', ended.id).update(past);
  // This booking moved from the past to the future.
  await update(rebooked.id, { userAlias: 'Ada of the future', bayId: 'bay-s1-05' });
  await query(
    system.db,
    `update booking_change set before = before || jsonb_build_object('startDate', $2::text, 'endDate', $2::text)
where booking_id = any($1::uuid[]) and action = 'deleted'`,
    [[deleted.id, rebooked.id], past.end_date],
  );
  const instances = await Promise.all([1, 2].map(startWithJob));
  await Promise.all(instances.map((instance) => runJob('personal data', instance)));
  expect(await columnsWith(alias)).toEqual([]);
  const entry = { actor: { clientId: null, subject: null }, requestId: null };
  for (const { id } of [ended, deleted]) {
    const entries = await historyOf(id);
    expect(entries.filter(({ action }: Body) => action === 'erased')).toMatchObject([entry]);
  }
  for (const { id } of [future, rebooked])
    expect((await system.call('GET', `/api/bookings/${id}`)).body.userAlias).toBe('Ada of the future');
  await expect(runJob('personal data')).rejects.toThrow('there is no job');
});
