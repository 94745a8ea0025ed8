// Compares the targets with the service: the responses to the same requests, and the rows that writes leave behind.
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { createTestIssuer, type TestIssuer } from '@bay-booking/testkit/issuer';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { tokenFor } from '../src/booking-operations.ts';
import { baseUrl, peers, startBookings, startPeer } from '../src/bookings.ts';
import { datasetOf, dayStart, loadDataset, onDatabase } from '../src/dataset.ts';
import { type Child, thisRelease } from '../src/processes.ts';

const names = ['service', ...peers];
/** Monday. The location of the bays 21 to 40 is open from 08:00 to 20:00 in Copenhagen, which is 07:00 to 19:00 UTC. */
const day = '2100-01-04';
const at = (time: string) => `${day}T${time}:00.000Z`;

let database: TestDatabase;
let issuer: TestIssuer;
let token: string;
const targets = new Map<string, Child>();

const query = (sql: string, values: unknown[] = []) =>
  onDatabase(database.url, async (client) => (await client.query(sql, values)).rows);

beforeAll(async () => {
  database = await createTestDatabase();
  await loadDataset(database.url, datasetOf(8_000), thisRelease);
  await query(`update location set opening_hours = $1 where id = 'loc-2'`, [
    { weekly: { monday: [{ opens: '08:00', closes: '20:00' }] }, exceptions: [] },
  ]);
  const times = `'${at('12:00')}', '${at('13:00')}'`;
  await query(`insert into booking_closure (facility_id, id, bay_ids, start_date, end_date, created_at, last_updated_at)
    values ('fac-1', gen_random_uuid(), '{bay-39}', ${times}, now(), now())`);
  await query(`insert into booking_hold (facility_id, id, bay_id, client_id, subject, start_date, end_date, expires_at,
      created_at, authorized_at)
    values ('fac-1', gen_random_uuid(), 'bay-40', 'other', 'other', ${times}, now() + interval '1 hour', now(), now())`);
  issuer = await createTestIssuer({ audience: baseUrl });
  issuer.revoke('client revoked', Math.floor(Date.now() / 1000) + 3600);
  token = await tokenFor(issuer, 1);
  targets.set('service', await startBookings('service', thisRelease, database.url, issuer));
  for (const name of peers) targets.set(name, await startPeer(name, database.url, issuer));
}, 180_000);
afterAll(async () => {
  for (const target of targets.values()) await target.stop();
  await issuer.close();
  await database.drop();
});

interface Answer {
  readonly status: number;
  readonly body: { readonly id: string };
  readonly headers: Readonly<Record<string, string>>;
}

