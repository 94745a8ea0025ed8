// Tests POST, GET, PUT and DELETE /api/booking-groups (docs/behaviour.md, "Groups"), and that a dry run says what the
// request itself would answer.
import { query } from '@bay-booking/service/database/database';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import { bookingBody, errorCodes, pluck } from './support/booking-requests.ts';
import { useTestSystem } from './support/test-system.ts';

let now = new Date();
const system = useTestSystem({ now: () => now });

const groupsPath = '/api/booking-groups';
const post = (bookings: unknown, fields: object = {}, headers: Record<string, string> = {}) =>
  system.call('POST', groupsPath, { body: { bookings, ...fields }, headers });
const get = (path: string) => system.call('GET', path);

/** Bodies with the same times in these bays. */
function party(bayIds: readonly string[], fields: object = {}) {
  const { startDate, endDate } = bookingBody();
  return bayIds.map((bayId) => ({ ...bookingBody({ bayId, startDate, endDate }), ...fields }));
}
const bays = ['bay-n1-01', 'bay-n1-02', 'bay-n1-03'];

/** The errors in the form `CODE index`. */
const errorsOf = ({ body }: Response): string[] =>
  (body.errors as { code: string; contextData: { index?: number } }[]).map(
    ({ code, contextData: { index } }) => `${code} ${index}`,
  );

async function countRows(): Promise<unknown> {
  const tables = ['booking', 'booking_reference', 'booking_change', 'idempotency_key', 'booking_hold'];
  const counts = await Promise.all(tables.map((table) => query(system.db, `select count(*) from ${table}`)));
  return counts.flat();
}

