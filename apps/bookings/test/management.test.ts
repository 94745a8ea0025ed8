// Tests the management API over HTTP (docs/behaviour.md, "Management API").
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { query } from '@bay-booking/service/database/database';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Response } from 'supertest';
import { bookingBody, errorCodes, pluck, rounds } from './support/booking-requests.ts';
import { importPlaces } from './support/places.ts';
import { createExtraSystem, useTestSystem } from './support/test-system.ts';

const system = useTestSystem({ config: { management: true } });
const operateScope = 'https://bay-booking.example/operate/bookings';
const demo = JSON.parse(readFileSync(`${import.meta.dirname}/../../../packages/local/demo/bookings.json`, 'utf8')) as {
  facilities: { id: string; name: string; timeZone: string; locations: { id: string; bays: { id: string }[] }[] }[];
};

let operator: string;
beforeAll(async () => {
  operator = await system.token([], { scope: operateScope, client_id: 'operator', sub: 'operator' });
});

interface Options {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const manage = (method: string, path: string, options: Options = {}) =>
  system.call(method, `/management/${path}`, { token: operator, ...options });

async function eventsAfter(after: number) {
  const { body } = await manage('GET', `audit?after=${after}&pageSize=1000`);
  return body.items as { number: number; action: string; target: string; changed: string[]; actor: object }[];
}

const lastEvent = async () => Number((await system.db('management_event').max('number as last').first())?.last ?? 0);
/** Requests the next page. */
const nextOf = ({ body }: Response) => manage('GET', body._links.next.href.split('/management/')[1]);
/** Returns the field that each error names. */
const fieldsOf = ({ body }: Response) => pluck(pluck(body.errors, 'contextData'), 'field');

/** Creates a facility with a location and bays, whose ids end with `name`. */
async function createFacility(name: string, bays = 1): Promise<void> {
  const inside = Array.from({ length: bays }, (_, index) => ({ id: `bay-${name}-${index}`, name: `Bay ${index}` }));
  const locations = [{ id: `loc-${name}`, name, bays: inside }];
  const body = { facilities: [{ id: `fac-${name}`, name, timeZone: 'Europe/Oslo', locations }] };
  expect((await manage('POST', 'import', { body })).status).toBe(200);
}

describe('rights', () => {
  const paths = ['facilities', 'facilities/fac-north', 'locations', 'bays/bay-n1-01', 'export', 'audit'];

  const otherSpellings = [
    '/Management/facilities',
    '/management/Facilities',
    '/management/facilities/',
    '/MANAGEMENT/audit',
    '/management/facilities/fac-north/',
    '/management/export/?',
    '/management/openapi.json/',
    '/management/OpenAPI.json',
    '/%6danagement/facilities',
  ];

  test('tokens of the Bookings API, no token and tokens for another audience get in nowhere', async () => {
    const ordinary = await system.token(['fac-north']);
    const elsewhere = await system.token([], { scope: operateScope, aud: 'https://auth.example/management' });
    for (const path of paths) {
      const refused = await system.call('GET', `/management/${path}`, { token: ordinary });
      expect(refused.status).toBe(403);
      expect(refused.headers['www-authenticate']).toContain(`error="insufficient_scope", scope="${operateScope}"`);
      expect((await system.call('GET', `/management/${path}`, { token: null })).status).toBe(401);
      expect((await system.call('GET', `/management/${path}`, { token: elsewhere })).status).toBe(401);
    }
    const body = { name: 'Taken', timeZone: 'UTC' };
    const put = await system.call('PUT', '/management/facilities/fac-north', { token: ordinary, body });
    expect(errorCodes(put)).toEqual(['ERR00403']);
    const imported = await system.call('POST', '/management/import', { token: ordinary, body: { facilities: [] } });
    expect(imported.status).toBe(403);
    expect((await manage('GET', 'facilities/fac-north')).body.name).toBe('North Range');
  });

  test('without MANAGEMENT, nothing is there', async () => {
    const plain = await createExtraSystem({ sharing: system });
    for (const path of [...[...paths, 'openapi.json'].map((end) => `/management/${end}`), ...otherSpellings])
      expect((await plain.call('GET', path, { token: operator })).status).toBe(404);
  });

  test('other spellings of the paths are not found, with and without a token', async () => {
    const { body: unknown } = await system.call('GET', '/nothing');
    for (const path of otherSpellings)
      for (const token of [operator, ''])
        expect(await system.call('GET', path, { token })).toMatchObject({ status: 404, body: unknown });
    expect((await manage('GET', 'facilities')).status).toBe(200);
  });
});

describe('resources', () => {
  test('each record of the import file of the demo can be put, read and put again', async () => {
    for (const { locations, ...facility } of demo.facilities) {
      await putTwice(`facilities/${facility.id}`, facility);
      for (const { bays, ...location } of locations) {
        await putTwice(`locations/${location.id}`, { ...location, facilityId: facility.id });
        for (const bay of bays) await putTwice(`bays/${bay.id}`, { ...bay, locationId: location.id });
      }
    }
    const result = await manage('POST', 'import?dryRun=true', { body: demo });
    expect(new Set(pluck(result.body.entries, 'action'))).toEqual(new Set(['unchanged']));
  });

  async function putTwice(path: string, body: object): Promise<void> {
    const first = await manage('PUT', path, { body });
    expect([200, 201]).toContain(first.status);
    const before = await lastEvent();
    const again = await manage('PUT', path, { body });
    expect(again.status).toBe(200);
    expect(again.headers.etag).toBe(first.headers.etag);
    expect(await lastEvent()).toBe(before);
    const read = await manage('GET', path);
    expect(read.body).toEqual(again.body);
    expect(read.headers.etag).toBe(again.headers.etag);
    expect(read.body).toMatchObject(body);
    const unchanged = await manage('PUT', path, { body: read.body });
    expect(unchanged.headers.etag).toBe(first.headers.etag);
  }

  test('a PUT replaces: optional fields get their defaults, and opening hours, locations and bays stay', async () => {
    await createFacility('replace');
    const bay = { name: 'Bay', locationId: 'loc-replace', description: 'D', kind: 'K', bookable: false };
    await manage('PUT', 'bays/bay-replace-0', { body: bay });
    const replaced = await manage('PUT', 'bays/bay-replace-0', { body: { name: 'Bay', locationId: 'loc-replace' } });
    expect(replaced.body).toMatchObject({ description: '', kind: 'RangeBay', bookable: true });

    const openingHours = { weekly: { monday: [{ opens: '07:00', closes: '22:00' }] }, exceptions: [] };
    const location = { name: 'L', facilityId: 'fac-replace' };
    await manage('PUT', 'locations/loc-replace', { body: { ...location, openingHours } });
    const renamed = await manage('PUT', 'locations/loc-replace', { body: { ...location, name: 'M' } });
    expect(renamed.body).toEqual({ id: 'loc-replace', ...location, name: 'M', openingHours });
    const token = await system.token(['fac-replace']);
    const { body } = await system.call('GET', '/api/booking-locations/loc-replace/opening-hours', { token });
    expect(body).toMatchObject({ alwaysOpen: false, ...openingHours });
    await manage('PUT', 'facilities/fac-replace', { body: { name: 'F', timeZone: 'Europe/Oslo' } });
    const bays = (await manage('GET', 'bays?facilityId=fac-replace')).body;
    expect(bays).toMatchObject({ total: 1, items: [{ id: 'bay-replace-0', name: 'Bay' }] });
  });

  test.each([
    ['facilities/fac-x', { timeZone: 'UTC', locations: [] }, ['/name', '/locations']],
    ['locations/loc-x', { name: 'X', facilityId: 'fac-north', bays: [] }, ['/bays']],
    ['facilities/fac-x', { id: 'fac-y', name: 'X', timeZone: 'Mars/Olympus' }, ['/id', '/timeZone']],
    ['facilities/fac-x', { name: 'X', timeZone: 'UTC', colour: 'red' }, ['/colour']],
    ['locations/loc-x', { name: '' }, ['/facilityId', '/name']],
    ['locations/loc-x', { name: 'X', facilityId: 'fac-none' }, ['/facilityId']],
    ['locations/loc-north-1', { name: 'X', facilityId: 'fac-south' }, ['/facilityId']],
    [
      'locations/loc-x',
      { name: 'X', facilityId: 'fac-north', openingHours: { weekly: { mon: [] } } },
      ['/openingHours/weekly/mon'],
    ],
    ['bays/bay-x', { name: 7, locationId: 'loc-none\u0000', bookable: 'yes' }, ['/locationId', '/name', '/bookable']],
    ['bays/bay-n1-01', { name: 'X', locationId: 'loc-south-1' }, ['/locationId']],
  ])('PUT %s with %j is refused with the pointers of the fields', async (path, body, fields) => {
    const before = await lastEvent();
    const refused = await manage('PUT', path, { body });
    expect(refused.status).toBe(400);
    expect(fieldsOf(refused).toSorted()).toEqual(fields.toSorted());
    expect(await lastEvent()).toBe(before);
  });
});

describe('entity tags', () => {
  const body = { name: 'Etag', timeZone: 'UTC' };

  test('of many creations with If-None-Match: *, and of many changes with the same If-Match, one succeeds', async () => {
    const path = 'facilities/fac-race';
    const race = (name: string, headers: Record<string, string>) => {
      const put = (index: number) => manage('PUT', path, { body: { ...body, name: `${name} ${index}` }, headers });
      return Promise.all(Array.from({ length: 10 }, (_, index) => put(index)));
    };
    const created = await race('Created', { 'If-None-Match': '*' });
    expect(created.map(({ status }) => status).toSorted()).toEqual([201, ...Array(9).fill(412)]);
    expect(created.find(({ status }) => status === 412)?.body.errors).toMatchObject([
      { code: 'ERR00412', moreInfo: 'If-None-Match: it exists', contextData: { field: 'If-None-Match' } },
    ]);
    const headers = { 'If-Match': (await manage('GET', path)).headers.etag as string };
    const changed = await race('Changed', headers);
    expect(changed.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(412)]);
    expect((await manage('DELETE', path, { headers })).status).toBe(412);
    expect((await manage('GET', path, { headers: { 'If-None-Match': '*' } })).status).toBe(304);
    const missing = await manage('PUT', 'facilities/fac-missing', { body, headers: { 'If-Match': '*' } });
    expect(errorCodes(missing)).toEqual(['ERR00412']);
  });

  test('opening hours that the Bookings API sets change the ETag of a location', async () => {
    await createFacility('hours');
    const { etag } = (await manage('GET', 'locations/loc-hours')).headers;
    const token = await system.token(['fac-hours']);
    const hours = { weekly: { sunday: [{ opens: '08:00', closes: '20:00' }] } };
    await system.call('PUT', '/api/booking-locations/loc-hours/opening-hours', { token, body: hours });
    const headers = { 'If-Match': etag as string };
    const put = await manage('PUT', 'locations/loc-hours', { body: { name: 'X', facilityId: 'fac-hours' }, headers });
    expect(put.status).toBe(412);
  });
});

