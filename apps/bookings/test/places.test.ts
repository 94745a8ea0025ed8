// Tests the endpoints for locations and bays (specification, "Booking location" and "Booking bay"), `npm run import`
// (docs/import.md) and `npm run distribute`. tests/citus.test.ts runs the last one on a cluster.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { linksBelow } from '@bay-booking/common/links';
import { query, transaction } from '@bay-booking/service/database/database';
import { distribute } from '@bay-booking/service/database/distribute';
import { createTestDatabase } from '@bay-booking/testkit/database';
import { documentedFields, fieldsOf } from '@bay-booking/testkit/import-guide';
import { describe, expect, test } from '@jest/globals';
import { bookingsMigrations } from '../src/config.ts';
import { distribution } from '../src/database/distribution.ts';
import { createPlaceRecords } from '../src/places/record.ts';
import { bookingBody, errorCodes, pluck } from './support/booking-requests.ts';
import { isDistributed } from './support/lock-waits.ts';
import { importPlaces, places } from './support/places.ts';
import { baseUrl, useTestSystem } from './support/test-system.ts';

const system = useTestSystem();

const north = { id: 'fac-north', name: 'North Range', timeZone: 'Europe/Copenhagen' };

/** Sends a GET request with the default token, which is for fac-north and fac-south. loc-east-1 belongs to fac-east. */
const get = (path: string) => system.call('GET', path);

describe('GET /api/booking-locations', () => {
  test('the list has the locations of the token’s facilities, by name, then id', async () => {
    const { status, body } = await get('/api/booking-locations');
    expect(status).toBe(200);
    const location = (id: string, name: string, facilityId: string, timeZone: string) => {
      const self = { method: 'GET', href: `${baseUrl}/api/booking-locations/${id}` };
      const bays = { method: 'GET', href: `${baseUrl}/api/booking-bays?locationId=${id}` };
      return { id, name, facilityId, timeZone, _links: { self, bays } };
    };
    expect(body.items).toEqual([
      location('loc-north-1', 'North Range, ground floor', 'fac-north', 'Europe/Copenhagen'),
      location('loc-north-2', 'North Range, upper floor', 'fac-north', 'Europe/Copenhagen'),
      location('loc-south-1', 'South Range', 'fac-south', 'America/New_York'),
    ]);
    expect(body).toMatchObject({ page: 1, pageSize: 500, pageCount: 1, total: 3 });
    expect((await get('/api/booking-locations/loc-south-1')).body).toEqual(body.items[2]);
  });

  test('ids and facilityIds select locations, alone and together', async () => {
    const find = async (query: string) => pluck((await get(`/api/booking-locations?${query}`)).body.items, 'id');
    expect(await find('ids=loc-north-2,loc-south-1,loc-east-1')).toEqual(['loc-north-2', 'loc-south-1']);
    expect(await find('facilityIds=fac-north&facilityIds=fac-east')).toEqual(['loc-north-1', 'loc-north-2']);
    expect(await find('facilityIds=fac-south&ids=loc-north-1')).toEqual([]);
  });
});

test.each(['loc-nowhere', 'loc-east-1', '%00', 'x'.repeat(300)])('the location %s returns 404', async (id) => {
  expect(errorCodes(await get(`/api/booking-locations/${id}`))).toEqual(['ERR00404']);
});

test('GET /api/booking-bays has the bays of a location, by name, then id, with an empty _links', async () => {
  const response = await get('/api/booking-bays?locationId=loc-north-1');
  expect(response.status).toBe(200);
  expect(response.body).toMatchObject({ page: 1, pageSize: 1000, pageCount: 1, total: 11 });
  expect(response.body.items[0]).toEqual({
    id: 'bay-n1-01',
    name: 'Bay 1',
    description: 'Bay number 1',
    kind: 'RangeBay',
    bookable: true,
    locationId: 'loc-north-1',
    location: { id: 'loc-north-1', name: 'North Range, ground floor' },
    _links: {},
  });
  expect(response.body.items.at(-1)).toMatchObject({ id: 'bay-n1-99', bookable: false });
});

