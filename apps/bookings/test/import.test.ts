// Tests `npm run import -w apps/bookings` (docs/import.md), and that `npm run migrate` can run
// again.
import { execFile, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { linksBelow } from '@bay-booking/common/links';
import { query, transaction } from '@bay-booking/service/database/database';
import { createTestDatabase } from '@bay-booking/testkit/database';
import { useFixture } from '@bay-booking/testkit/fixture';
import { documentedFields, fieldsOf } from '@bay-booking/testkit/import-guide';
import { describe, expect, test } from '@jest/globals';
import { createPlaceRecords } from '../src/places/management.ts';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { importPlaces, places } from './support/places.ts';
import { createTestSystem } from './support/test-system.ts';

const system = useFixture(() => createTestSystem());

const facility = (fields: object = {}) => ({ id: 'fac-new', name: 'New Range', timeZone: 'Europe/Oslo', ...fields });
const bay = (fields: object = {}) => ({
  id: 'bay-new',
  name: 'Bay',
  description: '',
  kind: 'RangeBay',
  bookable: true,
  ...fields,
});
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

async function countPlaces(): Promise<unknown> {
  const [row] = await query(
    system.db,
    `select (select count(*) from facility) as facilities, (select count(*) from location) as locations,
       (select count(*) from bay) as bays`,
  );
  return row;
}

describe('the import command', () => {
  const runCommand = (argument: string, input?: string | Buffer, url = system.databaseUrl) =>
    new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
      const child = spawn(process.execPath, [`${import.meta.dirname}/../src/commands/import.ts`, argument], {
        env: { DATABASE_URL: url },
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
    const latin1 = await runCommand(
      '-',
      Buffer.from(JSON.stringify({ facilities: [facility({ name: 'Café' })] }), 'latin1'),
    );
    expect(latin1).toMatchObject({ code: 1, stderr: expect.stringContaining('is not in UTF-8; nothing was imported') });
  });

  test('the command prints the path of each error in its input, exits with code 1 and changes nothing', async () => {
    const before = await countPlaces();
    const invalidPlaces = {
      facilities: [facility({ timeZone: 'Mars/Olympus', locations: [location({ bays: [bay({ id: 7 })] })] })],
    };
    const result = await runCommand('-', JSON.stringify(invalidPlaces));
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('/facilities/0/timeZone: ');
    expect(result.stderr).toContain('/facilities/0/locations/0/bays/0/id: must be string');
    expect(await countPlaces()).toEqual(before);
  });

  test('the command prints a clear message for a missing file, and for a file that is not JSON', async () => {
    expect(await runCommand('/nowhere/places.json')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('ENOENT'),
    });
    expect(await runCommand('-', '{')).toMatchObject({ code: 1, stderr: expect.stringContaining('is not valid JSON') });
  });

  test('the command prints which command to run first if the database has no schema', async () => {
    const empty = await createTestDatabase();
    const result = await runCommand('-', JSON.stringify(places), empty.url);
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('is older than') });
    expect(result.stderr).toContain('run migrate');
    await empty.drop();
  });

  test('two commands that import the same file at the same time both succeed', async () => {
    const results = await Promise.all([
      runCommand('-', JSON.stringify(places)),
      runCommand('-', JSON.stringify(places)),
    ]);
    expect(results.map(({ code }) => code)).toEqual([0, 0]);
  });
});

