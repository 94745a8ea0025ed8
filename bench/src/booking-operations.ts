// Prepares the requests to the Bookings API that wrk sends.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestIssuer } from '@bay-booking/testkit/issuer';
import { scope } from './bookings.ts';
import { bayId, bays, dayStart, facilityId, insertBookings, locationsPerFacility, onDatabase } from './dataset.ts';
import type { Operation } from './measure.ts';

/** Those of the peers come first, because the others would add to the memory of the service alone. */
export const operationNames = [
  'get',
  'search',
  'availability',
  'update',
  'delete',
  'create',
  'feed',
  'history',
] as const;

const numbersTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

/** Returns a token for the first `facilities` facilities. */
export const tokenFor = (issuer: TestIssuer, facilities: number, client = 'bench'): Promise<string> =>
  issuer.token({
    client_id: client,
    facilities: numbersTo(facilities).map(facilityId),
    scope,
    exp: Math.floor(Date.now() / 1000) + 86_400,
  });

/** Prepares requests for the bookings of the first `facilities` facilities. */
export async function bookingOperations(
  databaseUrl: string,
  issuer: TestIssuer,
  facilities: number,
  parentFolder: string,
): Promise<Record<string, Operation>> {
  const folder = mkdtempSync(join(parentFolder, 'requests-'));
  const writeLines = (name: string, lines: readonly string[]): string => {
    const file = join(folder, name);
    writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  };
  const token = await tokenFor(issuer, facilities);
  const bayCount = bays(facilities);
  const bayIds = numbersTo(bayCount).map(bayId);
  const locations = numbersTo(facilities * locationsPerFacility).map((number) => `loc-${number}`);
  const bookings = await findBookings(databaseUrl, facilities);
  const futureBookings = await findBookings(databaseUrl, facilities, dayStart(1));
  const today = interval(0, 1);
  const tomorrow = interval(1, 2);
  const paths = {
    get: bookings.map(({ id }) => `/api/bookings/${id}`),
    search: locations.map((id) => `/api/bookings?locationIds=${id}&${today}&pageSize=50`),
    availability: locations.map((id) => `/api/booking-availability?locationIds=${id}&${tomorrow}`),
    feed: [`/api/booking-changes?facilityId=${facilityId(1)}&limit=1000`],
    history: bayIds.map((id, index) => {
      const facility = facilityId(Math.floor(index / bays(1)) + 1);
      return `/api/booking-history?facilityId=${facility}&bayIds=${id}&${tomorrow}`;
    }),
  };
  const operations: Record<string, Operation> = {};
  for (const [name, lines] of Object.entries(paths)) {
    const args = [token, writeLines(name, lines)];
    operations[name] = { script: 'get.lua', prepare: () => args };
  }
  operations.create = createOperation(token, bayCount);
  operations.delete = {
    script: 'get.lua',
    prepare: async (_target, seconds) => {
      const day = new Date(firstDeletedDay + 86_400_000 * nextDeletedDay++).toISOString();
      const ids = await insertBookings(databaseUrl, day, deletionsPerSecond * seconds, facilities);
      const paths = ids.map((id) => `/api/bookings/${id}`);
      return [token, writeLines('delete', paths), 'DELETE'];
    },
  };
  const lines = futureBookings.map(({ id, bay_id, start_date }) => `${id} ${bay_id} ${start_date.getTime() / 1000}`);
  const updates = writeLines('update', lines);
  operations.update = { script: 'update.lua', prepare: () => [token, updates] };
  return operations;
}

/** Returns the parameters for the time between the starts of two days, which are counted from today. */
const interval = (fromDay: number, toDay: number): string =>
  `startDate=${dayStart(fromDay)}&endDate=${dayStart(toDay)}`;

/** Returns bookings in an order that looks random, but is the same in every run. */
const findBookings = (databaseUrl: string, facilities: number, from = '-infinity') =>
  onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<{ id: string; bay_id: string; start_date: Date }>(
      `select id, bay_id, start_date from booking where facility_id = any($1) and start_date >= $2
        order by md5(id::text) limit 5000`,
      [numbersTo(facilities).map(facilityId), from],
    );
    return rows;
  });

/** More slots than any target can book in a second. */
const slotsPerSecond = 20_000;
const firstStart = Date.parse('2100-01-01T00:00:00Z');
/** More than any target can delete in a second. */
const deletionsPerSecond = 4_000;
/** Each round deletes the bookings of another day. */
const firstDeletedDay = Date.parse('2090-01-01T00:00:00Z');
let nextDeletedDay = 0;
/**
 * The number of the next free slot, which all targets share, because they share a database. A slot is half an hour in
 * one bay. With fewer bays, the same number is later.
 */
let nextSlot = 0;

/** Creates bookings that do not overlap, in the first `bayCount` bays. */
const createOperation = (token: string, bayCount: number): Operation => ({
  script: 'create.lua',
  prepare: (_target, seconds) => {
    const slot = nextSlot;
    nextSlot += slotsPerSecond * seconds + 2 * bayCount;
    return [token, String(bayCount), String(slot), String(firstStart / 1000)];
  },
});
