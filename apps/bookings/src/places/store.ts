// Reads locations and bays of the facilities that a token names. import/store.ts writes them.
import { type PageRequest, readPage } from '@bay-booking/common/page';
import { type Queryable, query } from '@bay-booking/service/database/database';

export interface LocationRow {
  readonly id: string;
  readonly name: string;
}

export interface BayRow {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly kind: string;
  readonly location_id: string;
  readonly location_name: string;
}

export interface BayPlace {
  readonly facility_id: string;
  readonly location_id: string;
  readonly bay_id: string;
}

/** The collation "C" gives the same order in every database. */
const orderByName = (table: string): string => `order by ${table}.name collate "C", ${table}.id collate "C"`;

// $1 are the facilities of the token. For a filter, null selects all rows.
const fromLocations = `from location
where facility_id = any($1) and ($2::text[] is null or facility_id = any($2)) and ($3::text[] is null or id = any($3))`;
const fromBays = `from bay join location on location.facility_id = bay.facility_id and location.id = bay.location_id
where bay.facility_id = any($1) and ($2::text is null or bay.location_id = $2)`;

export const placeReads = {
  locations: `select id, name ${fromLocations} ${orderByName('location')} limit $4 offset $5`,
  countLocations: `select count(*)::int as total ${fromLocations}`,
  location: 'select id, name from location where facility_id = any($1) and id = $2',

  bays: `select bay.id, bay.name, bay.description, bay.kind, bay.location_id, location.name as location_name
${fromBays} ${orderByName('bay')} limit $3 offset $4`,
  countBays: `select count(*)::int as total ${fromBays}`,

  bayPlaces: 'select facility_id, location_id, id as bay_id from bay where facility_id = any($1)',
  facilitiesOfBays: 'select distinct facility_id from bay where facility_id = any($1) and id = any($2)',
  facilitiesOfLocations: 'select distinct facility_id from bay where facility_id = any($1) and location_id = any($2)',
} as const;

export interface LocationFilter {
  readonly facilityIds?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
}

export type PlacesStore = ReturnType<typeof createPlacesStore>;

export function createPlacesStore(db: Queryable) {
  return {
    findLocations: (facilities: readonly string[], { facilityIds, ids }: LocationFilter, page: PageRequest) =>
      readRows<LocationRow>(
        placeReads.locations,
        placeReads.countLocations,
        [facilities, facilityIds ?? null, ids ?? null],
        page,
      ),

    findLocation: async (facilities: readonly string[], id: string): Promise<LocationRow | undefined> =>
      (await query<LocationRow>(db, placeReads.location, [facilities, id]))[0],

    findBays: (facilities: readonly string[], locationId: string | undefined, page: PageRequest) =>
      readRows<BayRow>(placeReads.bays, placeReads.countBays, [facilities, locationId ?? null], page),

    findBayPlaces: (facilities: readonly string[]) => query<BayPlace>(db, placeReads.bayPlaces, [facilities]),

    findFacilitiesOfBays: (facilities: readonly string[], bayIds: readonly string[]) =>
      findFacilities(placeReads.facilitiesOfBays, facilities, bayIds),

    findFacilitiesOfLocations: (facilities: readonly string[], locationIds: readonly string[]) =>
      findFacilities(placeReads.facilitiesOfLocations, facilities, locationIds),
  };

  async function findFacilities(sql: string, facilities: readonly string[], ids: readonly string[]): Promise<string[]> {
    return (await query<{ facility_id: string }>(db, sql, [facilities, ids])).map(({ facility_id }) => facility_id);
  }

  function readRows<Row extends object>(sql: string, countSql: string, filter: readonly unknown[], page: PageRequest) {
    return readPage(
      page,
      (limit, offset) => query<Row>(db, sql, [...filter, limit, offset]),
      async () => (await query<{ total: number }>(db, countSql, filter))[0]?.total ?? 0,
    );
  }
}