async function send(name: string, method: string, path: string, body?: object, sentToken = token): Promise<Answer> {
  const response = await fetch(`${targets.get(name)?.url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${sentToken}`, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const headers = Object.fromEntries(response.headers);
  for (const header of ['date', 'connection', 'keep-alive', 'x-request-id', 'content-length']) delete headers[header];
  const text = await response.text();
  return { status: response.status, headers, body: JSON.parse(text || '{}') as Answer['body'] };
}

/** Replaces what differs between requests: ids, bays, the current time, and the order and encoding of parameters. */
const normal = (value: unknown, { id, bayId }: { id?: string; bayId?: string } = {}): unknown => {
  let text = JSON.stringify(value, (key, entry) => {
    if (['createdAt', 'lastUpdatedAt', 'created_at', 'last_updated_at', 'at', 'asOf'].includes(key)) return key;
    if (key === 'request_id') return typeof entry;
    if (key === 'etag') return entry.replace(/-\d+/, '');
    return entry;
  });
  text = text.replaceAll(/http:[^"\\>]*\?[^"\\>]*/g, (url) => {
    const { origin, pathname, searchParams } = new URL(url);
    searchParams.sort();
    return `${origin}${pathname}?${searchParams}`;
  });
  if (id) text = text.replaceAll(id, 'ID');
  if (bayId) text = text.replaceAll(`${bayId}"`, 'BAY"');
  return JSON.parse(text);
};

describe('reads', () => {
  const tomorrow = `startDate=${dayStart(1)}&endDate=${dayStart(2)}`;
  test.each([
    ['a search', `/api/bookings?locationIds=loc-1&${tomorrow}&pageSize=50`],
    ['the last page', `/api/bookings?locationIds=loc-1&${tomorrow}&pageSize=50&page=5`],
  ])('%s', async (_name, path) => {
    const expected = normal(await send('service', 'GET', path));
    for (const name of peers) expect([name, normal(await send(name, 'GET', path))]).toEqual([name, expected]);
  });

  test('a booking', async () => {
    const [{ id }] = await query(`select id from booking where facility_id = 'fac-1' order by id limit 1`);
    const expected = await send('service', 'GET', `/api/bookings/${id}`);
    expect(expected.status).toBe(200);
    for (const name of peers) expect([name, await send(name, 'GET', `/api/bookings/${id}`)]).toEqual([name, expected]);
  });

  test('no target accepts a revoked token, a foreign token or an unknown id', async () => {
    const revoked = await tokenFor(issuer, 1, 'revoked');
    const foreign = await issuer.token({ aud: 'another', facilities: ['fac-1'] });
    const withoutScope = await issuer.token({ scope: 'other', facilities: ['fac-1'] });
    const path = `/api/bookings/${crypto.randomUUID()}`;
    for (const name of names) {
      const statuses = [token, revoked, foreign, withoutScope].map(
        async (sent) => (await send(name, 'GET', path, undefined, sent)).status,
      );
      expect([name, ...(await Promise.all(statuses))]).toEqual([name, 404, 401, 401, 403]);
    }
  });
});

describe('writes', () => {
  const body = (bayId: string, start: string, end: string, kind = 'external') => ({
    bayId,
    externalBookingId: `${kind} ${bayId}`,
    correlationId: 'correlation',
    userAlias: 'player',
    startDate: at(start),
    endDate: at(end),
  });

  async function rowsOf(id: string): Promise<object[]> {
    const columns = "to_jsonb(written) - array['number', 'first_number', 'latest'] as row";
    const [booking] = await query(`select ${columns} from booking written where id = $1`, [id]);
    const [reference] = await query(`select ${columns} from booking_reference written where booking_id = $1`, [id]);
    const ofBooking = `select ${columns} from booking_change written where booking_id = $1 order by version`;
    const changes = await query(ofBooking, [id]);
    return [booking, reference, ...changes];
  }

  test('a create, an update and a delete leave the same rows and get the same responses', async () => {
    let expected: { answers: readonly unknown[]; rows: readonly unknown[] } | undefined;
    for (const [index, name] of names.entries()) {
      const bayId = `bay-${21 + index}`;
      const created = await send(name, 'POST', '/api/bookings', body(bayId, '07:00', '08:00'));
      expect([name, created.status]).toEqual([name, 201]);
      const { id } = created.body;
      const afterCreate = await rowsOf(id);
      const change = { ...body(bayId, '07:30', '08:30'), userAlias: 'another player' };
      const updated = await send(name, 'PUT', `/api/bookings/${id}`, change);
      const afterUpdate = await rowsOf(id);
      // Later tests need the booking of the first target.
      const { id: otherId } = (await send(name, 'POST', '/api/bookings', body(bayId, '16:00', '17:00', 'other'))).body;
      const deleted = await send(name, 'DELETE', `/api/bookings/${otherId}`);
      const answers = [created, updated, deleted].map((value) => normal(value, { id, bayId }));
      const rows = [afterCreate, afterUpdate].map((value) => normal(value, { id, bayId }));
      rows.push(normal(await rowsOf(otherId), { id: otherId, bayId }));
      expected ??= { answers, rows };
      for (const [index, answer] of answers.entries()) expect([name, answer]).toEqual([name, expected.answers[index]]);
      expect(rows).toEqual(expected.rows);
    }
  });

  test.each([
    ['another booking', 'bay-21', '08:00', '09:00'],
    ['a closure', 'bay-39', '11:30', '12:30'],
    ['a hold', 'bay-40', '12:30', '13:30'],
    ['closing time', 'bay-38', '06:30', '07:30'],
    ['an unknown bay', 'bay-0', '07:30', '08:30'],
    ['an end before the start', 'bay-38', '09:00', '08:00'],
    ['a used external id', 'bay-21', '10:00', '11:00', 'external bay-21'],
  ])('%s prevents a create at every target', async (_name, bayId = '', start = '', end = '', id = '') => {
    for (const name of names) {
      const booking = { ...body(bayId, start, end), externalBookingId: id || crypto.randomUUID() };
      const { status } = await send(name, 'POST', '/api/bookings', booking);
      expect([name, status]).toEqual([name, 400]);
    }
  });
});
