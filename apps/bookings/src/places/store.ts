// Reads locations and bays of the facilities that a token names. record-store.ts writes them.
import type { PageRequest } from '@bay-booking/common/page';
import { type Queryable, query, queryOne } from '@bay-booking/service/database/database';
import { queryPage } from '@bay-booking/service/page-statements';

export interface Facility {
  readonly id: string;
  readonly name: string;
  readonly timeZone: string;
}

export interface LocationRow extends Facility {
  readonly facilityId: string;
}

export interface BayRow extends LocationRow {
  readonly description: string;
  readonly kind: string;
  readonly bookable: boolean;
  readonly locationId: string;
  readonly locationName: string;
}

/** In `name_order`, `Bay 2` comes before `Bay 10`. The collation "C" gives the same order in every database. */
const byName = (table: 'bay' | 'location') => `${table}.name_order, ${table}.name collate "C", ${table}.id collate "C"`;
export const byBayName = byName('bay');

const findFacilities = `select id, name, time_zone as "timeZone" from facility
where id = any($1) and removed_at is null
order by name collate "C", id collate "C"`;

// $1 are the facilities of the token. For a filter, null selects all rows.
const locations = {
  columns: 'location.id, location.name, location.facility_id as "facilityId", facility.time_zone as "timeZone"',
  from: `from location join facility on facility.id = location.facility_id
where location.removed_at is null and location.facility_id = any($1)
  and ($2::text[] is null or location.facility_id = any($2))
  and ($3::text[] is null or location.id = any($3))`,
  orderBy: byName('location'),
};
// For `$2 is null or …`, PostgreSQL plans each execution anew: 0.4 ms, where the execution takes 0.1 ms.
const equalsOneOf = (column: string, values: string, isUsed: boolean): string =>
  isUsed ? `${column} = any((select ${values}::text[])::text[])` : `${values}::text[] is null`;
const bays = (byLocation: boolean, byId: boolean) => ({
  columns: `bay.id, bay.name, bay.description, bay.kind, bay.bookable, bay.location_id as "locationId",
  location.name as "locationName", bay.facility_id as "facilityId", facility.time_zone as "timeZone"`,
  from: `from bay join location on location.facility_id = bay.facility_id and location.id = bay.location_id
join facility on facility.id = bay.facility_id
where bay.removed_at is null and bay.facility_id = any($1) and ${equalsOneOf('bay.location_id', '$2', byLocation)}
  and ${equalsOneOf('bay.id', '$3', byId)}`,
  orderBy: byBayName,
});
const allBays = bays(false, false);
const baysOfLocations = bays(true, false);
const baysById = bays(false, true);
const baysOfLocationsById = bays(true, true);
const findLocation = `select ${locations.columns} from location join facility on facility.id = location.facility_id
where location.removed_at is null and location.facility_id = any($1) and location.id = $2`;

/** A filter that is undefined selects every row. */
type Filter<Name extends string> = { readonly [name in Name]?: readonly string[] | undefined };

export type PlacesStore = ReturnType<typeof createPlacesStore>;

export function createPlacesStore(db: Queryable) {
  return {
    findFacilities: (facilities: readonly string[]) => query<Facility>(db, findFacilities, [facilities]),

    findLocations: (
      facilities: readonly string[],
      { facilityIds, ids }: Filter<'facilityIds' | 'ids'>,
      page: PageRequest,
    ) => queryPage<LocationRow>(db, locations, [facilities, facilityIds ?? null, ids ?? null], page),

    findLocation: (facilities: readonly string[], id: string): Promise<LocationRow | undefined> =>
      queryOne<LocationRow>(db, findLocation, [facilities, id]),

    findBays: (
      facilities: readonly string[],
      { locationIds, bayIds }: Filter<'locationIds' | 'bayIds'>,
      page: PageRequest,
    ) => {
      const statement = locationIds ? (bayIds ? baysOfLocationsById : baysOfLocations) : bayIds ? baysById : allBays;
      return queryPage<BayRow>(db, statement, [facilities, locationIds ?? null, bayIds ?? null], page);
    },
  };
}