describe('an import of ids that exist already', () => {
  test('an import adds nothing if the same file is imported twice', async () => {
    // `createTestSystem` has already imported these places.
    const before = await countPlaces();
    await importFacilities(places.facilities);
    expect(await countPlaces()).toEqual(before);
  });

  test('an import changes the fields of a bay', async () => {
    await importFacilities([facility({ locations: [location()] })]);
    await importFacilities([
      facility({
        name: 'Newer',
        locations: [location({ name: 'Other', bays: [bay({ name: 'B', description: 'D', kind: 'K' })] })],
      }),
    ]);
    const token = await system.token(['fac-new']);
    const { body } = await system.call('GET', '/api/booking-bays', { token });
    expect(body.items).toEqual([
      {
        id: 'bay-new',
        name: 'B',
        description: 'D',
        kind: 'K',
        bookable: true,
        locationId: 'loc-new',
        location: { id: 'loc-new', name: 'Other' },
        _links: {},
      },
    ]);
  });

  test('an import does not change the fields of a bay that the file leaves out, such as bookable', async () => {
    const importBay = (fields: object) =>
      importFacilities([facility({ id: 'fac-keep', locations: [{ id: 'loc-keep', name: 'L', bays: [fields] }] })]);
    const token = await system.token(['fac-keep']);
    const bays = async () => (await system.call('GET', '/api/booking-bays', { token })).body.items;
    await importBay({ id: 'bay-keep', name: 'Bay' });
    expect(await bays()).toMatchObject([{ name: 'Bay', description: '', kind: 'RangeBay' }]);
    await importBay({ id: 'bay-keep', name: 'Bay', description: 'D', kind: 'K', bookable: false });
    await importBay({ id: 'bay-keep', name: 'Renamed' });
    expect(await bays()).toMatchObject([{ name: 'Renamed', description: 'D', kind: 'K' }]);
    const rejected = await system.call('POST', '/api/bookings', { token, body: bookingBody({ bayId: 'bay-keep' }) });
    // BOOK00003: the bay is not bookable.
    expect(errorCodes(rejected)).toEqual(['BOOK00003']);
  });

  test('an import moves the bookings of a bay that changes its location', async () => {
    const importBays = (first: object[], second: object[]) =>
      importFacilities([
        facility({
          id: 'fac-moved',
          locations: [location({ id: 'loc-a', bays: first }), location({ id: 'loc-b', bays: second })],
        }),
      ]);
    const token = await system.token(['fac-moved']);
    /** Returns the numbers of bookings in loc-a and in loc-b. */
    const totalsByLocation = () =>
      Promise.all(
        ['loc-a', 'loc-b'].map(
          async (id) => (await system.call('GET', `/api/bookings?locationIds=${id}`, { token })).body.total,
        ),
      );
    await importBays([bay({ id: 'bay-moved' })], []);
    await system.call('POST', '/api/bookings', { token, body: bookingBody({ bayId: 'bay-moved' }) });
    expect(await totalsByLocation()).toEqual([1, 0]);
    await importBays([], [bay({ id: 'bay-moved' })]);
    expect(await totalsByLocation()).toEqual([0, 1]);
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
    expect(bookings.map(({ status }) => status)).toEqual(Array(36).fill(201));
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

  const noControls = 'must not contain control characters, also none for the direction of text';
  const invalidFacilities: [title: string, facilities: unknown, errors: string[]][] = [
    ['a missing name', [{ id: 'f', timeZone: 'UTC' }], ['/facilities/0/name: is missing']],
    ['an unknown field', [facility({ colour: 'red' })], ['/facilities/0/colour: is not known']],
    ['an empty id', [facility({ id: '' })], ['/facilities/0/id: must not be empty']],
    ['the id ..', [facility({ id: '..' })], [`/facilities/0/id: must not be . or .., and ${noControls}`]],
    ['U+202E in a name', [facility({ name: 'a\u202eb' })], [`/facilities/0/name: ${noControls}`]],
    [
      'half a surrogate pair',
      [facility({ name: 'a\ud800', openingHours: [], timeZone: null })],
      [
        '/facilities/0/name: must not contain NUL or half a surrogate pair',
        '/facilities/0/openingHours: is not known',
        '/facilities/0/timeZone: must be string',
      ],
    ],
    [
      'opening hours of another type',
      [facility({ locations: [location({ openingHours: 1 })] })],
      ['/facilities/0/locations/0/openingHours: must be object or null'],
    ],
    [
      'a control character',
      [facility({ name: 'a\nb' })],
      ['/facilities/0/name: must not contain control characters, also none for the direction of text'],
    ],
    [
      'several errors',
      // Both bays have the default id of `bay`.
      [facility({ locations: [location({ name: 1, bays: [bay({ bookable: 'yes' }), bay({ kind: null })] })] })],
      [
        '/facilities/0/locations/0/name: must be string',
        '/facilities/0/locations/0/bays/0/bookable: must be boolean',
        '/facilities/0/locations/0/bays/1/kind: must be string',
        '/facilities/0/locations/0/bays/1/id: is the same as /facilities/0/locations/0/bays/0/id',
      ],
    ],
    [
      'an unknown time zone',
      [facility({ timeZone: 'Mars/Olympus' })],
      ['/facilities/0/timeZone: must be an IANA time zone such as Europe/Copenhagen'],
    ],
    [
      'an offset as time zone',
      [facility({ timeZone: '+01:00' })],
      ['/facilities/0/timeZone: must be an IANA time zone such as Europe/Copenhagen'],
    ],
    [
      'repeated ids',
      [facility({ locations: [location({ bays: [bay(), bay()] }), location()] }), facility()],
      [
        '/facilities/1/id: is the same as /facilities/0/id',
        '/facilities/0/locations/1/id: is the same as /facilities/0/locations/0/id',
        '/facilities/0/locations/0/bays/1/id: is the same as /facilities/0/locations/0/bays/0/id',
        '/facilities/0/locations/1/bays/0/id: is the same as /facilities/0/locations/0/bays/0/id',
      ],
    ],
    [
      'errors of every kind together',
      [
        facility({ name: undefined, timeZone: 'Mars/Olympus' }),
        facility({ locations: [location({ bays: [7, bay({ id: 7 })] }), location({ colour: 'red' })] }),
      ],
      [
        '/facilities/0/name: is missing',
        '/facilities/0/timeZone: must be an IANA time zone such as Europe/Copenhagen',
        '/facilities/1/id: is the same as /facilities/0/id',
        '/facilities/1/locations/0/bays/0: must be object',
        '/facilities/1/locations/0/bays/1/id: must be string',
        '/facilities/1/locations/1/colour: is not known',
        '/facilities/1/locations/1/id: is the same as /facilities/1/locations/0/id',
      ],
    ],
    [
      'ids that belong to another facility',
      [
        facility({
          id: 'fac-thief',
          locations: [location({ id: 'loc-north-1' }), location({ id: 'loc-thief', bays: [bay({ id: 'bay-s1-01' })] })],
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

test('npm run migrate can run again, also as two processes at the same time', async () => {
  const migrate = () =>
    new Promise<string>((resolve, reject) => {
      const file = `${import.meta.dirname}/../src/commands/migrate.ts`;
      execFile(process.execPath, [file], { env: { DATABASE_URL: system.databaseUrl } }, (error, stdout) =>
        error ? reject(error) : resolve(stdout),
      );
    });
  expect(await Promise.all([migrate(), migrate()])).toEqual([
    'the schema is up to date\n',
    'the schema is up to date\n',
  ]);
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
  const file = store.reader.fileSchema as unknown as Described;
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