describe('POST', () => {
  test('creates ordinary bookings with a groupId, which the search, the feed and GET of the group return', async () => {
    const bookings = party(bays, { correlationId: 'party' }).map((body, index) => ({
      ...body,
      userAlias: `G${index}`,
    }));
    const { status, body, headers } = await post(bookings);
    expect(status).toBe(201);
    const self = `https://bookings.example${groupsPath}/${body.id}`;
    expect(headers.location).toBe(self);
    expect(body._links).toEqual({ self: { method: 'GET', href: self }, delete: { method: 'DELETE', href: self } });
    expect(body.bookings).toMatchObject(bookings.map((booking) => ({ ...booking, groupId: body.id })));

    const found = await get(`/api/bookings?groupIds=${body.id},no-uuid&bayIds=${bays[0]},${bays[1]}`);
    expect(found.body.items).toMatchObject([{ groupId: body.id }, { groupId: body.id }]);
    expect(found.body._links.self.href).toContain('groupIds');
    expect((await get('/api/bookings?groupIds=no-uuid')).body.total).toBe(0);
    const group = await get(`${groupsPath}/${body.id}`);
    expect(group.headers.etag).toBe(headers.etag);
    const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
    expect(group.body).toEqual({ ...body, bookings: body.bookings.toSorted(byId) });
    expect((await get(`/api/bookings/${body.bookings[2].id}`)).body).toEqual(body.bookings[2]);
    const feed = await get('/api/booking-changes?facilityId=fac-north');
    const inFeed = feed.body.items.filter(({ data }: { data?: { groupId?: string } }) => data?.groupId === body.id);
    expect(inFeed).toHaveLength(3);
  });

  test('reports every error of every booking with its index, and stores nothing', async () => {
    const taken = bookingBody({ bayId: 'bay-n1-04', externalBookingId: 'group-used' });
    await system.call('POST', '/api/bookings', { body: taken });
    const before = await countRows();
    const response = await post(
      [
        bookingBody({ externalBookingId: 'group-free' }),
        { ...taken, externalBookingId: 'group-used' },
        { ...bookingBody({ bayId: 'nowhere' }), userAlias: '', externalBookingId: 'group-x' },
        { ...bookingBody(), startDate: 'x', correlationId: null },
        { ...bookingBody({ bayId: 'bay-n1-99' }), endDate: '2020-01-01T00:00:00Z' },
        { ...bookingBody({ bayId: '\0' }), userAlias: '\ud800' },
        'no booking',
      ],
      {},
      { 'Idempotency-Key': 'group-errors' },
    );
    expect(response.status).toBe(400);
    expect(errorsOf(response).join()).toBe(
      'ERR00001 2,ERR00002 3,ERR00002 5,ERR00002 6,ERR00010 4,ERR00011 4,ERR00012 2,ERR00012 5,' +
        'BOOK00001 1,BOOK00002 1,BOOK00003 4',
    );
    expect(response.body.errors[0]).toMatchObject({
      description: "'userAlias' is mandatory.",
      contextData: { externalBookingId: 'group-x', index: 2, field: 'bookings[2].userAlias' },
    });
    expect(await countRows()).toEqual(before);
    const free = { ...bookingBody(), externalBookingId: 'group-free' };
    expect((await post([free], {}, { 'Idempotency-Key': 'group-errors' })).status).toBe(201);
  });

  test('BOOK00001 is reported with every other error; a dry run reports it only for bookings of the own facilities', async () => {
    const externalBookingId = 'group-of-south';
    const south = bookingBody({ bayId: 'bay-s1-02', externalBookingId });
    expect((await system.call('POST', '/api/bookings', { body: south })).status).toBe(201);
    const token = await system.token(['fac-north']);
    const request = async (bayId: string, fields: object, as?: string) => {
      const bookings = [bookingBody({ bayId, externalBookingId })];
      return system.call('POST', groupsPath, { body: { bookings, ...fields }, ...(as && { token: as }) });
    };
    expect(errorsOf(await request('bay-nowhere', {}))).toEqual(['ERR00012 0', 'BOOK00001 0']);
    expect(errorsOf(await request('bay-nowhere', { dryRun: true }))).toEqual(['ERR00012 0', 'BOOK00001 0']);
    expect(errorsOf(await request('bay-n1-01', { dryRun: true }))).toEqual(['BOOK00001 0']);
    expect(errorsOf(await request('bay-nowhere', { dryRun: true }, token))).toEqual(['ERR00012 0']);
    expect((await request('bay-n1-01', { dryRun: true }, token)).status).toBe(200);
    expect(errorsOf(await request('bay-n1-01', {}, token))).toEqual(['BOOK00001 0']);
  });

  test('bookings of one request conflict with each other', async () => {
    const [first, second] = party(['bay-n1-01', 'bay-n1-02'], { externalBookingId: 'group-twice' });
    expect(errorsOf(await post([first, second]))).toEqual(['BOOK00001 0', 'BOOK00001 1']);
    const body = bookingBody();
    const start = Date.parse(body.startDate);
    const inside = { ...body, startDate: new Date(start + 60_000).toISOString() };
    expect(errorsOf(await post([body, inside, party(['bay-n1-02'])[0]]))).toEqual(['BOOK00002 0', 'BOOK00002 1']);
    const instant = { ...body, startDate: body.endDate };
    expect((await post([body, instant])).status).toBe(201);
  });

  test.each([
    ['no array', { bookings: {} }],
    ['no booking', { bookings: [] }],
    ['201 bookings', { bookings: Array.from({ length: 201 }, () => bookingBody()) }],
    ['bays of two facilities', { bookings: party(['bay-n1-01', 'bay-s1-01']) }],
  ])('%s returns ERR00002 for bookings', async (_name, body) => {
    const response = await system.call('POST', groupsPath, { body });
    expect(errorCodes(response)).toEqual(['ERR00002']);
    expect(response.body.errors[0].description).toBe("'bookings' is invalid.");
    expect(response.body.errors[0].contextData).not.toHaveProperty('index');
  });

  test('a request without bookings returns ERR00001, and a token of another facility ERR00012', async () => {
    expect(errorCodes(await system.call('POST', groupsPath, { body: {} }))).toEqual(['ERR00001']);
    const token = await system.token(['fac-east']);
    const foreign = await system.call('POST', groupsPath, { body: { bookings: party(['bay-n1-01']) }, token });
    expect(errorsOf(foreign)).toEqual(['ERR00012 0']);
  });

  test('of the thousands of closures of 200 bookings, only the first one of each is read', async () => {
    await query(
      system.db,
      `insert into booking_closure
       select 'fac-south', gen_random_uuid(), null, 'loc-south-1', day, day + interval '1 day',
         case when day = '2098-01-01' then 'First' else repeat('long', 2500) end, now(), now()
       from generate_series('2098-01-01'::timestamptz, '2100-09-01', interval '1 day') day`,
    );
    const times = { startDate: '2098-01-01T12:00:00Z', endDate: '2100-09-01T12:00:00Z' };
    const { body } = await post(Array.from({ length: 200 }, () => bookingBody({ bayId: 'bay-s1-01', ...times })));
    expect(body.errors.at(-1)).toMatchObject({ code: 'BOOK00003', moreInfo: 'blocked: First' });
    await query(system.db, "delete from booking_closure where facility_id = 'fac-south'");
  });

  test('200 bookings with all metadata fit into a body, which may have 3 MB', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`key-${index}`, 'x'.repeat(500)]));
    const bookings = Array.from({ length: 200 }, () => bookingBody({ bayId: 'bay-n1-06', metadata }));
    const { status, body } = await post(bookings);
    expect(status).toBe(201);
    expect(body.bookings).toHaveLength(200);
    expect(errorCodes(await post([{ ...bookingBody(), note: 'x'.repeat(3_000_000) }]))).toEqual(['ERR00413']);
  });

  test('several bookings may use one hold that contains them, and a refused request keeps it', async () => {
    const whole = bookingBody({ bayId: 'bay-n1-08' });
    const middle = new Date(Date.parse(whole.startDate) + 1_800_000).toISOString();
    const { id: holdId } = (await system.call('POST', '/api/booking-holds', { body: whole })).body;
    const holdPath = `/api/booking-holds/${holdId}`;
    const parts = [{ endDate: middle }, { startDate: middle }].map((part) => ({ ...whole, ...part, holdId }));
    expect(errorsOf(await post([...parts, ...party(['bay-n1-09'], { holdId })]))).toEqual(['ERR00002 2']);
    expect((await get(holdPath)).status).toBe(200);
    expect((await post(parts)).status).toBe(201);
    expect((await get(holdPath)).status).toBe(404);
  });
});

