// npm run import -w apps/bookings -- FILE. Contract section 2: an upsert by id, all or nothing; bad input names the path of each fault.
import { execFile, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { ImportError } from '@bay-booking/common/import-document';
import { query } from '@bay-booking/service/database/database';
import { createTestDatabase } from '@bay-booking/testkit/database';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readImport } from '../src/places/import-document.ts';
import { importPlaces } from '../src/places/import-store.ts';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { places } from './support/places.ts';
import { createTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
beforeAll(async () => {
  system = await createTestSystem();
});
afterAll(() => system.close());

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
const load = (facilities: unknown) => importPlaces(system.db, readImport(JSON.stringify({ facilities })));

async function faultsOf(facilities: unknown): Promise<readonly string[]> {
  try {
    await load(facilities);
    return [];
  } catch (error) {
    if (error instanceof ImportError) return error.errors;
    throw error;
  }
}

async function counts(): Promise<unknown> {
  const [row] = await query(
    system.db,
    'select (select count(*) from facility) as facilities, (select count(*) from location) as locations, (select count(*) from bay) as bays',
  );
  return row;
}

describe('the command', () => {
  const command = (argument: string, input?: string | Buffer, url = system.databaseUrl) =>
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

  test('reads standard input with -, and says what it did', async () => {
    const result = await command('-', JSON.stringify(places));
    expect(result).toMatchObject({ code: 0, stdout: 'imported 3 facilities, 4 locations, 24 bays\n' });
  });

  test('a byte order mark is no fault, bytes that are no UTF-8 are', async () => {
    const marked = await command('-', `\ufeff${JSON.stringify({ facilities: [] })}`);
    expect(marked).toMatchObject({ code: 0 });
    const latin1 = await command(
      '-',
      Buffer.from(JSON.stringify({ facilities: [facility({ name: 'Café' })] }), 'latin1'),
    );
    expect(latin1).toMatchObject({ code: 1, stderr: expect.stringContaining('is not in UTF-8; nothing was imported') });
  });

  test('bad input: every fault with its path, exit code 1, nothing changed', async () => {
    const before = await counts();
    const bad = {
      facilities: [facility({ timeZone: 'Mars/Olympus', locations: [location({ bays: [bay({ id: 7 })] })] })],
    };
    const result = await command('-', JSON.stringify(bad));
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('/facilities/0/locations/0/bays/0/id: must be string');
    expect(await counts()).toEqual(before);
  });

  test('a file that is not there, or no JSON: one clear line', async () => {
    expect(await command('/nowhere/places.json')).toMatchObject({ code: 1, stderr: expect.stringContaining('ENOENT') });
    expect(await command('-', '{')).toMatchObject({ code: 1, stderr: expect.stringContaining('is not valid JSON') });
  });

  test('into a database without the schema: what to run first', async () => {
    const empty = await createTestDatabase();
    const result = await command('-', JSON.stringify(places), empty.url);
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('is older than') });
    expect(result.stderr).toContain('run migrate');
    await empty.drop();
  });

  test('from two hosts at once', async () => {
    const results = await Promise.all([command('-', JSON.stringify(places)), command('-', JSON.stringify(places))]);
    expect(results.map(({ code }) => code)).toEqual([0, 0]);
  });
});

describe('an upsert by id', () => {
  test('twice is once', async () => {
    const before = await counts();
    await load(places.facilities);
    expect(await counts()).toEqual(before);
  });

  test('changes names, texts and bookable', async () => {
    await load([facility({ locations: [location()] })]);
    await load([
      facility({
        name: 'Newer',
        locations: [location({ name: 'Other', bays: [bay({ name: 'B', description: 'D', kind: 'K' })] })],
      }),
    ]);
    const token = await system.token(['fac-new']);
    const { body } = await system.call('GET', '/api/booking-bays', { token });
    expect(body.items).toEqual([
      { id: 'bay-new', name: 'B', description: 'D', kind: 'K', location: { id: 'loc-new', name: 'Other' }, _links: {} },
    ]);
  });

  test('what a file leaves out of a bay that is known stays: one that is closed is not opened', async () => {
    const at = (fields: object) =>
      load([facility({ id: 'fac-keep', locations: [{ id: 'loc-keep', name: 'L', bays: [fields] }] })]);
    const token = await system.token(['fac-keep']);
    const bays = async () => (await system.call('GET', '/api/booking-bays', { token })).body.items;
    await at({ id: 'bay-keep', name: 'Bay' });
    expect(await bays()).toMatchObject([{ name: 'Bay', description: '', kind: 'RangeBay' }]);
    await at({ id: 'bay-keep', name: 'Bay', description: 'D', kind: 'K', bookable: false });
    await at({ id: 'bay-keep', name: 'Renamed' });
    expect(await bays()).toMatchObject([{ name: 'Renamed', description: 'D', kind: 'K' }]);
    const refused = await system.call('POST', '/api/bookings', { token, body: bookingBody({ bayId: 'bay-keep' }) });
    expect(errorCodes(refused)).toEqual(['BOOK00003']);
  });

  test('a bay that changes its location takes its bookings along', async () => {
    const at = (first: object[], second: object[]) =>
      load([
        facility({
          id: 'fac-carry',
          locations: [location({ id: 'loc-a', bays: first }), location({ id: 'loc-b', bays: second })],
        }),
      ]);
    const totals = () =>
      Promise.all(
        ['loc-a', 'loc-b'].map(
          async (id) => (await system.call('GET', `/api/bookings?locationIds=${id}`, { token })).body.total,
        ),
      );
    await at([bay({ id: 'bay-carry' })], []);
    const token = await system.token(['fac-carry']);
    await system.call('POST', '/api/bookings', { token, body: bookingBody({ bayId: 'bay-carry' }) });
    expect(await totals()).toEqual([1, 0]);
    await at([], [bay({ id: 'bay-carry' })]);
    expect(await totals()).toEqual([0, 1]);
  });

  test('beside bookings of the same bays: no deadlock', async () => {
    const booking = async (index: number) =>
      system.call('POST', '/api/bookings', { body: bookingBody({ bayId: `bay-n1-0${(index % 9) + 1}` }) });
    const work = Array.from({ length: 40 }, (_, index) => (index % 8 === 0 ? load(places.facilities) : booking(index)));
    await Promise.all(work);
    expect(system.databaseErrors).not.toContain('40P01');
  });
});

