// Reads a page of the bays of an availability request.
import { type PageRequest, readPage } from '@bay-booking/common/page';
import { type Queryable, query } from '@bay-booking/service/database/database';

export interface BayRow {
  readonly id: string;
  readonly name: string;
  readonly bookable: boolean;
  readonly locationId: string;
  readonly locationName: string;
  readonly facilityId: string;
  readonly timeZone: string;
}

export interface BayFilter {
  readonly locationIds?: readonly string[] | undefined;
  readonly bayIds?: readonly string[] | undefined;
}

const matching = `from bay join location on location.facility_id = bay.facility_id and location.id = bay.location_id
join facility on facility.id = bay.facility_id
where bay.facility_id = any($1) and ($2::text[] is null or bay.location_id = any($2))
  and ($3::text[] is null or bay.id = any($3))`;

const pageOfBays = `select bay.id, bay.name, bay.bookable, bay.location_id as "locationId",
  location.name as "locationName", bay.facility_id as "facilityId", facility.time_zone as "timeZone"
${matching} order by bay.name collate "C", bay.id collate "C" limit $4 offset $5`;
const countBays = `select count(*)::int as total ${matching}`;
const clock = 'select clock_timestamp()::timestamptz(3) as "asOf"';

/** Returns a page of bays with the time of the database, whose clock decides which holds are live. */
export async function findBays(
  db: Queryable,
  facilities: readonly string[],
  { locationIds, bayIds }: BayFilter,
  page: PageRequest,
) {
  const filter = [facilities, locationIds ?? null, bayIds ?? null];
  const [[time], found] = await Promise.all([
    query<{ asOf: string }>(db, clock),
    readPage(
      page,
      (limit, offset) => query<BayRow>(db, pageOfBays, [...filter, limit, offset]),
      async () => (await query<{ total: number }>(db, countBays, filter))[0]?.total ?? 0,
    ),
  ]);
  return { ...found, ...(time as { asOf: string }) };
}