describe('strict requests', () => {
  const body = { name: 'Strict', timeZone: 'UTC' };

  test.each([
    ['GET', 'facilities?colour=red', '/colour'],
    ['GET', 'export?colour=red', '/colour'],
    ['GET', 'bays?locationId=%00', '/locationId'],
    ['GET', 'audit?action=%00', '/action'],
    ['PUT', 'facilities/fac-strict?dryrun=true', '/dryrun'],
    ['PUT', 'facilities/fac-strict?dryRun=maybe', '/dryRun'],
    ['DELETE', 'facilities/fac-north?force=true', '/force'],
    ['POST', 'import?dryRun=maybe', '/dryRun'],
  ])('%s %s is rejected for its parameter', async (method, path, field) => {
    const rejected = await manage(method, path, method === 'GET' || method === 'DELETE' ? {} : { body });
    expect(rejected.status).toBe(400);
    expect(rejected.body.errors).toMatchObject([{ code: 'ERR00002', contextData: { field } }]);
  });

  test('an empty body and a body that is not an object are rejected', async () => {
    for (const sent of ['', ' ', '[]', '7', '{'])
      for (const [method, path] of [['PUT', 'facilities/fac-north'] as const, ['POST', 'import'] as const])
        expect(errorCodes(await manage(method, path, { body: sent }))).toEqual(['ERR00003']);
    expect((await manage('GET', 'facilities/fac-north')).body.name).not.toBe('');
  });

  test('an endpoint without a body rejects fields', async () => {
    const rejected = await manage('DELETE', 'bays/bay-n1-99', { body: { force: true } });
    expect(rejected.body.errors).toMatchObject([{ code: 'ERR00002', contextData: { field: '/force' } }]);
  });

  // The management API of auth, which has the same router, compares the errors with those of the requests.
  test('dryRun says what a PUT or DELETE would do and writes nothing', async () => {
    const before = await lastEvent();
    const dry = async (method: string, path: string, sent?: object) =>
      (await manage(method, `${path}?dryRun=true`, { body: sent })).body;
    expect(await dry('PUT', 'facilities/fac-dry-put', body)).toEqual({ action: 'create', errors: [] });
    expect((await manage('GET', 'facilities/fac-dry-put')).status).toBe(404);
    const { body: north } = await manage('GET', 'facilities/fac-north');
    expect(await dry('PUT', 'facilities/fac-north', north)).toEqual({ action: 'unchanged', errors: [] });
    expect(await dry('PUT', 'facilities/fac-north', body)).toEqual({ action: 'update', errors: [] });
    expect(await dry('PUT', 'facilities/fac-north', { name: 7 })).toMatchObject({ action: 'error' });
    expect(await dry('DELETE', 'bays/bay-n1-99')).toEqual({ action: 'delete', errors: [] });
    expect((await manage('GET', 'bays/bay-n1-99')).status).toBe(200);
    expect(await lastEvent()).toBe(before);
  });

  test('a PUT names every error of its form, then those against what is stored, both before an If-Match', async () => {
    const put = (body: object) =>
      manage('PUT', 'bays/bay-n1-01', { body: { ...body, locationId: 'loc-none' }, headers: { 'If-Match': '"old"' } });
    expect(fieldsOf(await put({ name: 7, kind: '' }))).toEqual(['/name', '/kind']);
    expect(fieldsOf(await put({ name: 'Seven' }))).toEqual(['/locationId']);
  });

  test('an import with the same Idempotency-Key is done once', async () => {
    const file = (name: string) => ({ facilities: [{ id: 'fac-once', name, timeZone: 'UTC' }] });
    const send = (name: string, key = 'once') =>
      manage('POST', 'import', { body: file(name), headers: { 'Idempotency-Key': key } });
    const [first, second] = await Promise.all([send('First'), send('First')]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body).toEqual(first.body);
    expect(first.body.entries).toMatchObject([{ action: 'create' }]);
    const replayed = [first, second].map(({ headers }) => headers['idempotency-replayed']);
    expect(replayed.filter((value) => value === 'true')).toHaveLength(1);
    // The key is looked up before the file is validated.
    for (const name of ['Second', '']) expect(errorCodes(await send(name))).toEqual(['ERR00422']);
    const { errors } = (await send('First', 'with space')).body;
    expect(errors).toMatchObject([{ code: 'ERR00002', contextData: { field: 'Idempotency-Key' } }]);
    expect((await send('Second', 'other')).body.entries).toMatchObject([{ action: 'update' }]);
  });
});

