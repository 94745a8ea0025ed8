// Tests the history of bookings, and the change feed: GET /api/booking-changes.
import { query } from '@bay-booking/service/database/database';
import { read } from '@bay-booking/testkit/repository';
import { describe, expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import { bookingState } from '../src/bookings/storage/columns.ts';
import { compactChanges } from '../src/changes/compaction.ts';
import { recount } from '../src/changes/recount.ts';
import { removeExpiredChanges, removeFromFeed } from '../src/changes/retention.ts';
import { bookingBody, errorCodes, pluck } from './support/booking-requests.ts';
import { importPlaces } from './support/places.ts';
import { baseUrl, createExtraSystem, useTestSystem } from './support/test-system.ts';

const system = useTestSystem();
/** The actor of every change by the default token. */
const actor = { clientId: 'client-test', subject: 'acc-test' };

/** Creates a booking. Each call of `bookingBody` chooses a new time, so the bookings of a bay do not overlap. */
const create = async (fields: object = {}, options: object = {}): Promise<Record<string, string>> => {
  const response = await system.call('POST', '/api/bookings', { body: bookingBody({ ...fields }), ...options });
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

describe('the history', () => {
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

  const day = 24 * 3_600_000;

  const get = (path: string, facilities?: readonly string[]): Promise<Response> =>
    facilities
      ? system.token(facilities).then((token) => system.call('GET', path, { token }))
      : system.call('GET', path);
  const historyOf = async (id = '', facilities?: readonly string[]): Promise<readonly Entry[]> => {
    const { status, body } = await get(`/api/bookings/${id}/history`, facilities);
    expect(status).toBe(200);
    return body.items;
  };
  /** Version and action of each entry. */
  const stepsOf = (entries: readonly Entry[]) => entries.map(({ version, action }) => `${version} ${action}`);
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
    const fieldsWith = (userAlias: string) =>
      Object.entries({ externalBookingId, bayId, userAlias, startDate, endDate });
    const createdWith = (userAlias: string) =>
      Object.fromEntries(fieldsWith(userAlias).map(([name, to]) => [name, { from: null, to }]));
    const deletedWith = (userAlias: string) =>
      Object.fromEntries(fieldsWith(userAlias).map(([name, from]) => [name, { from, to: null }]));
    const other = { clientId: 'client-2', subject: 'acc-2' };
    const changed = { userAlias: { from: 'Ada', to: 'Bob' } };
    const [at, requestId] = [expect.any(String), expect.any(String)];
    expect(await historyOf(id)).toEqual([
      { version: 1, action: 'created', at, actor, requestId: 'request-1', changes: createdWith('Ada') },
      { version: 2, action: 'updated', at, actor: other, requestId, changes: changed },
      { version: 3, action: 'deleted', at, actor, requestId, changes: deletedWith('Bob') },
    ]);
  });

  test('a PUT that changes nothing is a version, and a replay or a refused request is none', async () => {
    const body = bookingBody({ bayId: 'bay-n1-02' });
    const headers = { 'Idempotency-Key': 'history-key' };
    const { id } = (await system.call('POST', '/api/bookings', { body, headers })).body;
    await Promise.all(Array.from({ length: 8 }, () => system.call('POST', '/api/bookings', { body, headers })));
    await system.call('PUT', `/api/bookings/${id}`, { body });
    expect((await system.call('PUT', `/api/bookings/${id}`, { body: { ...body, bayId: 'no-bay' } })).status).toBe(400);
    const stale = { 'If-Match': '"1-1"' };
    expect((await system.call('PUT', `/api/bookings/${id}`, { body, headers: stale })).status).toBe(412);
    expect((await system.call('DELETE', `/api/bookings/${id}`, { headers: stale })).status).toBe(412);
    const entries = await historyOf(id);
    expect(stepsOf(entries)).toEqual(['1 created', '2 updated']);
    expect(entries[1]?.changes).toEqual({});
  });

  test('a booking that moves is deleted in the old facility and created in the new one', async () => {
    const { id } = await create({ bayId: 'bay-n1-03' });
    await update(id, { bayId: 'bay-s1-01' });
    await update(id, { bayId: 'bay-s1-02' });
    const north = await historyOf(id, ['fac-north']);
    const south = await historyOf(id, ['fac-south']);
    expect(stepsOf(north)).toEqual(['1 created', '2 deleted']);
    expect(Object.values(north[1]?.changes ?? {}).map(({ to }) => to)).toEqual([null, null, null, null]);
    expect(stepsOf(south)).toEqual(['2 created', '3 updated']);
    expect(Object.values(south[0]?.changes ?? {}).map(({ from }) => from)).toEqual([null, null, null, null]);
    expect(await historyOf(id)).toEqual([...north, ...south]);
    expect((await get(`/api/bookings/${id}/history`, ['fac-east'])).status).toBe(404);
    for (const unknown of ['x', '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c1d'])
      expect((await get(`/api/bookings/${unknown}/history`)).status).toBe(404);
  });

  test('the history of a bay and a day has deleted and moved bookings, newest first', async () => {
    const during = (bayId: string, startDate: string, endDate: string) => ({ bayId, startDate, endDate });
    const at = (bayId: string, hour: number) =>
      during(bayId, `2041-03-02T${hour}:00:00.000Z`, `2041-03-02T${hour + 1}:00:00.000Z`);
    const stays = await create(at('bay-n2-04', 10));
    const deleted = await create(at('bay-n2-04', 12));
    const movedAway = await create(at('bay-n2-04', 14));
    const movedInTime = await create(at('bay-n2-04', 16));
    const movedFacility = await create(at('bay-n2-04', 18));
    const long = await create(during('bay-n2-05', '2041-02-01T00:00:00Z', '2041-04-01T00:00:00Z'));
    await create(during('bay-n2-04', '2041-03-03T00:00:00Z', '2041-03-03T01:00:00Z'));
    await remove(deleted.id);
    await update(movedAway.id, at('bay-n2-03', 14));
    await update(movedAway.id, at('bay-n2-03', 15));
    await update(movedInTime.id, { bayId: 'bay-n2-04' });
    await update(movedFacility.id, at('bay-s1-04', 18));
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
    expect(await search(`bayIds=bay-n2-05&${saturday}`)).toMatchObject([{ bookingId: long.id }]);
    expect((await search(`bayIds=bay-n2-04&bayIds=bay-n2-05&${saturday}`)).length).toBe(expected.length + 1);
    expect((await search(saturday)).length).toBe(expected.length + 2);
    expect((await search('bayIds=bay-n2-05&startDate=2041-03-31T00:00:00Z')).length).toBe(1);
    expect(await search('bayIds=bay-n2-05&startDate=2041-04-01T00:00:00Z')).toEqual([]);
    expect(await search('bayIds=bay-n2-05&endDate=2041-02-01T00:00:00Z')).toEqual([]);
  });

  test('the history of a facility can be filtered by actor and action, and has pages', async () => {
    const token = await system.token(['fac-north'], { client_id: 'client-filter', sub: 'acc-filter' });
    const { id } = await create({ bayId: 'bay-n1-05' }, { token });
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
    for (const filter of ['action=moved', 'startDate=2041-01-01', 'pageSize=1001', 'subject='])
      expect([filter, ...(await errorsOf(`facilityId=fac-north&${filter}`))]).toEqual([filter, 400, 'ERR00002']);
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
    const versions = (id = '') =>
      system.db('booking_change').where('booking_id', id).orderBy('version').pluck('version');
    const soon = new Date(Date.now() + 60_000);
    // A deletion that is still in the feed stays in the log.
    await removeExpiredChanges(system.db, soon);
    expect([await versions(existing.id), await versions(deleted.id)]).toEqual([[2], [2]]);
    await removeFromFeed(system.db, soon);
    await removeExpiredChanges(system.db, soon);
    expect([await versions(existing.id), await versions(deleted.id)]).toEqual([[2], []]);
  });
});

