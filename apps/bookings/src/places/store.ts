// Where do facilities, locations and bays lie? All SQL that reads places, over the token's facilities; import-store.ts writes them.
import { reconcileTotal } from '@bay-booking/common/page';
import { type Database, query } from '@bay-booking/service/database/database';

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

export interface PlacedBay {
  readonly facility_id: string;
  readonly location_id: string;
  readonly bay_id: string;
}

/** Names in the same order on every database, whatever its collation; ids make the order total. */
const inOrder = (table: string): string => `order by ${table}.name collate "C", ${table}.id collate "C"`;

const locationsWhere = `from location
where facility_id = any($1) and ($2::text[] is null or facility_id = any($2)) and ($3::text[] is null or id = any($3))`;
const baysWhere = `from bay join location on location.facility_id = bay.facility_id and location.id = bay.location_id
where bay.facility_id = any($1) and ($2::text is null or bay.location_id = $2)`;

export const placeReads = {
  locations: `select id, name ${locationsWhere} ${inOrder('location')} limit $4 offset $5`,
  countLocations: `select count(*)::int as total ${locationsWhere}`,
  location: 'select id, name from location where facility_id = any($1) and id = $2',
  bays: `select bay.id, bay.name, bay.description, bay.kind, bay.location_id, location.name as location_name
${baysWhere} ${inOrder('bay')} limit $3 offset $4`,
  countBays: `select count(*)::int as total ${baysWhere}`,
  placesOf: 'select facility_id, location_id, id as bay_id from bay where facility_id = any($1)',
  facilitiesOfBays: 'select distinct facility_id from bay where facility_id = any($1) and id = any($2)',
  facilitiesOfLocations: 'select distinct facility_id from bay where facility_id = any($1) and location_id = any($2)',
} as const;

interface Page {
  readonly limit: number;
  readonly offset: number;
}

export type PlacesStore = ReturnType<typeof createPlacesStore>;

export function createPlacesStore(db: Database) {
  return {
    locations: (
      facilities: readonly string[],
      filter: { facilityIds?: readonly string[] | undefined; ids?: readonly string[] | undefined },
      { limit, offset }: Page,
    ) => {
      const where = [facilities, filter.facilityIds ?? null, filter.ids ?? null];
      return pageOf<LocationRow>(placeReads.locations, placeReads.countLocations, where, limit, offset);
    },
    location: async (facilities: readonly string[], id: string): Promise<LocationRow | undefined> =>
      (await query<LocationRow>(db, placeReads.location, [facilities, id]))[0],
    bays: (facilities: readonly string[], locationId: string | undefined, { limit, offset }: Page) =>
      pageOf<BayRow>(placeReads.bays, placeReads.countBays, [facilities, locationId ?? null], limit, offset),
    placesOf: (facilities: readonly string[]) => query<PlacedBay>(db, placeReads.placesOf, [facilities]),
    facilitiesOfBays: (facilities: readonly string[], ids: readonly string[]) =>
      facilitiesOf(placeReads.facilitiesOfBays, facilities, ids),
    facilitiesOfLocations: (facilities: readonly string[], ids: readonly string[]) =>
      facilitiesOf(placeReads.facilitiesOfLocations, facilities, ids),
  };

  async function facilitiesOf(sql: string, facilities: readonly string[], ids: readonly string[]): Promise<string[]> {
    return (await query<{ facility_id: string }>(db, sql, [facilities, ids])).map(({ facility_id }) => facility_id);
  }

  async function pageOf<Row extends object>(
    rows: string,
    count: string,
    where: readonly unknown[],
    limit: number,
    offset: number,
  ): Promise<{ rows: readonly Row[]; total: number }> {
    const found = await query<Row>(db, rows, [...where, limit, offset]);
    // A page that is neither full nor past the end tells the total.
    if (found.length < limit && (found.length > 0 || offset === 0))
      return { rows: found, total: offset + found.length };
    const [counted] = await query<{ total: number }>(db, count, where);
    return { rows: found, total: reconcileTotal(found.length, offset, counted?.total ?? 0) };
  }
}
