// Tests the history: GET /api/bookings/{id}/history and GET /api/booking-history.
import { query } from '@bay-booking/service/database/database';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import { removeExpiredChanges, removeFromFeed } from '../src/changes/retention.ts';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import {
  baseUrl,
  closeExtraSystems,
  createExtraSystem,
  createTestSystem,
  type TestSystem,
} from './support/test-system.ts';

interface Entry {
  readonly version: number;
  readonly action: string;
  readonly at: string;
  readonly actor: object;
  readonly requestId: string | null;
  readonly changes: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
  readonly bookingId?: string;
  readonly facilityId?: string;
}

let system: TestSystem;
beforeAll(async () => {
  system = await createTestSystem();
});
afterEach(closeExtraSystems);
afterAll(() => system.close());

const actor = { clientId: 'client-test', subject: 'acc-test' };
const day = 24 * 3_600_000;

const create = async (fields: object = {}, headers = {}): Promise<Record<string, string>> => {
  const response = await system.call('POST', '/api/bookings', { body: bookingBody({ ...fields }), headers });
  expect(response.status).toBe(201);
  return response.body;
};
const update = async (id = '', fields: object = {}): Promise<Record<string, string>> => {
  const response = await system.call('PUT', `/api/bookings/${id}`, { body: bookingBody({ ...fields }) });
  expect(response.status).toBe(200);
  return response.body;
};
const remove = async (id = ''): Promise<void> => {
  expect((await system.call('DELETE', `/api/bookings/${id}`)).status).toBe(204);
};
const get = (path: string, facilities?: readonly string[]): Promise<Response> =>
  facilities ? system.token(facilities).then((token) => system.call('GET', path, { token })) : system.call('GET', path);
const historyOf = async (id = '', facilities?: readonly string[]): Promise<readonly Entry[]> => {
  const { status, body } = await get(`/api/bookings/${id}/history`, facilities);
  expect(status).toBe(200);
  return body.items;
};
const search = async (parameters: string): Promise<readonly Entry[]> => {
  const { status, body } = await get(`/api/booking-history?facilityId=fac-north&${parameters}`);
  expect(status).toBe(200);
  return body.items;
};

test('the history has every change with its author, and stays after the deletion', async () => {
  const body = bookingBody({ userAlias: 'Ada', bayId: 'bay-n1-01', externalBookingId: 'history-1' });
  const headers = { 'X-Request-Id': 'request-1' };
  const { id } = (await system.call('POST', '/api/bookings', { body, headers })).body;
  const token = await system.token(['fac-north'], { client_id: 'client-2', sub: 'acc-2' });
  await system.call('PUT', `/api/bookings/${id}`, { body: { ...body, userAlias: 'Bob' }, token });
  await remove(id);
  expect((await get(`/api/bookings/${id}`)).status).toBe(404);
  const { externalBookingId, bayId, startDate, endDate } = body as unknown as Record<string, string>;
  expect(await historyOf(id)).toEqual([
    {
      version: 1,
      action: 'created',
      at: expect.any(String),
      actor,
      requestId: 'request-1',
      changes: {
        externalBookingId: { from: null, to: externalBookingId },
        bayId: { from: null, to: bayId },
        userAlias: { from: null, to: 'Ada' },
        startDate: { from: null, to: startDate },
        endDate: { from: null, to: endDate },
      },
    },
    {
      version: 2,
      action: 'updated',
      at: expect.any(String),
      actor: { clientId: 'client-2', subject: 'acc-2' },
      requestId: expect.any(String),
      changes: { userAlias: { from: 'Ada', to: 'Bob' } },
    },
    {
      version: 3,
      action: 'deleted',
      at: expect.any(String),
      actor,
      requestId: expect.any(String),
      changes: {
        externalBookingId: { from: externalBookingId, to: null },
        bayId: { from: bayId, to: null },
        userAlias: { from: 'Bob', to: null },
        startDate: { from: startDate, to: null },
        endDate: { from: endDate, to: null },
      },
    },
  ]);
});

test('a PUT that changes nothing is a version, and a replay or a refused request is none', async () => {
  const body = bookingBody({ bayId: 'bay-n1-02' });
  const headers = { 'Idempotency-Key': 'history-key' };
  const [{ id }] = [(await system.call('POST', '/api/bookings', { body, headers })).body];
  await Promise.all(Array.from({ length: 8 }, () => system.call('POST', '/api/bookings', { body, headers })));
  await system.call('PUT', `/api/bookings/${id}`, { body });
  expect((await system.call('PUT', `/api/bookings/${id}`, { body: { ...body, bayId: 'no-bay' } })).status).toBe(400);
  const stale = { 'If-Match': '"1-1"' };
  expect((await system.call('PUT', `/api/bookings/${id}`, { body, headers: stale })).status).toBe(412);
  expect((await system.call('DELETE', `/api/bookings/${id}`, { headers: stale })).status).toBe(412);
  const entries = await historyOf(id);
  expect(entries.map(({ version, action }) => [version, action])).toEqual([
    [1, 'created'],
    [2, 'updated'],
  ]);
  expect(entries[1]?.changes).toEqual({});
});