test('if MANAGEMENT_PORT is set, the management API is on that port only', async () => {
  const separate = await createExtraSystem({ sharing: system, config: { management: true, managementPort: 1 } });
  const path = '/management/facilities/fac-north';
  expect((await separate.call('GET', path, { token: operator })).status).toBe(404);
  const headers = { Authorization: `Bearer ${operator}` };
  expect((await fetch(separate.managementUrl + path, { headers })).status).toBe(200);
  expect((await fetch(`${separate.managementUrl}/api/bookings`, { headers })).status).toBe(404);
});

describe('deleting', () => {
  test('a bay with a booking that has not ended stays, and the response leads to its bookings', async () => {
    await createFacility('open');
    const token = await system.token(['fac-open']);
    const booking = await system.call('POST', '/api/bookings', { token, body: bookingBody({ bayId: 'bay-open-0' }) });
    for (const path of ['bays/bay-open-0', 'locations/loc-open']) {
      const refused = await manage('DELETE', path);
      expect(refused.status).toBe(409);
      expect(errorCodes(refused)).toEqual(['PLACE00001']);
      const { pathname, search } = new URL(refused.body.errors[0].contextData.bookings);
      const { body } = await system.call('GET', pathname + search, { token });
      expect(body.items).toMatchObject([{ id: booking.body.id }]);
    }
    const facility = await manage('DELETE', 'facilities/fac-open');
    expect(facility.status).toBe(409);
    expect(errorCodes(facility)).toEqual(['PLACE00003']);
  });

  test('past bookings of a bay that was deleted stay readable, and the bay cannot be used', async () => {
    await createFacility('past');
    const token = await system.token(['fac-past']);
    const created = await system.call('POST', '/api/bookings', { token, body: bookingBody({ bayId: 'bay-past-0' }) });
    const { id } = created.body;
    const past = "start_date = now() - interval '2 hours', end_date = now() - interval '1 hour'";
    await query(system.db, `update booking set ${past} where id = $1`, [id]);
    expect((await manage('DELETE', 'locations/loc-past')).status).toBe(204);
    expect((await manage('DELETE', 'locations/loc-past')).status).toBe(404);
    expect((await manage('GET', 'bays/bay-past-0')).status).toBe(404);

    expect((await system.call('GET', `/api/bookings/${id}`, { token })).status).toBe(200);
    for (const filter of ['bayIds=bay-past-0', 'locationIds=loc-past', `ids=${id}`])
      expect((await system.call('GET', `/api/bookings?${filter}`, { token })).body.items).toMatchObject([{ id }]);
    const history = await system.call('GET', `/api/bookings/${id}/history`, { token });
    expect(history.body.items).toMatchObject([{ action: 'created' }]);
    const ofBay = await system.call('GET', '/api/booking-history?bayIds=bay-past-0', { token });
    expect(ofBay.body.items).toMatchObject([{ bookingId: id }]);
    const feed = await system.call('GET', '/api/booking-changes?facilityId=fac-past', { token });
    expect(feed.body.items).toMatchObject([{ id }]);

    expect((await system.call('GET', '/api/booking-bays', { token })).body.items).toEqual([]);
    expect((await system.call('GET', '/api/booking-locations/loc-past', { token })).status).toBe(404);
    const refused = await system.call('POST', '/api/bookings', { token, body: bookingBody({ bayId: 'bay-past-0' }) });
    expect(errorCodes(refused)).toEqual(['ERR00012']);
    expect((await system.call('DELETE', `/api/bookings/${id}`, { token })).status).toBe(204);
    expect((await manage('DELETE', 'facilities/fac-past')).status).toBe(204);

    // The id is never used again.
    const put = await manage('PUT', 'facilities/fac-past', { body: { name: 'Again', timeZone: 'UTC' } });
    expect(put.status).toBe(409);
    expect(put.body.errors).toMatchObject([{ code: 'PLACE00002', contextData: { field: '/id' } }]);
    const file = { facilities: [{ id: 'fac-past', name: 'Again', timeZone: 'UTC' }] };
    const imported = await manage('POST', 'import', { body: file });
    expect(imported.status).toBe(409);
    expect(imported.body.errors).toMatchObject([{ code: 'PLACE00002', contextData: { field: '/facilities/0/id' } }]);
  });

  test('of bookings and a deletion at the same time, either the bookings or the deletion succeed', async () => {
    for (let round = 0; round < rounds(10); round++) {
      await createFacility(`duel${round}`);
      const token = await system.token([`fac-duel${round}`]);
      const body = bookingBody({ bayId: `bay-duel${round}-0` });
      const [booking, deletion] = await Promise.all([
        system.call('POST', '/api/bookings', { token, body }),
        manage('DELETE', `bays/bay-duel${round}-0`),
      ]);
      const isBooked = booking.status === 201;
      expect(deletion.status).toBe(isBooked ? 409 : 204);
      if (!isBooked) expect(errorCodes(booking)).toEqual(['ERR00012']);
    }
  });
});

