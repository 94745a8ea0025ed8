// Caches which facility each bay and each location belongs to. Nearly every request needs this information, and only
// imports change it.
//
// An entry of the cache contains the bays and locations of one facility, and is used for a minute. Bays and locations
// never move to another facility, so an entry never names a wrong facility. A bay or location that no entry contains is
// looked up in the database, because it can be new.
//
// Whether a bay can be booked is not cached. The statement that writes the booking checks this.
import type { BayPlace, PlacesStore } from './store.ts';

interface FacilityPlaces {
  readonly facilityId: string;
  readonly bays: ReadonlySet<string>;
  /** The ids of the locations that have bays. */
  readonly locations: ReadonlySet<string>;
}

interface Entry {
  /** In milliseconds of the monotonic clock. */
  readonly loadStartedAt: number;
  readonly promise: Promise<FacilityPlaces | undefined>;
  isLoaded: boolean;
  /**
   * The result of `promise`, if `isLoaded` is true. Requests read this field, because awaiting hundreds of resolved
   * promises would take most of the time of a request. Undefined if the facility has no bays.
   */
  places: FacilityPlaces | undefined;
}

export interface Catalogue {
  /** Returns the facility among `facilities` that the bay belongs to. */
  findFacilityOfBay(facilities: readonly string[], bayId: string): Promise<string | undefined>;
  /** Returns the facilities among `facilities` that have a bay in one of the locations. */
  findFacilitiesOfLocations(facilities: readonly string[], locationIds: readonly string[]): Promise<readonly string[]>;
  /** Returns the facilities among `facilities` that have one of the bays. */
  findFacilitiesOfBays(facilities: readonly string[], bayIds: readonly string[]): Promise<readonly string[]>;
}

/** How long an entry is used. */
const lifetimeMs = 60_000;
const maxEntries = 10_000;

export interface CatalogueOptions {
  readonly store: Pick<PlacesStore, 'findBayPlaces' | 'findFacilitiesOfBays' | 'findFacilitiesOfLocations'>;
  /** A monotonic clock in milliseconds. */
  readonly monotonic?: () => number;
}

export function createCatalogue({ store, monotonic = () => performance.now() }: CatalogueOptions): Catalogue {
  const entries = new Map<string, Entry>();

  function load(facilities: readonly string[]): void {
    const loadStartedAt = monotonic();
    const loading = store.findBayPlaces(facilities).then(groupByFacility);
    for (const facility of facilities) {
      // This callback runs after the current function has returned, so it can use `entry`, which is defined below.
      const promise = loading.then((byFacility) => {
        entry.isLoaded = true;
        entry.places = byFacility.get(facility);
        return entry.places;
      });
      const entry: Entry = { loadStartedAt, promise, isLoaded: false, places: undefined };
      // The requests that await this promise get the error. The next request loads the facility again.
      promise.catch(() => {
        if (entries.get(facility) === entry) entries.delete(facility);
      });
      // Without `delete`, a replaced entry would stay at its old position in the order of the keys.
      entries.delete(facility);
      entries.set(facility, entry);
    }
    // The first keys are the oldest, because a Map returns its keys in the order in which the entries were added.
    for (const oldestKey of entries.keys()) {
      if (entries.size <= maxEntries) break;
      entries.delete(oldestKey);
    }
  }

  /** Returns the places of these facilities. Loads the entries that are missing or too old. */
  async function placesOf(facilities: readonly string[]): Promise<readonly FacilityPlaces[]> {
    const expiryLimit = monotonic() - lifetimeMs;
    const missing = facilities.filter((facility) => (entries.get(facility)?.loadStartedAt ?? -Infinity) <= expiryLimit);
    if (missing.length > 0) load(missing);
    const found = facilities.map((facility) => entries.get(facility)).filter((entry) => entry !== undefined);
    const places = found.every(({ isLoaded }) => isLoaded)
      ? found.map((entry) => entry.places)
      : await Promise.all(found.map(({ promise }) => promise));
    return places.filter((place) => place !== undefined);
  }

  /** Finds the facility of a bay in the loaded entries, without awaiting anything. Nearly every bay is found there. */
  function findCachedFacility(facilities: readonly string[], bayId: string): string | undefined {
    const expiryLimit = monotonic() - lifetimeMs;
    for (const facility of facilities) {
      const entry = entries.get(facility);
      if (entry?.places?.bays.has(bayId) && entry.loadStartedAt > expiryLimit) return facility;
    }
    return undefined;
  }

  /** Returns the facilities that have one of the bays or locations `ids`, in the order of `facilities`. */
  async function findFacilitiesWith(
    kind: 'bays' | 'locations',
    facilities: readonly string[],
    ids: readonly string[],
  ): Promise<readonly string[]> {
    const places = await placesOf(facilities);
    const placesWithAnId = places.filter((place) => ids.some((id) => place[kind].has(id)));
    const result = new Set(placesWithAnId.map(({ facilityId }) => facilityId));
    const unknownIds = ids.filter((id) => !places.some((place) => place[kind].has(id)));
    if (unknownIds.length > 0) {
      const lookUp = kind === 'bays' ? store.findFacilitiesOfBays : store.findFacilitiesOfLocations;
      for (const facility of await lookUp(facilities, unknownIds)) {
        // The cached entry does not contain the new bay or location. The next request must load the facility again.
        entries.delete(facility);
        result.add(facility);
      }
    }
    return facilities.filter((facility) => result.has(facility));
  }

  return {
    findFacilityOfBay: async (facilities, bayId) => {
      if (facilities.length === 0) return undefined;
      return findCachedFacility(facilities, bayId) ?? (await findFacilitiesWith('bays', facilities, [bayId]))[0];
    },
    findFacilitiesOfLocations: (facilities, locationIds) => findFacilitiesWith('locations', facilities, locationIds),
    findFacilitiesOfBays: (facilities, bayIds) => findFacilitiesWith('bays', facilities, bayIds),
  };
}

function groupByFacility(rows: readonly BayPlace[]): ReadonlyMap<string, FacilityPlaces> {
  const byFacility = new Map<string, FacilityPlaces>();
  for (const [facilityId, places] of Map.groupBy(rows, ({ facility_id }) => facility_id)) {
    const bays = new Set(places.map(({ bay_id }) => bay_id));
    const locations = new Set(places.map(({ location_id }) => location_id));
    byFacility.set(facilityId, { facilityId, bays, locations });
  }
  return byFacility;
}