test('a booking that moves is deleted in the old facility and created in the new one', async () => {
  const { id } = await create({ bayId: 'bay-n1-03' });
  await update(id, { bayId: 'bay-s1-01' });
  await update(id, { bayId: 'bay-s1-02' });
  const north = await historyOf(id, ['fac-north']);
  const south = await historyOf(id, ['fac-south']);
  expect(north.map(({ version, action }) => [version, action])).toEqual([
    [1, 'created'],
    [2, 'deleted'],
  ]);
  expect(Object.values(north[1]?.changes ?? {}).map(({ to }) => to)).toEqual([null, null, null, null]);
  expect(south.map(({ version, action }) => [version, action])).toEqual([
    [2, 'created'],
    [3, 'updated'],
  ]);
  expect(Object.values(south[0]?.changes ?? {}).map(({ from }) => from)).toEqual([null, null, null, null]);
  expect(await historyOf(id)).toEqual([...north, ...south]);
  expect((await get(`/api/bookings/${id}/history`, ['fac-east'])).status).toBe(404);
  expect((await get(`/api/bookings/${id}/history`, [])).status).toBe(404);
});

test.each(['x', '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c1d'])('the history of the unknown booking %s is 404', async (id) => {
  expect((await get(`/api/bookings/${id}/history`)).status).toBe(404);
});

test('the history of a booking has pages', async () => {
  const { id } = await create({ bayId: 'bay-n1-04' });
  for (let round = 0; round < 4; round += 1) await update(id, { bayId: 'bay-n1-04' });
  const { body } = await get(`/api/bookings/${id}/history?page=2&pageSize=2`);
  expect(body).toMatchObject({ page: 2, pageSize: 2, pageCount: 3, total: 5 });
  expect(body.items.map(({ version }: Entry) => version)).toEqual([3, 4]);
  expect(body._links.next.href).toBe(`${baseUrl}/api/bookings/${id}/history?page=3&pageSize=2`);
  const past = await get(`/api/bookings/${id}/history?page=9`);
  expect([past.status, past.body.items, past.body.total]).toEqual([200, [], 5]);
});

test('the history of a bay and a day has deleted and moved bookings, newest first', async () => {
  const at = (bayId: string, hour: number) => ({
    bayId,
    startDate: `2041-03-02T${String(hour).padStart(2, '0')}:00:00.000Z`,
    endDate: `2041-03-02T${String(hour + 1).padStart(2, '0')}:00:00.000Z`,
  });
  const stays = await create(at('bay-n2-04', 8));
  const deleted = await create(at('bay-n2-04', 10));
  const movedAway = await create(at('bay-n2-04', 12));
  const movedInTime = await create(at('bay-n2-04', 14));
  const movedFacility = await create(at('bay-n2-04', 16));
  const long = await create({ bayId: 'bay-n2-05', startDate: '2041-02-01T00:00:00Z', endDate: '2041-04-01T00:00:00Z' });
  await create({ ...at('bay-n2-04', 8), startDate: '2041-03-03T00:00:00Z', endDate: '2041-03-03T01:00:00Z' });
  await remove(deleted.id);
  await update(movedAway.id, at('bay-n2-03', 12));
  await update(movedAway.id, at('bay-n2-03', 13));
  await update(movedInTime.id, { bayId: 'bay-n2-04' });
  await update(movedFacility.id, at('bay-s1-04', 16));
  const saturday = 'startDate=2041-03-02T00:00:00Z&endDate=2041-03-03T00:00:00Z';
  const found = await search(`bayIds=bay-n2-04&${saturday}`);
  const expected = [
    [movedFacility, 2, 'deleted'],
    [movedInTime, 2, 'updated'],
    [movedAway, 2, 'updated'],
    [deleted, 2, 'deleted'],
    [movedFacility, 1, 'created'],
    [movedInTime, 1, 'created'],
    [movedAway, 1, 'created'],
    [deleted, 1, 'created'],
    [stays, 1, 'created'],
  ] as const;
  expect(found.map(({ bookingId, version, action, facilityId }) => [bookingId, version, action, facilityId])).toEqual(
    expected.map(([{ id }, version, action]) => [id, version, action, 'fac-north']),
  );
  expect((await search(`bayIds=bay-n2-05&${saturday}`)).map(({ bookingId }) => bookingId)).toEqual([long.id]);
  expect((await search(`bayIds=bay-n2-04&bayIds=bay-n2-05&${saturday}`)).length).toBe(expected.length + 1);
  expect((await search(saturday)).length).toBe(expected.length + 2);
  expect((await search('bayIds=bay-n2-05&startDate=2041-03-31T00:00:00Z')).length).toBe(1);
  expect(await search('bayIds=bay-n2-05&startDate=2041-04-01T00:00:00Z')).toEqual([]);
  expect(await search('bayIds=bay-n2-05&endDate=2041-02-01T00:00:00Z')).toEqual([]);
});