describe('GET and DELETE', () => {
  const create = async () => (await post(party(['bay-n1-01', 'bay-n1-02']))).body;

  test('a group is its bookings: it changes with them, and ends with the last one', async () => {
    const { id, bookings } = await create();
    const path = `${groupsPath}/${id}`;
    const etags = new Set([(await get(path)).headers.etag]);
    const update = (fields: object) =>
      system.call('PUT', `/api/bookings/${bookings[0].id}`, { body: { ...bookings[0], ...fields } });
    await update({ userAlias: 'Bob' });
    const changed = await get(path);
    etags.add(changed.headers.etag);
    expect(pluck(changed.body.bookings, 'userAlias').sort()).toEqual(['Ann', 'Bob']);
    const unchanged = await system.call('GET', path, { headers: { 'If-None-Match': changed.headers.etag as string } });
    expect(unchanged.status).toBe(304);
    // A booking that moves to another facility leaves the group.
    const moved = await update({ bayId: 'bay-s1-01' });
    expect([moved.status, moved.body.groupId]).toEqual([200, undefined]);
    const rest = await get(path);
    expect(rest.body.bookings).toHaveLength(1);
    etags.add(rest.headers.etag);
    expect(etags.size).toBe(3);
    await system.call('DELETE', `/api/bookings/${bookings[1].id}`);
    expect((await get(path)).status).toBe(404);
    expect((await system.call('DELETE', path)).status).toBe(404);
  });

  test('DELETE deletes all bookings, and checks If-Match', async () => {
    const { id, bookings } = await create();
    const path = `${groupsPath}/${id}`;
    const old = (await get(path)).headers.etag as string;
    await system.call('PUT', `/api/bookings/${bookings[1].id}`, { body: { ...bookings[1], userAlias: 'Bob' } });
    expect((await system.call('DELETE', path, { headers: { 'If-Match': old } })).status).toBe(412);
    const current = (await get(path)).headers.etag as string;
    expect((await system.call('DELETE', path, { headers: { 'If-Match': current } })).status).toBe(204);
    expect((await get(path)).status).toBe(404);
    const feed = await get('/api/booking-changes?facilityId=fac-north');
    const states = new Map(feed.body.items.map((item: { id: string; state: string }) => [item.id, item.state]));
    expect(bookings.map((booking: { id: string }) => states.get(booking.id))).toEqual(['deleted', 'deleted']);
  });

  test('DELETE keeps bookings that have ended', async () => {
    const at = (minutes: number) => new Date(now.getTime() + minutes * 60_000).toISOString();
    const soon = { ...bookingBody({ bayId: 'bay-n2-01' }), startDate: at(1), endDate: at(30) };
    const { body } = await post([soon, { ...soon, startDate: at(30), endDate: at(60) }]);
    const path = `${groupsPath}/${body.id}`;
    const start = now;
    now = new Date(start.getTime() + 40 * 60_000);
    expect((await system.call('DELETE', path)).status).toBe(204);
    const rest = await get(path);
    expect(pluck(rest.body.bookings, 'id')).toEqual([body.bookings[0].id]);
    expect((await system.call('DELETE', path)).status).toBe(204);
    expect((await get(path)).headers.etag).toBe(rest.headers.etag);
    now = start;
  });

  test('a group of another facility or with an impossible id is not found', async () => {
    const { id } = await create();
    const token = await system.token(['fac-south', 'fac-east']);
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const body = method === 'PUT' ? { bookings: party(['bay-n1-01']) } : undefined;
      expect((await system.call(method, `${groupsPath}/${id}`, { token, body })).status).toBe(404);
      expect((await system.call(method, `${groupsPath}/not-a-uuid`, { body })).status).toBe(404);
    }
    expect((await get(`${groupsPath}/${id.toUpperCase()}`)).body.id).toBe(id);
  });
});