describe('faults', () => {
  test.each([
    ['no facilities', {}, '/facilities: is missing'],
    ['an array', [], '/: must be object'],
  ])('%s', (_what, document, fault) => {
    expect(() => readImport(JSON.stringify(document))).toThrow(fault);
  });

  const bad: [string, unknown, string[]][] = [
    ['a missing name', [{ id: 'f', timeZone: 'UTC' }], ['/facilities/0/name: is missing']],
    ['an unknown field', [facility({ colour: 'red' })], ['/facilities/0/colour: is not known']],
    ['an empty id', [facility({ id: '' })], ['/facilities/0/id: must NOT have fewer than 1 characters']],
    ['a control character', [facility({ name: 'a\nb' })], ['/facilities/0/name: has a character that is not allowed']],
    [
      'several',
      [facility({ locations: [location({ name: 1, bays: [bay({ bookable: 'yes' }), bay({ kind: null })] })] })],
      [
        '/facilities/0/locations/0/name: must be string',
        '/facilities/0/locations/0/bays/0/bookable: must be boolean',
        '/facilities/0/locations/0/bays/1/kind: must be string',
        '/facilities/0/locations/0/bays/1/id: is the same as /facilities/0/locations/0/bays/0/id',
      ],
    ],
    [
      'a time zone that is none',
      [facility({ timeZone: 'Mars/Olympus' })],
      ['/facilities/0/timeZone: Mars/Olympus is not an IANA time zone'],
    ],
    [
      'an offset as time zone',
      [facility({ timeZone: '+01:00' })],
      ['/facilities/0/timeZone: +01:00 is not an IANA time zone'],
    ],
    [
      'an id twice',
      [facility({ locations: [location({ bays: [bay(), bay()] }), location()] }), facility()],
      [
        '/facilities/1/id: is the same as /facilities/0/id',
        '/facilities/0/locations/1/id: is the same as /facilities/0/locations/0/id',
        '/facilities/0/locations/0/bays/1/id: is the same as /facilities/0/locations/0/bays/0/id',
        '/facilities/0/locations/1/bays/0/id: is the same as /facilities/0/locations/0/bays/0/id',
      ],
    ],
    [
      'faults of every kind at once',
      [
        facility({ name: undefined, timeZone: 'Mars/Olympus' }),
        facility({ locations: [location({ bays: [7, bay({ id: 7 })] }), location({ colour: 'red' })] }),
      ],
      [
        '/facilities/0/name: is missing',
        '/facilities/0/timeZone: Mars/Olympus is not an IANA time zone',
        '/facilities/1/id: is the same as /facilities/0/id',
        '/facilities/1/locations/0/bays/0: must be object',
        '/facilities/1/locations/0/bays/1/id: must be string',
        '/facilities/1/locations/1/colour: is not known',
        '/facilities/1/locations/1/id: is the same as /facilities/1/locations/0/id',
      ],
    ],
    [
      'ids of another facility',
      [facility({ id: 'fac-thief', locations: [location({ id: 'loc-north-1', bays: [bay({ id: 'bay-s1-01' })] })] })],
      [
        '/facilities/0/locations/0/id: loc-north-1 belongs to facility fac-north',
        '/facilities/0/locations/0/bays/0/id: bay-s1-01 belongs to facility fac-south',
      ],
    ],
  ];
  test.each(bad)('%s', async (_what, facilities, faults) => {
    const before = await counts();
    expect([...(await faultsOf(facilities))].sort()).toEqual(faults.toSorted());
    expect(await counts()).toEqual(before);
  });
});

test('npm run migrate: safe twice and from two hosts at once', async () => {
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