test('the history of a facility can be filtered by actor and action, and has pages', async () => {
  const token = await system.token(['fac-north'], { client_id: 'client-filter', sub: 'acc-filter' });
  const { id } = (await system.call('POST', '/api/bookings', { body: bookingBody({ bayId: 'bay-n1-05' }), token }))
    .body;
  await system.call('DELETE', `/api/bookings/${id}`, { token });
  const ids = (entries: readonly Entry[]) => entries.map(({ bookingId, action }) => `${bookingId} ${action}`);
  const both = [`${id} deleted`, `${id} created`];
  expect(ids(await search('subject=acc-filter'))).toEqual(both);
  expect(ids(await search('clientId=client-filter'))).toEqual(both);
  expect(ids(await search('clientId=client-filter&action=deleted'))).toEqual(both.slice(0, 1));
  expect(await search('subject=acc-filter&clientId=client-test')).toEqual([]);
  const { body } = await get('/api/booking-history?facilityId=fac-north&subject=acc-filter&pageSize=1');
  expect(body).toMatchObject({ page: 1, pageSize: 1, pageCount: 2, total: 2 });
  expect(body._links.next.href).toBe(
    `${baseUrl}/api/booking-history?facilityId=fac-north&subject=acc-filter&page=2&pageSize=1`,
  );
});

test('the history of a facility needs a facility of the token, and valid filters', async () => {
  const errorsOf = async (parameters: string, facilities?: readonly string[]) => {
    const response = await get(`/api/booking-history?${parameters}`, facilities);
    return [response.status, ...(response.status === 200 ? [] : errorCodes(response))];
  };
  expect(await errorsOf('')).toEqual([400, 'ERR00001']);
  expect(await errorsOf('', ['fac-south'])).toEqual([200]);
  expect(await errorsOf('', [])).toEqual([403, 'ERR00403']);
  expect(await errorsOf('facilityId=fac-east')).toEqual([400, 'ERR00002']);
  for (const parameters of [
    'action=moved',
    'startDate=2041-01-01',
    'startDate=2041-01-02T00:00:00Z&endDate=2041-01-01T00:00:00Z',
    'pageSize=1001',
    'subject=',
  ])
    expect([parameters, await errorsOf(`facilityId=fac-north&${parameters}`)]).toEqual([parameters, [400, 'ERR00002']]);
});

test('entries leave the history after its retention period, except the latest one of a booking that exists', async () => {
  const [existing, deleted] = [await create({ bayId: 'bay-n1-06' }), await create({ bayId: 'bay-n1-06' })];
  await update(existing.id, { bayId: 'bay-n1-06' });
  await remove(deleted.id);
  await get('/api/booking-history?facilityId=fac-north');
  const later = await createExtraSystem({ sharing: system, now: () => new Date(Date.now() + 400 * day + 60_000) });
  const token = await system.token(['fac-north']);
  const versionsLater = async (id = '') => {
    const response = await later.call('GET', `/api/bookings/${id}/history`, { token });
    return response.status === 200 ? response.body.items.map(({ version }: Entry) => version) : response.status;
  };
  expect([await versionsLater(existing.id), await versionsLater(deleted.id)]).toEqual([[2], 404]);
  const versions = async (id = '') =>
    (
      await query<{ version: number }>(
        system.db,
        'select version from booking_change where booking_id = $1::uuid order by version',
        [id],
      )
    ).map(({ version }) => version);
  const soon = new Date(Date.now() + 60_000);
  // A deletion that is still in the feed stays in the log.
  await removeExpiredChanges(system.db, soon);
  expect([await versions(existing.id), await versions(deleted.id)]).toEqual([[2], [2]]);
  await removeFromFeed(system.db, soon);
  await removeExpiredChanges(system.db, soon);
  expect([await versions(existing.id), await versions(deleted.id)]).toEqual([[2], []]);
});

test('while clients write, every version of every booking has exactly one entry', async () => {
  const bays = ['bay-n1-07', 'bay-n1-08', 'bay-s1-03'];
  const { id } = await create({ bayId: 'bay-n1-07' });
  const writes = Array.from({ length: 40 }, (_, index) =>
    index === 30
      ? system.call('DELETE', `/api/bookings/${id}`)
      : system.call('PUT', `/api/bookings/${id}`, { body: bookingBody({ bayId: bays[index % bays.length] }) }),
  );
  const succeeded = (await Promise.all(writes)).filter(({ status }) => status < 300).length;
  const entries = (await system.call('GET', `/api/bookings/${id}/history?pageSize=1000`)).body.items as {
    version: number;
    action: string;
  }[];
  // A move has two entries: the deletion in the old facility and the creation in the new one.
  const moves = entries.filter(({ action, version }) => action === 'created' && version > 1).length;
  expect(entries.length).toBe(1 + succeeded + moves);
  expect([...new Set(entries.map(({ version }) => version))]).toEqual(
    Array.from({ length: 1 + succeeded }, (_, index) => index + 1),
  );
});