describe('PUT', () => {
  type Member = Record<'id' | 'bayId' | 'userAlias' | 'startDate' | 'endDate', string>;
  const put = (id: string, bookings: unknown, fields: object = {}, headers: Record<string, string> = {}) =>
    system.call('PUT', `${groupsPath}/${id}`, { body: { bookings, ...fields }, headers });
  const entryOf = ({ id, bayId, userAlias, startDate, endDate }: Member) =>
    ({ id, bayId, userAlias, startDate, endDate }) as Member;
  async function newGroup(fields: object = {}): Promise<{ id: string; members: [Member, Member, Member] }> {
    const { status, body } = await post(party(bays, fields));
    expect(status).toBe(201);
    return { id: body.id, members: body.bookings.map(entryOf) };
  }
  const historyOf = async (id: string) => pluck((await get(`/api/bookings/${id}/history`)).body.items, 'action');

  test('changes, creates and deletes bookings at once, and a booking that stays the same gets no change', async () => {
    const { id, members } = await newGroup({ metadata: { table: '5' } });
    const [same, changed, left] = members;
    const [added] = party(['bay-n1-04'], { externalBookingId: `added-${id}` }) as [object];
    const renamed = { ...changed, id: changed.id.toUpperCase(), userAlias: 'Changed' };
    const { status, body, headers } = await put(id, [added, renamed, same]);
    expect(status).toBe(200);
    expect(body.bookings).toHaveLength(3);
    expect(body.bookings).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ...same, metadata: { table: '5' } }),
        expect.objectContaining({ id: changed.id, userAlias: 'Changed', groupId: id, metadata: { table: '5' } }),
        expect.objectContaining({ ...added, groupId: id }),
      ]),
    );
    const found = await get(`${groupsPath}/${id}`);
    expect([found.body, found.headers.etag]).toEqual([body, headers.etag]);
    expect((await get(`/api/bookings/${left.id}`)).status).toBe(404);
    expect(await historyOf(same.id)).toEqual(['created']);
    expect(await historyOf(changed.id)).toEqual(['created', 'updated']);
    expect(await historyOf(left.id)).toEqual(['created', 'deleted']);
    // The deleted booking has freed its bay.
    expect((await system.call('POST', '/api/bookings', { body: { ...left, id: undefined } })).status).toBe(201);
  });

  test('two bookings exchange their bays, and three rotate', async () => {
    const { id, members } = await newGroup();
    const [first, second, third] = members;
    const swapped = await put(id, [{ ...first, bayId: second.bayId }, { ...second, bayId: first.bayId }, third]);
    expect(swapped.status).toBe(200);
    const bayOf = async (member: Member) => (await get(`/api/bookings/${member.id}`)).body.bayId;
    expect([await bayOf(first), await bayOf(second)]).toEqual([second.bayId, first.bayId]);
    const rotated = [third, second, first].map(({ bayId }, index) => ({ ...(members[index] as Member), bayId }));
    expect((await put(id, rotated)).status).toBe(200);
    expect(await Promise.all(members.map(bayOf))).toEqual(pluck(rotated, 'bayId'));
  });

  test('reports every error with its index and path, and changes nothing', async () => {
    const { id, members } = await newGroup();
    const other = await newGroup();
    const [taken] = party(['bay-n1-05']) as [object];
    await system.call('POST', '/api/bookings', { body: taken });
    const before = await countRows();
    const [first] = members;
    const response = await put(id, [
      { ...first, endDate: 'never' },
      { ...first, userAlias: 'Again' },
      other.members[0],
      { ...first, id: 'no-uuid' },
      taken,
    ]);
    expect(response.status).toBe(400);
    // The entries 1 to 3 are for the same bay and times.
    const overlaps = [1, 2, 3, 4].map((index) => `BOOK00002 ${index}`);
    expect(errorsOf(response).toSorted()).toEqual([...overlaps, ...[0, 1, 2, 3].map((index) => `ERR00002 ${index}`)]);
    const fields = pluck(pluck(response.body.errors, 'contextData'), 'field');
    expect(fields).toEqual(expect.arrayContaining([1, 2, 3].map((index) => `bookings[${index}].id`)));
    expect(await countRows()).toEqual(before);
    expect(errorCodes(await put(id, []))).toEqual(['ERR00002']);
    const [south] = party(['bay-s1-01']);
    expect(errorCodes(await put(id, [first, south]))).toEqual(['ERR00002']);
    for (const empty of ['', null]) expect(errorCodes(await put(id, [{ ...first, id: empty }]))).toContain('ERR00002');
    expect((await get(`${groupsPath}/${id}`)).body.bookings).toHaveLength(3);
  });

  test('bookings that have ended stay and cannot be named', async () => {
    const { id, members } = await newGroup();
    const [first, second, third] = members;
    const dayAfter = (date: string) => new Date(Date.parse(date) + 86_400_000).toISOString();
    const { startDate, endDate } = bookingBody();
    const later = { startDate: dayAfter(startDate), endDate: dayAfter(endDate) };
    const moved = await put(id, [first, { ...second, ...later }, { ...third, ...later }]);
    expect(moved.status).toBe(200);
    now = new Date(Date.parse(first.endDate) + 60_000);
    try {
      expect(errorCodes(await put(id, [first]))).toEqual(expect.arrayContaining(['ERR00002']));
      const kept = await put(id, [{ ...second, ...later }]);
      expect(new Set(pluck(kept.body.bookings, 'id'))).toEqual(new Set([first.id, second.id]));
    } finally {
      now = new Date();
    }
  });

  test('of 16 requests at the same time, each writes completely, and the group ends as one of them says', async () => {
    const { id, members } = await newGroup();
    const [first, second, third] = members;
    const requests = Array.from({ length: 16 }, (_, index) => {
      const userAlias = `Writer ${index}`;
      const [a, b] = index % 2 === 0 ? [first.bayId, second.bayId] : [second.bayId, first.bayId];
      return [
        { ...first, bayId: a, userAlias },
        { ...second, bayId: b, userAlias },
        { ...third, userAlias },
      ];
    });
    const statuses = await Promise.all(requests.map(async (bookings) => (await put(id, bookings)).status));
    expect(new Set(statuses)).toEqual(new Set([200]));
    const { bookings } = (await get(`${groupsPath}/${id}`)).body as { bookings: Member[] };
    const result = bookings.map(entryOf).toSorted((x, y) => (x.id < y.id ? -1 : 1));
    const allowed = requests.map((request) => request.toSorted((x, y) => (x.id < y.id ? -1 : 1)));
    expect(allowed).toContainEqual(result);
    expect(await historyOf(first.id)).toHaveLength(17);
  });
});