describe('the change feed', () => {
  interface Item {
    readonly state: string;
    readonly kind: string;
    readonly id: string;
    /** The number of the change. */
    readonly modified: number;
    readonly actor: object;
    readonly data?: Readonly<Record<string, unknown>>;
  }

  const pathOf = (address: string): string => address.slice(baseUrl.length);
  const readPage = (parameters: string, headers: Record<string, string> = {}): Promise<Response> =>
    system.call('GET', `/api/booking-changes?${parameters}`, { headers });

  /** Reads all pages of the feed. Returns the items, and the address of the page that follows them. */
  async function readAll(facilityId: string, limit = 1000): Promise<{ items: Item[]; next: string }> {
    const items: Item[] = [];
    let next = `${baseUrl}/api/booking-changes?facilityId=${facilityId}&limit=${limit}`;
    for (;;) {
      const { status, body } = await system.call('GET', pathOf(next));
      expect(status).toBe(200);
      items.push(...body.items);
      if (body.items.length === 0) return { items, next: body.next };
      next = body.next;
    }
  }

  /** Returns the items that were added since the page whose `next` is given. */
  async function readNew(next: string): Promise<Item[]> {
    return (await system.call('GET', pathOf(next))).body.items;
  }

  test('latest=true returns an empty page whose next continues after the last change', async () => {
    await create({ bayId: 'bay-n1-01' });
    const { body } = await readPage('facilityId=fac-north&latest=true');
    expect(body.items).toEqual([]);
    expect(body.next).toBe(body._links.next.href);
    const booking = await create({ bayId: 'bay-n1-02' });
    expect(await readNew(body.next)).toMatchObject([{ id: booking.id }]);
  });

  test('each booking appears once, at the place of its latest change, and data is the booking as in a list', async () => {
    const { next } = await readAll('fac-north');
    const [first, second] = [await create({ bayId: 'bay-n1-01' }), await create({ bayId: 'bay-n1-02' })];
    expect(pluck(await readNew(next), 'id').toSorted()).toEqual([first.id, second.id].toSorted());
    await update(first.id, { bayId: 'bay-n1-03' });
    const items = (await readAll('fac-north')).items.filter(({ id }) => id === first.id || id === second.id);
    expect(items.map(({ id, state, kind }) => ({ id, state, kind }))).toEqual([
      { id: second.id, state: 'updated', kind: 'Booking' },
      { id: first.id, state: 'updated', kind: 'Booking' },
    ]);
    const list = await system.call('GET', `/api/bookings?ids=${first.id}`);
    expect(items[1]?.data).toEqual(list.body.items[0]);
    expect(items.map((item) => item.actor)).toEqual([actor, actor]);
  });

  test('a deleted booking stays in the feed, without data', async () => {
    const booking = await create({ bayId: 'bay-n1-01' });
    const { next } = await readAll('fac-north');
    await remove(booking.id);
    const [item] = await readNew(next);
    expect(item).toEqual({ state: 'deleted', kind: 'Booking', id: booking.id, modified: expect.any(Number), actor });
  });

  test('self and next always contain all parameters, and are equal on the last page', async () => {
    await create({ bayId: 'bay-s1-02' });
    const first = await readPage('facilityId=fac-south&limit=1');
    const modified = first.body.items[0].modified;
    const address = (number: number, limit: number) =>
      `${baseUrl}/api/booking-changes?facilityId=fac-south&afterChangeNumber=${number}&removed=0&limit=${limit}`;
    expect(first.body._links.self).toEqual({ method: 'GET', href: address(0, 1) });
    expect(first.body._links.next).toEqual({ method: 'GET', href: address(modified, 1) });
    expect(first.body.next).toBe(address(modified, 1));
    const last = await system.call('GET', pathOf((await readAll('fac-south', 500)).next));
    expect(last.body.items).toEqual([]);
    expect(last.body._links.self.href).toBe(last.body.next);
  });

  test('facilityId is mandatory when the token names several facilities, and must be one of them', async () => {
    const description = async (parameters: string) => (await readPage(parameters)).body.errors[0].description;
    expect(await description('')).toBe("'facilityId' is mandatory.");
    expect(await description('facilityId=fac-east')).toBe("'facilityId' is invalid.");
    const token = await system.token(['fac-south']);
    const single = await system.call('GET', '/api/booking-changes', { token });
    expect(single.status).toBe(200);
    expect(single.body.next).toContain('facilityId=fac-south');
  });

  test.each(['afterChangeNumber=-1', 'afterChangeNumber=x', 'limit=0', 'limit=1001', 'removed=-1'])(
    '%s returns ERR00002',
    async (parameter) => {
      expect(errorCodes(await readPage(`facilityId=fac-north&${parameter}`))).toEqual(['ERR00002']);
    },
  );

  test('410 is returned only if a change was removed whose number is above both removed and afterChangeNumber', async () => {
    const { id = '' } = await create({ bayId: 'bay-n1-04' });
    const old = await readPage('facilityId=fac-north&limit=1');
    const atEnd = await readAll('fac-north');
    await remove(id);
    const afterDeletion = await readAll('fac-north');
    // The time is in the future, so all deletions are older.
    await removeFromFeed(system.db, new Date(Date.now() + 60_000));
    // These two readers have not read the deletion that was removed.
    expect(errorCodes(await system.call('GET', pathOf(atEnd.next)))).toEqual(['ERR00410']);
    expect((await system.call('GET', pathOf(old.body.next))).status).toBe(410);
    // This reader read the deletion before the deletion was removed from the feed.
    expect((await system.call('GET', pathOf(afterDeletion.next))).status).toBe(200);
    // This reader begins after the removal. Its links contain the number of the removed deletion, so that it gets no
    // 410.
    const again = await readPage('facilityId=fac-north&limit=1');
    const removed = Number(new URL(again.body.next).searchParams.get('removed'));
    expect(removed).toBeGreaterThan(0);
    expect((await system.call('GET', pathOf(again.body.next))).status).toBe(200);
    const { items } = await readAll('fac-north');
    expect(items.map((item) => item.id)).not.toContain(id);
  });

  test('Prefer: wait delays an empty page until a booking of this facility changes', async () => {
    const { next } = await readAll('fac-south');
    // The test does not wait for this response yet, because the response arrives only after a booking has changed.
    const waiting = system.call('GET', pathOf(next), { headers: { Prefer: 'wait=20' } });
    await create({ bayId: 'bay-n1-05' });
    const { id } = await create({ bayId: 'bay-s1-03' });
    const response = await waiting;
    expect(response.headers['preference-applied']).toBe('wait=20');
    expect(response.body.items).toMatchObject([{ id, state: 'updated' }]);
  });

  test('Prefer: wait delays an empty page until the time is over', async () => {
    const { next } = await readAll('fac-south');
    const begin = performance.now();
    const response = await system.call('GET', pathOf(next), { headers: { Prefer: 'respond-async, wait="1"' } });
    // A timer of Node can fire a few milliseconds early.
    expect(performance.now() - begin).toBeGreaterThan(990);
    expect([response.status, response.body.items]).toEqual([200, []]);
    expect(response.headers['preference-applied']).toBe('wait=1');
  });

  test('Preference-Applied contains at most 25 seconds, and a malformed wait preference is ignored', async () => {
    // The feed is not empty, so the responses are not delayed.
    await create({ bayId: 'bay-s1-04' });
    const applied = async (Prefer: string) =>
      (await readPage('facilityId=fac-south', { Prefer })).headers['preference-applied'];
    expect(await applied('handling=strict, wait=2')).toBe('handling=strict, wait=2');
    expect(await applied('wait=300')).toBe('wait=25');
    for (const preference of ['wait', 'wait=soon', 'wait=-1', 'wait=1.5', 'respond-async'])
      expect(await applied(preference)).toBeUndefined();
  });

  test('a recount adds changes to the feed that were made outside the service', async () => {
    const [updated, deleted] = [await create({ bayId: 'bay-n1-06' }), await create({ bayId: 'bay-n1-06' })];
    const { next } = await readAll('fac-north');
    await query(system.db, 'update booking set version = version + 1 where id = $1::uuid', [updated.id]);
    await query(system.db, 'delete from booking where id = $1::uuid', [deleted.id]);
    await recount(system.db, bookingState);
    const items = await readNew(next);
    expect(items.map(({ id, state }) => `${id} ${state}`).toSorted()).toEqual(
      [`${updated.id} updated`, `${deleted.id} deleted`].toSorted(),
    );
  });

  test('after a restore, numbers continue above all earlier ones, and readers get 410 once', async () => {
    const { next } = await readAll('fac-north');
    const untouched = await create({ bayId: 'bay-n1-08' });
    const [seen] = await readNew(next);
    // The documented command for a restored disk snapshot, after which bookings and their changes are lost.
    const [command = ''] = /update database_identity set value = '\w+'/.exec(read('docs/operations/back-up.md')) ?? [];
    await query(system.db, command);
    const statuses = await Promise.all([1, 2, 3, 4].map(async () => (await system.call('GET', pathOf(next))).status));
    expect(statuses).toEqual([410, 410, 410, 410]);
    const again = await readAll('fac-north');
    expect(again.items.map(({ id }) => id)).toContain(untouched.id);
    expect((await system.call('GET', pathOf(again.next))).status).toBe(200);
    const created = await create({ bayId: 'bay-n1-08' });
    const items = await readNew(again.next);
    expect(items).toMatchObject([{ id: created.id }]);
    expect(items[0]?.modified).toBeGreaterThan((seen?.modified ?? 0) + 1_000_000);
    // A facility that was imported after the backup is imported again.
    const lost = { id: 'fac-lost', name: 'Lost Range', timeZone: 'UTC', locations: [] };
    await importPlaces(system.db, { facilities: [lost] });
    const path = '/api/booking-changes?facilityId=fac-lost&afterChangeNumber=5';
    const token = await system.token(['fac-lost']);
    expect((await system.call('GET', path, { token })).status).toBe(410);
  });

  test('the example in docs/api.md that follows the feed reads every change', async () => {
    const [, code = ''] = /```js\n(async function followChanges[\s\S]*?)```/.exec(read('docs/api.md')) ?? [];
    // The example calls `fetch` with addresses below `baseUrl`. This function sends the requests to the test system.
    const fetchFromSystem = (address: string, init: object) => fetch(address.replace(baseUrl, system.url), init);
    const followChanges = new Function('fetch', `${code}return followChanges;`)(fetchFromSystem);
    const removed = await create({ bayId: 'bay-s1-05' });
    const last = await create({ bayId: 'bay-s1-05' });
    const bookings = new Map<string, Item>();
    let stored: string | undefined;
    const stop = new AbortController();
    const following = followChanges(
      baseUrl,
      'fac-south',
      () => system.token(['fac-south']),
      {
        loadNext: () => stored,
        clear: () => bookings.clear(),
        save: (items: Item[], next: string) => {
          for (const item of items)
            if (item.state === 'updated') bookings.set(item.id, item);
            else bookings.delete(item.id);
          stored = next;
          if (bookings.has(last.id as string) && !bookings.has(removed.id as string)) stop.abort();
        },
      },
      stop.signal,
    );
    await remove(removed.id);
    await following;
    const ids = await system.db('booking').where('facility_id', 'fac-south').pluck('id');
    expect(new Set(bookings.keys())).toEqual(new Set(ids));
  }, 30_000);

  test('while clients write and compaction runs, the feed returns every change in the order of modified', async () => {
    const bays = ['bay-n1-01', 'bay-n1-02', 'bay-n2-01', 'bay-s1-01'];
    let isWriting = true;
    const write = async (): Promise<void> => {
      for (let round = 0; round < 6; round += 1) {
        const { id = '' } = await create({ bayId: bays[round % bays.length] });
        await update(id, { bayId: bays[(round + 1) % bays.length] });
        if (round % 2 === 0) await remove(id);
      }
    };
    const follow = async (facilityId: string) => {
      const seen = new Set<string>();
      let next = `${baseUrl}/api/booking-changes?facilityId=${facilityId}&limit=7`;
      let lastModified = 0;
      let isLastRound = false;
      for (;;) {
        const { body } = await system.call('GET', pathOf(next));
        for (const { id, state, modified } of body.items as Item[]) {
          expect(modified).toBeGreaterThan(lastModified);
          lastModified = modified;
          if (state === 'updated') seen.add(id);
          else seen.delete(id);
        }
        next = body.next;
        // The writers may have ended while an empty page was read. The page may then lack their last changes, so the
        // reader stops only after one more empty page.
        if (body.items.length === 0 && isLastRound) return [...seen].toSorted();
        if (body.items.length === 0) isLastRound = !isWriting;
      }
    };
    const compact = async (): Promise<void> => {
      while (isWriting) await compactChanges(system.db);
    };
    const readers = ['fac-north', 'fac-south'].map(follow);
    const compacting = compact();
    await Promise.all(Array.from({ length: 32 }, write));
    isWriting = false;
    await compacting;
    for (const [index, facility] of ['fac-north', 'fac-south'].entries()) {
      const ids = await system.db('booking').where('facility_id', facility).pluck('id');
      expect(await readers[index]).toEqual(ids.toSorted());
    }
  }, 60_000);

  /** Adds three changes of 2,000 bookings that are copies of the booking. */
  const addOutsideChanges = (id: string | undefined) =>
    query(
      system.db,
      `insert into booking_change (facility_id, booking_id, version, at, action, before, after)
     select facility_id, overlay(booking_id::text placing lpad(n::text, 12, '0') from 25)::uuid, v, now(), case v when 1 then 'created' else 'updated' end,
       case when v > 1 then after end, after || jsonb_build_object('userAlias', 'v' || v)
     from booking_change, generate_series(1, 2000) n, generate_series(1, 3) v where booking_id = $1 and version = 1`,
      [id],
    );

  test('6,000 changes from outside the service are numbered in batches, and a full page waits for none but its own', async () => {
    const { id } = await create({ bayId: 'bay-s1-02' });
    const { items: before } = await readAll('fac-south');
    const other = await createExtraSystem({ sharing: system, poolMax: 1 });
    const readOther = () => other.call('GET', '/api/booking-changes?facilityId=fac-south&limit=500');
    // PostgreSQL decides after five runs whether it keeps the plan of a connection, here for a small log.
    for (let run = 0; run < 8; run += 1) {
      await update(id, { bayId: 'bay-s1-02' });
      await readOther();
    }
    await addOutsideChanges(id);
    const { body } = await readOther();
    expect(body.items).toHaveLength(500);
    expect(await system.db('booking_change').where('number', null)).toHaveLength(4_000);
    expect(await compactChanges(system.db, 399)).toBe(true);
    const { items } = await readAll('fac-south');
    const added = items.filter(({ data }) => data?.userAlias === 'v3');
    expect(new Set(added.map((item) => item.id)).size).toBe(2_000);
    expect(items).toHaveLength(before.length + 2_000);
    const wrong = await query(
      system.db,
      `select from booking_change first join booking_change change using (facility_id, booking_id)
     where first.version = 1 and facility_id = 'fac-south' and booking_id <> $1 and first.action = 'created'
       and change.after ->> 'userAlias' like 'v_' and change.first_number <> first.number`,
      [id],
    );
    expect(wrong).toEqual([]);

    await query(system.db, "update booking_change set at = '2020-01-01Z' where after ->> 'userAlias' like 'v_'");
    const old = new Date('2020-01-02Z');
    let batches = 0;
    while (await removeExpiredChanges(system.db, old, 1_000)) batches += 1;
    // The last versions are still in the feed.
    expect(batches).toBe(4);
    expect(await system.db('booking_change').where('at', '2020-01-01Z').where('version', '<', 3)).toEqual([]);
  }, 60_000);
});