test('locations and bays are ordered by name as people count, in every list and on every page', async () => {
  const names = 'Bay;Bay 1;Bay 02;Bay 2;Bay 9b;Bay 10;Bay 10a;Floor 2, bay 11;Floor 10, bay 1'.split(';');
  const named = (prefix: string) => names.map((name, index) => ({ id: `${prefix}-${names.length - index}`, name }));
  const locations = named('loc-order').map((location) => ({ ...location, bays: [] as object[] }));
  locations[0]?.bays.push(...named('bay-order'));
  const facility = { id: 'fac-order', name: 'Order', timeZone: 'UTC', locations };
  await importPlaces(system.db, { facilities: [facility] });
  const token = await system.token(['fac-order']);
  const readNames = async (path: string) => {
    const read = (page: number) => system.call('GET', `${path}&pageSize=4&page=${page}`, { token });
    const items = (await Promise.all([1, 2, 3].map(read))).flatMap(({ body }) => body.items);
    return items.map(({ name, bay }) => name ?? bay.name);
  };
  const day = 'startDate=2040-05-01T00:00:00Z&endDate=2040-05-02T00:00:00Z';
  for (const path of [
    '/api/booking-locations?facilityIds=fac-order',
    `/api/booking-bays?locationId=${locations[0]?.id}`,
    `/api/booking-availability?locationIds=${locations[0]?.id}&${day}`,
  ])
    expect(await readNames(path)).toEqual(names);
});

test('an import takes effect immediately: a new bay can be booked, and a bay that is no longer bookable cannot', async () => {
  // Like the command `import`, this function only writes to the database. The service gets no notification.
  const importBay = (bookable: boolean) => {
    const locations = [{ id: 'loc-new', name: 'Annex', bays: [{ id: 'bay-new', name: 'New', bookable }] }];
    return importPlaces(system.db, { facilities: [{ ...north, locations }] });
  };
  // bookingBody returns a new time for each call, so the bookings never overlap.
  const create = () => system.call('POST', '/api/bookings', { body: bookingBody({ bayId: 'bay-new' }) });
  // ERR00012: no bay has this id.
  expect(errorCodes(await create())).toEqual(['ERR00012']);
  await importBay(true);
  expect((await create()).status).toBe(201);
  const searched = await system.call('GET', '/api/bookings?locationIds=loc-new');
  expect(searched.body.total).toBe(1);
  await importBay(false);
  // BOOK00003: the bay exists, but cannot be booked.
  expect(errorCodes(await create())).toEqual(['BOOK00003']);
});

