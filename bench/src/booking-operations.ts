// Prepares the requests to the Bookings API that wrk sends.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestIssuer } from '@bay-booking/testkit/issuer';
import { callApi, scope } from './bookings.ts';
import { bayId, bays, dayStart, facilityId, locationsPerFacility, onDatabase } from './dataset.ts';
import { hotBayClients } from './hot-bay.ts';
import type { Operation } from './measure.ts';

/**
 * The operations of a group are measured in turn, because goals compare them. The operations of the peers come first,
 * because the others would add to the memory of the service alone.
 */
export const operationGroups: readonly (readonly string[])[] = [
  ['get'],
  ['search'],
  ['upcoming'],
  ['update'],
  ['create', 'create-with-hold'],
  ['availability', 'day-list'],
  ['availability-week'],
  ['feed', 'facility-list'],
  ['hot-bay'],
];

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
  const tokenOfFirst = await tokenFor(issuer, 1);
  const bayCount = bays(facilities);
  const baysPerRequest = 50;
  const bayIds = numbersTo(bayCount).map(bayId);
  const bayGroups = numbersTo(Math.floor(bayCount / baysPerRequest)).map((group) =>
    bayIds.slice((group - 1) * baysPerRequest, group * baysPerRequest).join(','),
  );
  const locations = numbersTo(facilities * locationsPerFacility).map((number) => `loc-${number}`);
  const bookings = await findBookings(databaseUrl, facilities);
  const futureBookings = await findBookings(databaseUrl, facilities, dayStart(1));
  const today = interval(0, 1);
  const tomorrow = interval(1, 2);
  const paths = {
    get: bookings.map(({ id }) => `/api/bookings/${id}`),
    search: locations.map((id) => `/api/bookings?locationIds=${id}&${today}&pageSize=50`),
    upcoming: bayIds.map((id) => `/api/bays/${id}/upcoming-bookings`),
    availability: locations.map((id) => `/api/booking-availability?locationIds=${id}&${tomorrow}`),
    // What a client would request without the resource availability: all bookings of the day in one page.
    'day-list': locations.map((id) => `/api/bookings?locationIds=${id}&${tomorrow}&pageSize=1000`),
    'availability-week': bayGroups.map((ids) => `/api/booking-availability?bayIds=${ids}&${interval(1, 8)}`),
    feed: [`/api/booking-changes?facilityId=${facilityId(1)}&limit=1000`],
    'facility-list': ['/api/bookings?pageSize=1000'],
  };
  const operations: Record<string, Operation> = {};
  for (const [name, lines] of Object.entries(paths)) {
    const sentToken = name === 'feed' || name === 'facility-list' ? tokenOfFirst : token;
    const args = [sentToken, writeLines(name, lines)];
    const connections = name === 'availability-week' ? { connections: 1 } : {};
    operations[name] = { ...connections, script: 'get.lua', prepare: () => args };
  }
  // The other half of the bays has holds, which make a create without a hold slower.
  const halfOfBays = bayCount / 2;
  operations.create = createOperation(token, halfOfBays);
  operations['hot-bay'] = { ...createOperation(token, 1), connections: hotBayClients };
  operations['create-with-hold'] = {
    script: 'create-with-hold.lua',
    maxSeconds: 1,
    prepare: async ({ url }, seconds) => {
      const newOwner = () => tokenFor(issuer, facilities, randomUUID());
      const holds = await createHolds(url, holdsPerSecond * seconds, bayIds.slice(halfOfBays), newOwner);
      return [writeLines('holds', holds)];
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

const holdsPerSecond = 4_500;
/** More slots than any target can book in a second. */
const slotsPerSecond = 20_000;
const slotMilliseconds = 30 * 60_000;
const firstStart = Date.parse('2100-01-01T00:00:00Z');
/**
 * The number of the next free slot, which all targets share, because they share a database. A slot is half an hour in
 * one bay: number n is the half hour n / bays in the bay n % bays. With fewer bays, it is therefore later.
 */
let nextSlot = 0;

/** Creates bookings that do not overlap, in the first `bayCount` bays. */
export const createOperation = (token: string, bayCount: number): Operation => ({
  script: 'create.lua',
  prepare: (_target, seconds) => {
    const slot = reserveSlots(slotsPerSecond * seconds);
    return [token, String(bayCount), String(slot), String(firstStart / 1000)];
  },
});

function reserveSlots(count: number): number {
  const first = nextSlot;
  nextSlot += count;
  return first;
}

/** Holds successive slots. Returns a line for each hold, as create-with-hold.lua reads it. */
async function createHolds(
  url: string,
  count: number,
  bayIds: readonly string[],
  newOwner: () => Promise<string>,
): Promise<string[]> {
  const lines: string[] = [];
  const first = reserveSlots(count);
  // An owner has at most 50 holds.
  for (let slot = first; slot < first + count; slot += 50) {
    const token = await newOwner();
    const hold = async (number: number): Promise<void> => {
      const bayId = bayIds[number % bayIds.length];
      const start = firstStart + Math.floor(number / bayIds.length) * slotMilliseconds;
      const [startDate, endDate] = [start, start + slotMilliseconds].map((time) => new Date(time).toISOString());
      const body = { bayId, startDate, endDate, holdSeconds: 900 };
      const { id } = await callApi(`${url}/api/booking-holds`, token, 'POST', body);
      lines.push(`${token} ${id} ${bayId} ${start / 1000}`);
    };
    await Promise.all(numbersTo(50).map((number) => hold(slot + number - 1)));
  }
  return lines;
}