describe('dry runs', () => {
  const day = 24 * 3_600_000;
  // Years after the bookings of the other tests.
  let today = Date.UTC(2060, 0, 1);
  afterAll(() => {
    now = new Date();
  });

  const timesAt = (hour: number) => ({
    startDate: new Date(today + hour * 3_600_000).toISOString(),
    endDate: new Date(today + (hour + 1) * 3_600_000).toISOString(),
  });
  /** What the requests meet. The first member of the group ends before the requests, the second is in a closure. */
  async function prepare() {
    today += day;
    now = new Date(today);
    const create = async (to: string, body: object) => {
      const response = await system.call('POST', to, { body });
      expect(response.status).toBe(201);
      return response;
    };
    const member = (bayId: string, hour: number) => ({ bayId, userAlias: 'Ann', ...timesAt(hour) });
    const bookings = [member('bay-n1-01', 1), member('bay-n1-01', 8), member('bay-n1-02', 8)];
    const group = await create(groupsPath, { bookings });
    const other = await create('/api/bookings', { ...member('bay-n1-03', 9), externalBookingId: `taken-${today}` });
    const hold = await create('/api/booking-holds', { bayId: 'bay-n1-02', ...timesAt(9) });
    await create('/api/booking-closures', { bayIds: ['bay-n1-01'], ...timesAt(8) });
    const ids: string[] = [...pluck(group.body.bookings, 'id'), other.body.id];
    now = new Date(today + 2 * 3_600_000);
    return { groupPath: `${groupsPath}/${group.body.id}`, ids, etag: group.headers.etag as string, hold };
  }

  interface Entry {
    readonly bayId: string;
    readonly hour: number;
    readonly userAlias: string;
    readonly member?: number;
    readonly hasHold?: boolean;
    readonly externalBookingId?: string;
  }
  const at = (bayId: string, fields: Partial<Entry> = {}): Entry => ({ bayId, userAlias: 'Ann', hour: 8, ...fields });
  const first = at('bay-n1-01', { member: 1 });
  const renamed = { ...first, userAlias: 'Bob' };
  test.each<[method: string, entries: Entry[], ifMatch: string, status: number]>([
    ['PUT', [first], '', 200],
    ['PUT', [renamed], 'current', 200],
    ['PUT', [renamed], '"stale"', 412],
    ['PUT', [at('bay-n1-02', { member: 1 }), at('bay-n1-01', { member: 2 })], '', 400],
    ['PUT', [at('bay-n1-02', { member: 2, hasHold: true }), at('bay-n1-02', { hour: 9 })], '', 400],
    ['PUT', [at('bay-n1-02', { member: 0 }), at('bay-n1-02', { member: 3 })], '', 400],
    ['PUT', [first, at('bay-n1-99', { userAlias: '' })], '', 400],
    ['POST', [at('bay-n1-03')], '', 201],
    ['POST', [at('bay-n1-02', { hour: 9, hasHold: true }), at('bay-n1-02', { hour: 10 })], '', 201],
    [
      'POST',
      [at('bay-n1-03', { externalBookingId: 'taken' }), at('bay-s1-01'), at('bay-nowhere', { hour: 0 })],
      '',
      400,
    ],
  ])(
    'a dry run has the status and the errors of the request itself: %s %j %s %i',
    async (method, entries, ifMatch, status) => {
      const { groupPath, ids, etag, hold } = await prepare();
      const bookings = entries.map(({ member, hour, hasHold, externalBookingId, ...fields }) => ({
        ...fields,
        ...timesAt(hour),
        ...(member !== undefined && { id: ids[member] }),
        ...(hasHold && { holdId: hold.body.id }),
        ...(externalBookingId && { externalBookingId: `${externalBookingId}-${today}` }),
      }));
      const send = (fields: object, headers = {}) =>
        system.call(method, method === 'POST' ? groupsPath : groupPath, {
          body: { bookings, ...fields },
          headers: { ...headers, ...(ifMatch && { 'If-Match': ifMatch === 'current' ? etag : ifMatch }) },
        });
      // A dry run does not read the key, which is invalid.
      const dry = await send({ dryRun: true }, { 'Idempotency-Key': 'not valid' });
      const real = await send({});
      expect(real.status).toBe(status);
      if (status < 300) expect([dry.status, dry.body]).toEqual([200, { bookings: [] }]);
      else expect([dry.status, dry.body]).toEqual([real.status, real.body]);
    },
  );

  test('an unchanged booking in a closure is no error, also beside other errors', async () => {
    const { groupPath, ids } = await prepare();
    const times = timesAt(8);
    const bookings = [
      { id: ids[1], bayId: 'bay-n1-01', userAlias: 'Ann', ...times },
      { id: ids[2], bayId: 'bay-nowhere', userAlias: 'Ann', ...times },
    ];
    const { body } = await system.call('PUT', groupPath, { body: { bookings } });
    expect(body.errors).toMatchObject([{ code: 'ERR00012', contextData: { index: 1 } }]);
  });
});