describe('GET and PUT /api/booking-bays/{id}', () => {
  const path = '/api/booking-bays/bay-n1-03';
  const bay = { name: 'Bay 3, left', description: '', bookable: true };
  const put = (body: object, headers: Record<string, string> = {}, id = path) =>
    system.call('PUT', id, { body, headers });

  test('a change is visible at once, in availability and bookings too, and in the audit list with the person', async () => {
    const before = await get(path);
    expect(before.body).toMatchObject({ id: 'bay-n1-03', name: 'Bay 3', bookable: true });
    const out = { name: '  Δοκός <b>', description: 'Net\ntorn', bookable: false };
    const changed = await put(out, { 'If-Match': before.headers.etag as string });
    expect([changed.status, changed.body]).toEqual([200, { ...before.body, ...out }]);
    expect((await get(path)).headers.etag).toBe(changed.headers.etag);
    const ifNoneMatch = { 'If-None-Match': changed.headers.etag as string };
    expect((await system.call('GET', path, { headers: ifNoneMatch })).status).toBe(304);
    expect((await get('/api/booking-bays?locationId=loc-north-1')).body.items).toContainEqual(changed.body);
    const book = () => system.call('POST', '/api/bookings', { body: bookingBody({ bayId: 'bay-n1-03' }) });
    expect(errorCodes(await book())).toEqual(['BOOK00003']);
    // Of two clients, the second one based its change on an old state. An equal state is no event.
    expect((await put(bay, { 'If-Match': before.headers.etag as string })).status).toBe(412);
    expect((await put(bay)).status).toBe(200);
    expect((await put(await get(path).then(({ body }) => body))).status).toBe(200);
    expect((await book()).status).toBe(201);
    const { headers } = await get(path);
    const rival = { 'If-Match': headers.etag as string };
    const answers = await Promise.all(['a', 'b'].map((name) => put({ ...bay, name }, rival)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    const locations = [{ id: 'loc-north-1', name: 'Ground', bays: [{ id: 'bay-n1-03', name: 'Bay 3' }] }];
    await importPlaces(system.db, { facilities: [{ ...north, locations }] });
    expect((await get(path)).body.name).toBe('Bay 3');
    const events = await system.db('management_event').whereNotNull('subject').orderBy('number');
    const event = { action: 'bay.updated', client_id: 'client-test', subject: 'acc-test', target: 'bays/bay-n1-03' };
    const all = ['name', 'description', 'bookable'];
    expect(events).toMatchObject([all, all, ['name']].map((changed) => ({ ...event, changed })));
  });

  test('an invalid bay returns every error, and a foreign or unknown one 404', async () => {
    expect(errorCodes(await put({}))).toEqual(['ERR00001', 'ERR00001', 'ERR00001']);
    const wrong = { name: 'a\u202eb', description: 'x'.repeat(2001), bookable: 'no' };
    expect(errorCodes(await put(wrong))).toEqual(['ERR00002', 'ERR00002', 'ERR00002']);
    expect(errorCodes(await put({ ...bay, name: '' }))).toEqual(['ERR00001']);
    for (const id of ['bay-e1-01', 'unknown', '%00', '__proto__']) {
      expect((await get(`/api/booking-bays/${id}`)).status).toBe(404);
      expect((await put(bay, {}, `/api/booking-bays/${id}`)).status).toBe(404);
    }
  });
});

describe('imports', () => {
  const facility = (fields: object = {}) => ({ id: 'fac-new', name: 'New Range', timeZone: 'Europe/Oslo', ...fields });
  const bay = (fields: object = {}) =>
    Object.assign({ id: 'bay-new', name: 'Bay', description: '', kind: 'RangeBay', bookable: true }, fields);
  const location = (fields: object = {}) => ({ id: 'loc-new', name: 'Location', bays: [bay()], ...fields });
  const importFacilities = (facilities: unknown) => importPlaces(system.db, { facilities });

  /** Returns the errors for which the import of a file is rejected. */
  async function errorsOfFile(document: object): Promise<readonly string[]> {
    try {
      await importPlaces(system.db, document);
      return [];
    } catch (error) {
      const [summary, ...errors] = (error as Error).message.split('\n');
      expect(summary).toContain('Nothing was imported.');
      return errors.map((line) => line.trim());
    }
  }
  const errorsOf = (facilities: unknown) => errorsOfFile({ facilities });

  const countPlaces = () =>
    Promise.all(['facility', 'location', 'bay'].map((table) => query(system.db, `select count(*) from ${table}`)));

  describe('the import command', () => {
    const runCommand = (argument: string, input?: string | Buffer, url = system.databaseUrl) =>
      new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
        const child = spawn(process.execPath, [`${import.meta.dirname}/../src/commands/import.ts`, argument], {
          env: { DATABASE_URL: url, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
        });
        child.on('error', reject);
        const output = Promise.all([text(child.stdout), text(child.stderr)]);
        child.on('close', async (code) => {
          const [stdout, stderr] = await output;
          resolve({ code, stdout, stderr });
        });
        child.stdin.end(input);
      });

    test('the command reads standard input with -, and prints an audit line and the numbers of imported objects', async () => {
      const result = await runCommand('-', JSON.stringify(places));
      expect(result.code).toBe(0);
      const [summary, auditLine = ''] = result.stdout.split('\n');
      expect(summary).toBe('imported 3 facilities, 4 locations, 24 bays');
      expect(JSON.parse(auditLine)).toMatchObject({
        audit: true,
        action: 'import',
        clientId: 'import',
        subject: null,
        facilityIds: ['fac-east', 'fac-north', 'fac-south'],
        target: null,
      });
    });

    test('the command accepts a byte order mark, and rejects bytes that are not UTF-8', async () => {
      const withByteOrderMark = await runCommand('-', `\ufeff${JSON.stringify({ facilities: [] })}`);
      expect(withByteOrderMark).toMatchObject({ code: 0 });
      const latin1 = Buffer.from(JSON.stringify({ facilities: [facility({ name: 'Café' })] }), 'latin1');
      const stderr = expect.stringContaining('is not in UTF-8; nothing was imported');
      expect(await runCommand('-', latin1)).toMatchObject({ code: 1, stderr });
    });

    test('the command prints a clear message for a missing file, and for a file that is not JSON', async () => {
      const failed = (text: string) => ({ code: 1, stderr: expect.stringContaining(text) });
      expect(await runCommand('/nowhere/places.json')).toMatchObject(failed('ENOENT'));
      expect(await runCommand('-', '{')).toMatchObject(failed('is not valid JSON'));
    });
  });

  describe('an import of ids that exist already', () => {
    test('an import moves the bookings of a bay that changes its location', async () => {
      const importBays = (first: object[], second: object[]) => {
        const locations = [location({ id: 'loc-a', bays: first }), location({ id: 'loc-b', bays: second })];
        return importFacilities([facility({ id: 'fac-moved', locations })]);
      };
      const token = await system.token(['fac-moved']);
      const total = async (location: string) =>
        (await system.call('GET', `/api/bookings?locationIds=${location}`, { token })).body.total;
      await importBays([bay({ id: 'bay-moved' })], []);
      await system.call('POST', '/api/bookings', { token, body: bookingBody({ bayId: 'bay-moved' }) });
      expect([await total('loc-a'), await total('loc-b')]).toEqual([1, 0]);
      await importBays([], [bay({ id: 'bay-moved' })]);
      expect([await total('loc-a'), await total('loc-b')]).toEqual([0, 1]);
    });

    test('an import does not wait for a booking of a bay that the import does not change', async () => {
      await transaction(system.db, async (tx) => {
        // As a booking does (availability/bay-states.ts).
        await query(tx, "select id from bay where facility_id = 'fac-north' and id = 'bay-n1-01' for no key update");
        await importFacilities(places.facilities);
      });
    });

    test('an import runs without deadlocks while bookings of the same bays are created', async () => {
      const createBooking = async (index: number) =>
        system.call('POST', '/api/bookings', { body: bookingBody({ bayId: `bay-n1-0${(index % 9) + 1}` }) });
      const imports = Array.from({ length: 5 }, () => importFacilities(places.facilities));
      const bookings = await Promise.all(Array.from({ length: 36 }, (_, index) => createBooking(index)));
      await Promise.all(imports);
      expect(pluck(bookings, 'status')).toEqual(Array(36).fill(201));
      const deadlockDetected = '40P01';
      expect(system.databaseErrors).not.toContain(deadlockDetected);
    });
  });

  describe('invalid import files', () => {
    test.each([
      ['no facilities', {}, '/facilities: is missing'],
      ['an array', [], '/: must be object'],
    ])('an import file is rejected for %s', async (_title, document, error) => {
      expect(await errorsOfFile(document)).toEqual([error]);
    });

    const noControls = 'must not contain control characters (including those for the direction of text)';
    const ofName = `must have a visible character, and ${noControls}`;
    const zone = 'must be an IANA time zone such as Europe/Copenhagen';
    const closedDay = { date: '2040-01-01', hours: [] };
    const invalidFacilities: [title: string, facilities: unknown, errors: string[]][] = [
      ['an empty id', [facility({ id: '' })], ['/facilities/0/id: must not be empty']],
      ['the id ..', [facility({ id: '..' })], [`/facilities/0/id: must not be . or .., and ${noControls}`]],
      ['U+202E in a name', [facility({ name: 'a\u202eb' })], [`/facilities/0/name: ${ofName}`]],
      ['a name of spaces', [facility({ name: ' \u3000 ' })], [`/facilities/0/name: ${ofName}`]],
      [
        'half a surrogate pair',
        [facility({ name: 'a\ud800', openingHours: [], timeZone: null })],
        [
          '/facilities/0/name: must not contain NUL, half a surrogate pair or invalid UTF-8',
          '/facilities/0/openingHours: is not known',
          '/facilities/0/timeZone: must be string',
        ],
      ],
      [
        'a date with two exceptions from the opening hours',
        [facility({ locations: [location({ openingHours: { weekly: {}, exceptions: [closedDay, closedDay] } })] })],
        [
          '/facilities/0/locations/0/openingHours/exceptions/1/date: is the same as /facilities/0/locations/0/openingHours/exceptions/0/date',
        ],
      ],
      ['an offset as time zone', [facility({ timeZone: '+01:00' })], [`/facilities/0/timeZone: ${zone}`]],
      ['a lower-case time zone', [facility({ timeZone: 'Europe/oslo' })], [`/facilities/0/timeZone: ${zone}`]],
      [
        'errors of every kind together',
        [
          facility({ name: undefined, timeZone: 'Mars/Olympus' }),
          facility({
            locations: [
              location({ bays: [7, bay({ id: 7, bookable: 'yes' }), bay(), bay()] }),
              location({ colour: 'red', openingHours: 1 }),
            ],
          }),
        ],
        [
          '/facilities/0/name: is missing',
          `/facilities/0/timeZone: ${zone}`,
          '/facilities/1/id: is the same as /facilities/0/id',
          '/facilities/1/locations/0/bays/0: must be object',
          '/facilities/1/locations/0/bays/1/bookable: must be boolean',
          '/facilities/1/locations/0/bays/1/id: must be string',
          '/facilities/1/locations/0/bays/3/id: is the same as /facilities/1/locations/0/bays/2/id',
          '/facilities/1/locations/1/bays/0/id: is the same as /facilities/1/locations/0/bays/2/id',
          '/facilities/1/locations/1/colour: is not known',
          '/facilities/1/locations/1/id: is the same as /facilities/1/locations/0/id',
          '/facilities/1/locations/1/openingHours: must be object or null',
        ],
      ],
      [
        'ids that belong to another facility',
        [
          facility({
            id: 'fac-thief',
            locations: [
              location({ id: 'loc-north-1' }),
              location({ id: 'loc-thief', bays: [bay({ id: 'bay-s1-01' })] }),
            ],
          }),
        ],
        [
          '/facilities/0/locations/0/id: loc-north-1 belongs to facility fac-north',
          '/facilities/0/locations/1/bays/0/id: bay-s1-01 belongs to facility fac-south',
        ],
      ],
    ];
    test.each(invalidFacilities)('an import file is rejected for %s', async (_title, facilities, errors) => {
      const before = await countPlaces();
      expect([...(await errorsOf(facilities))].sort()).toEqual(errors.toSorted());
      expect(await countPlaces()).toEqual(before);
    });
  });

  test('openingHours of a location are imported, stay if the file leaves them out, and are removed by null', async () => {
    const openingHours = { weekly: { monday: [{ opens: '07:00', closes: '22:00' }] } };
    const importHours = (fields: object) =>
      importFacilities([facility({ id: 'fac-hours', locations: [{ id: 'loc-hours', name: 'Hours', ...fields }] })]);
    const token = await system.token(['fac-hours']);
    await importHours({ openingHours });
    await importHours({});
    const hours = () => system.call('GET', '/api/booking-locations/loc-hours/opening-hours', { token });
    expect((await hours()).body).toMatchObject({ alwaysOpen: false, ...openingHours, exceptions: [] });
    const weekly = { monday: [{ opens: '25:00', closes: '08:00' }] };
    await expect(importHours({ openingHours: { weekly } })).rejects.toThrow(
      '/facilities/0/locations/0/openingHours/weekly/monday/0/opens: must be a time such as 07:30',
    );
    await importHours({ openingHours: null });
    expect((await hours()).body).toMatchObject({ alwaysOpen: true });
  });

  test('docs/import.md lists every field of the file', () => {
    interface Described {
      readonly properties: Readonly<Record<string, Described & { readonly items: Described }>>;
      readonly required: readonly string[];
    }
    const inside = ({ properties }: Described, name: string) => properties[name] as Described & { items: Described };
    const store = createPlaceRecords(system.db, linksBelow(''), () => {});
    const file = store.files.schema as unknown as Described;
    const facilityEntry = inside(file, 'facilities').items;
    const locationEntry = inside(facilityEntry, 'locations').items;
    // Under its heading "Bookings", the page has a table for each of these objects.
    expect(documentedFields('Bookings')).toEqual({
      'the file': fieldsOf(file),
      'a facility': fieldsOf(facilityEntry),
      'a location': fieldsOf(locationEntry),
      'the opening hours': fieldsOf(inside(locationEntry, 'openingHours')),
      'a bay': fieldsOf(inside(locationEntry, 'bays').items),
    });
  });
});

describe('distribute', () => {
  const distributedTables = [...distribution.colocated, ...distribution.independent];

  test('every table is distributed by a column that is never null, or stays on the coordinator', async () => {
    const tables = await system.db('pg_tables').where('schemaname', 'public').pluck('tablename');
    const listed = [...distributedTables.map(({ table }) => table), ...distribution.local];
    expect(listed.toSorted()).toEqual(tables.toSorted());
    const notNull = 'select from pg_attribute where attrelid = $1::regclass and attname = $2 and attnotnull';
    for (const { table, column } of distributedTables)
      expect(await query(system.db, notNull, [table, column])).toHaveLength(1);
  });

  test('a colocated table is distributed after the tables that it references', async () => {
    const order = distribution.colocated.map(({ table }) => table);
    const references = await query<{ from: string; to: string }>(
      system.db,
      `select conrelid::regclass::text as from, confrelid::regclass::text as to from pg_constraint
     where contype = 'f' and connamespace = 'public'::regnamespace`,
    );
    const ofColocated = references.filter(({ from }) => order.includes(from));
    expect(ofColocated).not.toEqual([]);
    for (const { from, to } of ofColocated) expect(order.indexOf(to)).toBeLessThan(order.indexOf(from));
  });

  test('a second run, or a database without Citus, which may be empty, changes nothing', async () => {
    // `distribute` returns the tables that it has distributed, or undefined without Citus. On a Citus cluster,
    // createTestSystem has already distributed all tables.
    const options = { url: system.databaseUrl, directory: bookingsMigrations, distribution };
    expect(await distribute(options)).toEqual((await isDistributed(system.db)) ? [] : undefined);
    const empty = await createTestDatabase();
    expect(await distribute({ ...options, url: empty.url })).toBeUndefined();
    await empty.drop();
  });
});
