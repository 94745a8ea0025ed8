// Caches which facility each bay and each location belongs to, which never changes. A bay or location that is not in
// the cache can be new, so it is looked up in the database.
import { LRUCache } from 'lru-cache';
import type { BayPlace, PlacesStore } from './store.ts';

interface FacilityPlaces {
  readonly bays: ReadonlySet<string>;
  /** Only locations that have bays. */
  readonly locations: ReadonlySet<string>;
}

type CatalogueStore = Pick<PlacesStore, 'findBayPlaces' | 'findFacilitiesOfBays' | 'findFacilitiesOfLocations'>;

export type Catalogue = ReturnType<typeof createCatalogue>;

export function createCatalogue(store: CatalogueStore) {
  const cache = new LRUCache<string, FacilityPlaces>({ max: 10_000, ttl: 60_000 });

  async function load(facilities: readonly string[]): Promise<void> {
    const missing = facilities.filter((facility) => !cache.has(facility));
    if (missing.length === 0) return;
    const rows = Map.groupBy(await store.findBayPlaces(missing), ({ facility_id }) => facility_id);
    for (const facility of missing) cache.set(facility, placesOf(rows.get(facility) ?? []));
  }

  /** The result is in the order of `facilities`. */
  async function findFacilitiesWith(
    kind: 'bays' | 'locations',
    facilities: readonly string[],
    ids: readonly string[],
  ): Promise<readonly string[]> {
    await load(facilities);
    const isIn = (facility: string, id: string): boolean => cache.get(facility)?.[kind].has(id) ?? false;
    const result = new Set(facilities.filter((facility) => ids.some((id) => isIn(facility, id))));
    const unknownIds = ids.filter((id) => !facilities.some((facility) => isIn(facility, id)));
    if (unknownIds.length > 0) {
      const lookUp = kind === 'bays' ? store.findFacilitiesOfBays : store.findFacilitiesOfLocations;
      for (const facility of await lookUp(facilities, unknownIds)) {
        // The next request must load the facility again.
        cache.delete(facility);
        result.add(facility);
      }
    }
    return facilities.filter((facility) => result.has(facility));
  }

  return {
    findFacilityOfBay: async (facilities: readonly string[], bayId: string): Promise<string | undefined> =>
      facilities.find((facility) => cache.get(facility)?.bays.has(bayId)) ??
      (await findFacilitiesWith('bays', facilities, [bayId]))[0],
    findFacilitiesOfLocations: (facilities: readonly string[], locationIds: readonly string[]) =>
      findFacilitiesWith('locations', facilities, locationIds),
    findFacilitiesOfBays: (facilities: readonly string[], bayIds: readonly string[]) =>
      findFacilitiesWith('bays', facilities, bayIds),
  };
}

function placesOf(rows: readonly BayPlace[]): FacilityPlaces {
  return {
    bays: new Set(rows.map(({ bay_id }) => bay_id)),
    locations: new Set(rows.map(({ location_id }) => location_id)),
  };
}
