// Lists the requests that measure availability. They read one week in the future, which gets as many bookings as any
// other week of the dataset.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import type { RequestSource } from './booking-operations.ts';
import {
  bayId,
  baysPerFacility,
  baysPerLocation,
  bookingsPerBayAndDay,
  facilityIds,
  locationId,
  newId,
} from './dataset.ts';
import type { Operation } from './measure.ts';

/** The week in which these operations create bookings. booking-operations.ts deletes the bookings again. */
const week = { startDate: '2140-01-01T00:00:00.000Z', endDate: '2140-01-08T00:00:00.000Z' };
const day = 'startDate=2140-01-03T00:00:00.000Z&endDate=2140-01-04T00:00:00.000Z';
/** The number of facilities whose bays are booked in this week. */
const weekFacilities = 5;
const baysPerRequest = 50;

/** Returns the requests that are measured. goals.ts refers to their names. */
export function availabilityOperations({ client, token, facilities, folder }: RequestSource): readonly Operation[] {
  const facilityCount = Math.min(facilities, weekFacilities);
  const bayCount = facilityCount * baysPerFacility;
  let prepared: Promise<void> | undefined;
  /** Returns an operation that requests these paths in turn. `connections` replaces the usual number of connections. */
  const get = (name: string, paths: readonly string[], connections?: number): Operation => ({
    name,
    ...(connections && { connections }),
    load: async () => {
      // Before the first measurement, creates the bookings that all these operations read.
      prepared ??= bookWeek(client, facilityCount);
      await prepared;
      const path = join(folder, name);
      writeFileSync(path, `${paths.join('\n')}\n`);
      return { script: 'get.lua', args: [token, path] };
    },
  });
  const locations = Array.from({ length: bayCount / baysPerLocation }, (_, index) => locationId(index + 1));
  // The ids of the bays in groups of `baysPerRequest`, separated by commas
  const groups = Array.from({ length: Math.floor(bayCount / baysPerRequest) }, (_, group) =>
    Array.from({ length: baysPerRequest }, (_, index) => bayId(group * baysPerRequest + index + 1)).join(','),
  );
  return [
    get(
      'availability',
      locations.map((id) => `/api/booking-availability?locationIds=${id}&${day}`),
    ),
    get(
      // What a client would request if `/api/booking-availability` did not exist: all bookings of the day, in one page.
      'list',
      locations.map((id) => `/api/bookings?locationIds=${id}&${day}&pageSize=1000`),
    ),
    // With one connection, no request waits for another. The result is the response time of a single request.
    get(
      'availability-week',
      groups.map((ids) => `/api/booking-availability?bayIds=${ids}&${new URLSearchParams(week)}`),
      1,
    ),
  ];
}

/** Books each bay of the first `facilityCount` facilities for a week: one booking of 90 minutes every two hours. */
async function bookWeek(client: pg.Client, facilityCount: number): Promise<void> {
  await client.query(
    `insert into booking
       (facility_id, id, location_id, bay_id, user_alias, start_date, end_date, created_at, last_updated_at)
     select facility_id, ${newId}, location_id, id, 'player',
         start_date, start_date + interval '90 minutes', now(), now()
       from bay, generate_series(0, ${7 * bookingsPerBayAndDay - 1}) n,
         lateral (select $2::timestamptz + n * interval '2 hours' as start_date) slot
      where facility_id = any($1)`,
    [facilityIds(facilityCount), week.startDate],
  );
  await client.query('vacuum (analyze) booking');
}
