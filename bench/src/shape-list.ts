// Lists the kinds of requests ("shapes") that must stay fast however many bookings exist: the endpoints that read
// bookings, locations and bays, with every filter, with the first page and with pages near the end of a list. A shape
// builds the addresses of its requests from ids that exist in the database.
import type pg from 'pg';
import { bayId, baysPerFacility, type Dataset, facilityIds, locationId, locationsPerFacility } from './dataset.ts';

/**
 * The values that the addresses of the requests contain. `bays` and `locations` are the highest numbers. The ids
 * are computed from the numbers.
 */
export interface Sources {
  /** The ids of bookings. */
  readonly ids: readonly string[];
  readonly externalIds: readonly string[];
  readonly correlationIds: readonly string[];
  readonly aliases: readonly string[];
  readonly facilities: readonly string[];
  readonly bays: number;
  readonly locations: number;
  /** YYYY-MM-DD */
  readonly today: string;
}

export interface Shape {
  readonly name: string;
  readonly path: (sources: Sources) => string;
  /** Chooses the page to request: returns a number from 1 to `pageCount`. Default: the first page. */
  readonly page?: (pageCount: number) => number;
}

const randomBelow = (limit: number): number => Math.floor(Math.random() * limit);
const randomElement = (list: readonly string[]): string => list[randomBelow(list.length)] ?? '';
const randomElements = (list: readonly string[], count: number): string[] =>
  Array.from({ length: count }, () => randomElement(list));
const randomBay = ({ bays }: Sources): string => bayId(1 + randomBelow(bays));
const randomLocation = ({ locations }: Sources): string => locationId(1 + randomBelow(locations));
const fullDay = ({ today }: Sources): string => `startDate=${today}T00:00:00.000Z&endDate=${today}T23:59:59.999Z`;
const oneHour = ({ today }: Sources): string => `startDate=${today}T12:00:00.000Z&endDate=${today}T13:00:00.000Z`;
/** Chooses the page after nine tenths of the list. */
const deepPage = (pageCount: number): number => Math.max(1, Math.floor(pageCount * 0.9));
/** The address with which all searches begin. Each search appends its filters, such as `&isActive=true`. */
const search = '/api/bookings?pageSize=50';

// In the names, `now` stands for noon of the current day.
export const shapes: readonly Shape[] = [
  { name: 'booking by id', path: ({ ids }) => `/api/bookings/${randomElement(ids)}` },
  { name: 'location and day', path: (s) => `${search}&locationIds=${randomLocation(s)}&${fullDay(s)}` },
  {
    name: 'location and day, last page',
    path: (s) => `${search}&locationIds=${randomLocation(s)}&${fullDay(s)}`,
    page: (count) => count,
  },
  { name: 'location', path: (s) => `${search}&locationIds=${randomLocation(s)}` },
  { name: 'location, deep page', path: (s) => `${search}&locationIds=${randomLocation(s)}`, page: deepPage },
  { name: 'location, active', path: (s) => `${search}&locationIds=${randomLocation(s)}&isActive=true` },
  { name: 'location, inactive', path: (s) => `${search}&locationIds=${randomLocation(s)}&isActive=false` },
  { name: '5 bays', path: (s) => `${search}&bayIds=${Array.from({ length: 5 }, () => randomBay(s)).join(',')}` },
  {
    name: '5 bays, overlapping an hour',
    path: (s) => `${search}&bayIds=${Array.from({ length: 5 }, () => randomBay(s)).join(',')}&${oneHour(s)}`,
  },
  { name: '200 ids', path: ({ ids }) => `${search}&ids=${randomElements(ids, 200).join(',')}` },
  {
    name: '200 external ids',
    path: ({ externalIds }) => `${search}&externalBookingIds=${randomElements(externalIds, 200).join(',')}`,
  },
  {
    name: '500 external ids',
    path: ({ externalIds }) => `${search}&externalBookingIds=${randomElements(externalIds, 500).join(',')}`,
  },
  {
    name: '50 correlation ids',
    path: ({ correlationIds }) => `${search}&correlationIds=${randomElements(correlationIds, 50).join(',')}`,
  },
  { name: 'alias', path: ({ aliases }) => `${search}&userAlias=${randomElement(aliases)}` },
  { name: 'alias, active', path: ({ aliases }) => `${search}&userAlias=${randomElement(aliases)}&isActive=true` },
  { name: 'all, overlapping an hour', path: (s) => `${search}&${oneHour(s)}` },
  { name: 'all, from now on', path: (s) => `${search}&startDate=${s.today}T12:00:00.000Z` },
  { name: 'all, until now', path: (s) => `${search}&endDate=${s.today}T12:00:00.000Z` },
  { name: 'all, active', path: () => `${search}&isActive=true` },
  { name: 'all, inactive', path: () => `${search}&isActive=false` },
  { name: 'all', path: () => search },
  { name: 'all, second page', path: () => search, page: (count) => Math.min(2, count) },
  { name: 'all, deep page', path: () => search, page: deepPage },
  { name: 'all, last page', path: () => search, page: (count) => count },
  { name: 'upcoming of a bay', path: (s) => `/api/bays/${randomBay(s)}/upcoming-bookings?pageSize=10` },
  {
    name: 'upcoming of a bay today',
    path: (s) => `/api/bays/${randomBay(s)}/upcoming-bookings?pageSize=10&todayOnly=true`,
  },
  {
    name: 'upcoming of a bay, last page',
    path: (s) => `/api/bays/${randomBay(s)}/upcoming-bookings?pageSize=10`,
    page: (count) => count,
  },
  { name: 'locations', path: () => '/api/booking-locations?pageSize=500' },
  { name: 'location by id', path: (s) => `/api/booking-locations/${randomLocation(s)}` },
  { name: 'bays of a location', path: (s) => `/api/booking-bays?locationId=${randomLocation(s)}` },
  { name: 'bays', path: () => '/api/booking-bays?pageSize=50' },
];

/** Reads about 2000 values of each column, the same number from each of the first `facilityCount` facilities. */
export async function findSources(client: pg.Client, dataset: Dataset, facilityCount: number): Promise<Sources> {
  const facilities = facilityIds(facilityCount);
  // The order by a hash selects bookings of all days, and the same bookings in each run on this data.
  const column = async (name: string): Promise<string[]> => {
    const { rows } = await client.query<{ value: string }>(
      `select b.${name}::text as value from facility f cross join lateral (
         select * from booking where facility_id = f.id and ${name} is not null order by md5(id::text) limit $2) b
       where f.id = any($1)`,
      [facilities, Math.ceil(2000 / facilityCount)],
    );
    return rows.map(({ value }) => value);
  };
  return {
    facilities,
    ids: await column('id'),
    externalIds: await column('external_booking_id'),
    correlationIds: await column('correlation_id'),
    aliases: await column('user_alias'),
    bays: Math.min(dataset.bays, facilityCount * baysPerFacility),
    locations: facilityCount * locationsPerFacility,
    today: new Date().toISOString().slice(0, 10),
  };
}