describe('import and export', () => {
  const entry = (name: string) => ({ id: `fac-${name}`, name, timeZone: 'UTC' });

  test('importing an export changes nothing', async () => {
    const exported = await manage('GET', 'export');
    const before = await lastEvent();
    const imported = await manage('POST', 'import', { body: exported.body });
    expect(imported.status).toBe(200);
    expect(imported.body.entries.length).toBeGreaterThan(30);
    for (const { action, errors } of imported.body.entries) expect([action, errors]).toEqual(['unchanged', []]);
    expect(await lastEvent()).toBe(before);
    expect((await manage('GET', 'export')).body).toEqual(exported.body);
  });

  test('npm run export prints the same file as the API', async () => {
    const command = `${import.meta.dirname}/../src/commands/export.ts`;
    const { stdout } = await promisify(execFile)(process.execPath, [command, '-'], {
      env: { DATABASE_URL: system.databaseUrl, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    });
    expect(JSON.parse(stdout)).toEqual((await manage('GET', 'export')).body);
  });

  test('a dry run says what an import would do with each record, and changes nothing', async () => {
    const [north] = demo.facilities;
    await manage('POST', 'import', { body: demo });
    const before = await manage('GET', 'export');
    const named = (...ids: string[]) => ids.map((id) => ({ id, name: 'B' }));
    const locations = [
      { id: 'loc-dry', name: 'L', bays: named('bay-dry', 'bay-s1-01') },
      { id: 'loc-south-1', name: 'S', bays: named('bay-dry-2') },
    ];
    const body = {
      facilities: [
        { ...north, name: 'Renamed' },
        { ...entry('dry'), locations },
      ],
    };
    const { status, body: result } = await manage('POST', 'import?dryRun=true', { body });
    expect(status).toBe(200);
    const paths = pluck(result.entries, 'path') as string[];
    const actions = pluck(result.entries, 'action');
    expect(Object.fromEntries(paths.map((path, index) => [path, actions[index]]))).toMatchObject({
      '/facilities/0': 'update',
      '/facilities/0/locations/0': 'unchanged',
      '/facilities/0/locations/0/bays/0': 'unchanged',
      '/facilities/1': 'create',
      '/facilities/1/locations/0': 'create',
      '/facilities/1/locations/0/bays/0': 'create',
      '/facilities/1/locations/0/bays/1': 'error',
      '/facilities/1/locations/1': 'error',
      '/facilities/1/locations/1/bays/0': 'error',
    });
    for (const { action, errors } of result.entries) expect(errors.length > 0).toBe(action === 'error');
    expect((await manage('GET', 'export')).body).toEqual(before.body);

    const refused = await manage('POST', 'import', { body });
    expect(refused.status).toBe(400);
    expect(refused.body.errors[0].contextData.field).toMatch(/^\/facilities\/1\/locations/);
    expect((await manage('GET', 'export')).body).toEqual(before.body);

    // Nothing is compared with what is stored before all records are well-formed.
    const malformed = { facilities: [...body.facilities, { id: 'fac-bad', name: 7 }] };
    const dry = await manage('POST', 'import?dryRun=true', { body: malformed });
    expect(dry.body.entries).toMatchObject([
      { path: '/facilities/2', action: 'error', errors: [{ code: 'ERR00001' }, { code: 'ERR00002' }] },
    ]);
  });

  test('an import keeps the fields that are left out, and accepts more than 100 kB and not more than 10 MB', async () => {
    const bays = Array.from({ length: 2_000 }, (_, index) => ({
      id: `bay-large-${index}`,
      name: `Bay ${index}`,
      description: 'A bay in a large file.',
      bookable: false,
    }));
    const large = { facilities: [{ ...entry('large'), locations: [{ id: 'loc-large', name: 'L', bays }] }] };
    expect((await manage('POST', 'import', { body: large })).status).toBe(200);
    const audited = system.logged.map((line) => JSON.parse(line)).filter(({ audit }) => audit === true);
    expect(audited.at(-1)).toMatchObject({ action: 'import', clientId: 'operator', facilityIds: ['fac-large'] });
    const partial = { id: 'loc-large', name: 'L', bays: [{ id: 'bay-large-0', name: 'B' }] };
    const again = { facilities: [{ ...entry('large'), locations: [partial] }] };
    expect((await manage('POST', 'import', { body: again })).status).toBe(200);
    const { body } = await manage('GET', 'bays/bay-large-0');
    expect(body).toMatchObject({ name: 'B', description: 'A bay in a large file.', bookable: false });
    const fill = (length: number, method = 'POST', path = 'import') =>
      manage(method, path, { body: { facilities: [], filler: 'x'.repeat(length) } });
    expect(fieldsOf(await fill(9_000_000))).toEqual(['/filler']);
    expect(errorCodes(await fill(10_000_000))).toEqual(['ERR00413']);
    expect(errorCodes(await fill(100_000, 'PUT', 'facilities/fac-large'))).toEqual(['ERR00413']);
  });
});

describe('events and status', () => {
  test('every change is listed once with its client and the names of its fields, by cursor', async () => {
    const start = await lastEvent();
    await createFacility('audit');
    await manage('PUT', 'bays/bay-audit-0', { body: { name: 'New', locationId: 'loc-audit', bookable: false } });
    const token = await system.token(['fac-audit']);
    const bay = { name: 'Newer', description: '', bookable: false };
    await system.call('PUT', '/api/booking-bays/bay-audit-0', { token, body: bay });
    await manage('DELETE', 'bays/bay-audit-0');
    await importPlaces(system.db, { facilities: [{ id: 'fac-audit', name: 'Import', timeZone: 'UTC' }] });

    const first = await manage('GET', `audit?after=${start}&facilityId=fac-audit&pageSize=4`);
    const second = await nextOf(first);
    const items = [...first.body.items, ...second.body.items];
    const operatorEvent = { actor: { clientId: 'operator' }, facilityId: 'fac-audit' };
    expect(items).toMatchObject([
      { ...operatorEvent, action: 'facility.created', target: 'facilities/fac-audit', changed: ['name', 'timeZone'] },
      { ...operatorEvent, action: 'location.created', target: 'locations/loc-audit' },
      { ...operatorEvent, action: 'bay.created', target: 'bays/bay-audit-0' },
      { ...operatorEvent, action: 'bay.updated', target: 'bays/bay-audit-0', changed: ['name', 'bookable'] },
      { actor: { subject: 'acc-test' }, action: 'bay.updated', target: 'bays/bay-audit-0', changed: ['name'] },
      { ...operatorEvent, action: 'bay.deleted', target: 'bays/bay-audit-0', changed: [] },
      { actor: { clientId: 'import' }, action: 'facility.updated', changed: ['name', 'timeZone'] },
    ]);
    expect(second.body.last).toBe(items.at(-1).number);
    const empty = await manage('GET', `audit?after=${second.body.last}&facilityId=fac-audit`);
    expect(empty.body).toMatchObject({ items: [], last: second.body.last });
    const deleted = await manage('GET', `audit?after=${start}&facilityId=fac-audit&action=bay.deleted`);
    expect(deleted.body.items).toHaveLength(1);
    const ofPerson = await manage('GET', `audit?after=${start}&account=acc-test`);
    expect(ofPerson.body.items).toHaveLength(1);
  });

  test('events are selected by time, and the newest can come first', async () => {
    await createFacility('newest', 3);
    const numbersOf = ({ body }: Response) => pluck(body.items, 'number');
    const list = (query: string) => manage('GET', `audit?facilityId=fac-newest&${query}`);
    const oldestFirst = numbersOf(await list(''));
    expect(oldestFirst).toHaveLength(5);
    const first = await list('order=newest&pageSize=2');
    const second = await nextOf(first);
    expect([...numbersOf(first), ...numbersOf(second)]).toEqual(oldestFirst.toReversed().slice(0, 4));
    const hour = (offset: number) => encodeURIComponent(new Date(Date.now() + offset * 3_600_000).toISOString());
    expect(numbersOf(await list(`startDate=${hour(-1)}&endDate=${hour(1)}`))).toEqual(oldestFirst);
    expect(numbersOf(await list(`startDate=${hour(1)}`))).toEqual([]);
    expect(numbersOf(await list(`endDate=${hour(-1)}`))).toEqual([]);
    expect(errorCodes(await list('startDate=yesterday'))).toEqual(['ERR00002']);
  });

  test('a reader that follows the cursor misses no event of changes at the same time', async () => {
    const start = await lastEvent();
    const seen: number[] = [];
    const read = async (): Promise<boolean> => {
      const events = await eventsAfter(seen.at(-1) ?? start);
      seen.push(...events.map(({ number }) => number));
      return events.length > 0;
    };
    let isWriting = true;
    const writes = Array.from({ length: 10 }, (_, index) => createFacility(`cursor${index}`));
    const written = Promise.all(writes).finally(() => {
      isWriting = false;
    });
    while (isWriting) await read();
    await written;
    // The last read may have begun before the last change was committed.
    while (await read());
    expect(seen).toEqual(pluck(await eventsAfter(start), 'number'));
    expect(seen).toHaveLength(30);
  });

  test('the status counts bays, open bookings and webhooks, and has the time of the last request', async () => {
    await createFacility('status', 3);
    expect((await manage('GET', 'facilities/fac-status/status')).body).toMatchObject({ lastRequestAt: null });
    const token = await system.token(['fac-status']);
    const begin = new Date(Date.now() - 1_000).toISOString();
    await system.call('POST', '/api/bookings', { token, body: bookingBody({ bayId: 'bay-status-0' }) });
    const webhook = { url: 'https://93.184.216.34/hook' };
    expect((await system.call('POST', '/api/webhooks', { token, body: webhook })).status).toBe(201);
    const { body } = await manage('GET', 'facilities/fac-status/status');
    expect(body).toEqual({
      id: 'fac-status',
      locations: 1,
      bays: 3,
      openBookings: 1,
      webhooks: { active: 1, paused: 0, disabled: 0 },
      lastRequestAt: expect.any(String),
    });
    expect(body.lastRequestAt > begin).toBe(true);
    const id = createHash('sha256').update('facility fac-status').digest('base64url');
    system.issuer.revocations.entries.push({ id, before: 0, disabled: true });
    await system.revocations.read();
    const disabled = await manage('GET', 'facilities/fac-status/status');
    expect(disabled.body.webhooks).toEqual({ active: 0, paused: 1, disabled: 0 });
    expect((await manage('GET', 'facilities/fac-none/status')).status).toBe(404);
  });
});

test('the OpenAPI document describes every endpoint, and its schemas can be compiled', async () => {
  const { body, status } = await system.call('GET', '/management/openapi.json', { token: null });
  expect(status).toBe(200);
  expect(Object.keys(body.paths)).toEqual([
    ...['facilities', 'locations', 'bays'].flatMap((name) => [`/management/${name}`, `/management/${name}/{id}`]),
    '/management/facilities/{id}/status',
    '/management/export',
    '/management/import',
    '/management/audit',
  ]);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(body, 'document');
  const isValid = (name: string, value: unknown) =>
    ajv.validate({ $ref: `document#/components/schemas/${name}` }, value);
  expect(isValid('ImportFile', (await manage('GET', 'export')).body)).toBe(true);
  expect(isValid('Facility', (await manage('GET', 'facilities/fac-north')).body)).toBe(true);
  expect(isValid('Events', (await manage('GET', 'audit')).body)).toBe(true);
  for (const method of ['PUT', 'DELETE']) {
    const dryRun = await manage(method, 'facilities/fac-north?dryRun=true', method === 'PUT' ? { body: {} } : {});
    const { responses } = body.paths['/management/facilities/{id}'][method.toLowerCase()];
    const { schema } = responses[dryRun.status].content['application/json'];
    expect(ajv.validate(JSON.parse(JSON.stringify(schema).replaceAll('"#', '"document#')), dryRun.body)).toBe(true);
  }
});
