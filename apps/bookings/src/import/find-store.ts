// Reads facilities, locations and bays of all facilities as the management API returns them, and as an import file.
import type { PageRequest } from '@bay-booking/common/page';
import { type Database, type Queryable, query, transaction } from '@bay-booking/service/database/database';
import { type PagedStatement, queryPage } from '../database/page-statements.ts';
import {
  type BayResource,
  bayResource,
  type FacilityResource,
  facilityResource,
  type LocationRow,
  locationResource,
  type PlaceResource,
} from './resource.ts';
import { lockPlacesOfService, type PlaceKind } from './store.ts';

const columns = {
  facility: 'facility.id as "facilityId", id, name, time_zone as "timeZone"',
  location: 'facility_id as "facilityId", id, name, opening_hours as "openingHours"',
  bay: 'facility_id as "facilityId", id, location_id as "locationId", name, description, kind, bookable',
} as const;

const all = (kind: PlaceKind) => `from ${kind} where removed_at is null`;
const find = (kind: PlaceKind) => `select ${columns[kind]} ${all(kind)} and id = $1`;
const byKind = <Value>(create: (kind: PlaceKind) => Value): Readonly<Record<PlaceKind, Value>> => ({
  facility: create('facility'),
  location: create('location'),
  bay: create('bay'),
});
const finds = byKind(find);

/** A filter that is null selects every row. */
const filters = {
  facility: '',
  location: ' and ($1::text is null or facility_id = $1)',
  bay: ' and ($1::text is null or facility_id = $1) and ($2::text is null or location_id = $2)',
} as const;
const lists = byKind(
  (kind): PagedStatement => ({ columns: columns[kind], from: all(kind) + filters[kind], orderBy: 'id collate "C"' }),
);
const exports = byKind((kind) => `select ${columns[kind]} ${all(kind)} order by id collate "C"`);

type Row = FacilityResource & LocationRow & BayResource;

function resourceOf(kind: PlaceKind, row: Row): PlaceResource {
  if (kind === 'facility') return facilityResource(row);
  return kind === 'location' ? locationResource(row) : bayResource(row);
}

export interface FoundPlace {
  readonly facilityId: string;
  readonly resource: PlaceResource;
}

export async function findPlace(on: Queryable, kind: PlaceKind, id: string): Promise<FoundPlace | undefined> {
  const [row] = await query<Row>(on, finds[kind], [id]);
  return row && { facilityId: row.facilityId, resource: resourceOf(kind, row) };
}

export interface PlaceFilter {
  readonly facilityId?: string | undefined;
  readonly locationId?: string | undefined;
}

export async function listPlaces(db: Database, kind: PlaceKind, filter: PlaceFilter, page: PageRequest) {
  const values = [filter.facilityId ?? null, filter.locationId ?? null];
  const used = values.slice(0, ['facility', 'location', 'bay'].indexOf(kind));
  const { rows, total } = await queryPage<Row>(db, lists[kind], used, page);
  return { items: rows.map((row) => resourceOf(kind, row)), total };
}

/** Returns an import file with all facilities, locations and bays. */
export async function exportPlaces(db: Database) {
  const [facilities, locations, bays] = await transaction(db, async (tx) => {
    // No import changes anything between the three statements.
    await lockPlacesOfService(tx);
    return [
      await query<Row>(tx, exports.facility),
      await query<Row>(tx, exports.location),
      await query<Row>(tx, exports.bay),
    ] as const;
  });
  const locationsOf = Map.groupBy(locations, ({ facilityId }) => facilityId);
  const baysOf = Map.groupBy(bays, ({ facilityId, locationId }) => JSON.stringify([facilityId, locationId]));
  return {
    facilities: facilities.map((facility) => ({
      ...facilityResource(facility),
      locations: (locationsOf.get(facility.id) ?? []).map((location) => {
        const { facilityId, ...entry } = locationResource(location);
        const ofLocation = baysOf.get(JSON.stringify([facilityId, location.id])) ?? [];
        return { ...entry, bays: ofLocation.map((bay) => withoutLocation(bayResource(bay))) };
      }),
    })),
  };
}

function withoutLocation({ locationId: _, ...entry }: BayResource): Omit<BayResource, 'locationId'> {
  return entry;
}
